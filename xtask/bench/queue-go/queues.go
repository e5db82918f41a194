package main

import (
	"k8s.io/client-go/util/workqueue"
	// Makes named queues report to Prometheus, as in kube-controller-manager.
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// Without a name there are no metrics.
func clientGo() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
}

// As kube-controller-manager makes it.
func clientGoWithMetrics() queue {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "bench"},
	)
}

// As controller-runtime's controllers make it: a name turns its metrics on.
func controllerRuntime() queue {
	return priorityqueue.New[string]("bench")
}
