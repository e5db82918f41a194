//! Kubernetes object identity without Kubernetes types: object traits, keys, resource versions, selectors, Status errors and request options.
