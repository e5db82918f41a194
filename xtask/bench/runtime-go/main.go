// A controller on controller-runtime, as `bench-runtime` is one of ours: the same commands, the same
// answers, the same reconciler. Run by `cargo xtask bench runtime`.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var input = bufio.NewScanner(os.Stdin)

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: runtime itself|owner URL CA WORKERS OBJECTS")
		os.Exit(2)
	}
	workers, err := strconv.Atoi(os.Args[4])
	check(err)
	objects, err := strconv.ParseInt(os.Args[5], 10, 64)
	check(err)
	log.SetLogger(logr.Discard())
	config := &rest.Config{
		Host:            os.Args[2],
		TLSClientConfig: rest.TLSClientConfig{CAFile: os.Args[3]},
		QPS:             -1,
	}
	manager, err := manager.New(config, manager.Options{
		Metrics: server.Options{BindAddress: "0"},
		// The server knows no discovery.
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
			mapper.Add(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), meta.RESTScopeNamespace)
			return mapper, nil
		},
	})
	check(err)
	runs := newRuns(objects)
	bench := builder.ControllerManagedBy(manager).
		Named("bench").
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	if os.Args[1] == "owner" {
		owners := newOwners(runs)
		check(bench.
			For(&appsv1.ReplicaSet{}, builder.OnlyMetadata).
			Owns(&corev1.Pod{}, builder.OnlyMetadata, builder.WithPredicates(owners.told())).
			Complete(owners))
	} else {
		check(bench.
			For(&corev1.Pod{}, builder.OnlyMetadata).
			Complete(&reconciler{runs, manager.GetClient()}))
	}
	fmt.Println("ready")
	input.Scan()
	go func() { check(manager.Start(context.Background())) }()
	fmt.Printf("ran %.3f\n", runs.first())
	runs.obey()
}

type reconciler struct {
	runs *runs
	pods client.Client
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.runs.begin() {
		return reconcile.Result{}, nil
	}
	pod := &metav1.PartialObjectMetadata{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	if err := r.pods.Get(ctx, request.NamespacedName, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.runs.note(pod.ResourceVersion)
	return reconcile.Result{}, nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
