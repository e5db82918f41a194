//! A recorder for Kubernetes events that correlates, bounds and never blocks.
