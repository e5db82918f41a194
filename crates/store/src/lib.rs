//! Reflectors, snapshot stores with indexes and shared informers for Kubernetes objects.
