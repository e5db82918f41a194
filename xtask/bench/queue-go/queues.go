package main

import (
	"k8s.io/client-go/util/workqueue"
	metrics "k8s.io/component-base/metrics/prometheus/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// As client-go's own examples make it: the default limiter, no name.
func clientGo() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
}

// As kube-controller-manager makes it: named, reporting to Prometheus.
func clientGoWithMetrics() queue {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{
			Name:            "bench",
			MetricsProvider: metrics.Provider(),
		},
	)
}

// As controller-runtime's controllers make it: a name turns its metrics on.
func controllerRuntime() queue {
	return priorityqueue.New[string]("bench")
}
