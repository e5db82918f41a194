package main

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Runs for owners, and the events that they answer.
type owners struct {
	runs *runs
	lock sync.Mutex
	// When the events were sent that owners are yet to be run for.
	sent map[types.NamespacedName][]string
}

func newOwners(runs *runs) *owners {
	return &owners{runs: runs, sent: map[types.NamespacedName][]string{}}
}

// Lets every update pass, and takes note of it.
func (o *owners) told() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(update event.UpdateEvent) bool {
		pod := update.ObjectNew
		if owner := metav1.GetControllerOf(pod); owner != nil {
			key := types.NamespacedName{Namespace: pod.GetNamespace(), Name: owner.Name}
			o.lock.Lock()
			defer o.lock.Unlock()
			o.sent[key] = append(o.sent[key], pod.GetResourceVersion())
		}
		return true
	}}
}

func (o *owners) Reconcile(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	o.runs.begin()
	o.lock.Lock()
	sent := o.sent[request.NamespacedName]
	delete(o.sent, request.NamespacedName)
	o.lock.Unlock()
	for _, version := range sent {
		o.runs.note(version)
	}
	return reconcile.Result{}, nil
}
