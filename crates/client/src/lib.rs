//! A Kubernetes API client made for watching: kubeconfig, TLS, HTTP/2, verbs, paged lists and watch streams over a small transport trait.
