//! The built-in Kubernetes controllers on evenkeel: Deployment, ReplicaSet, Namespace, ServiceAccount.
