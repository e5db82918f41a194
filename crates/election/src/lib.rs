//! Leader election on a Kubernetes Lease with fencing, interoperable with client-go.
