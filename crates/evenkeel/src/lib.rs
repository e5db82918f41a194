//! Level-triggered control loops for Kubernetes: Manager, Controller, Reconciler, cached client, probes and metrics.
