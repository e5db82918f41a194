//! Simulated nodes for testing Kubernetes controllers without kubelets.
