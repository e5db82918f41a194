//! A work queue for control loops: deduplicated keys, one worker a key, delays and rate limits; knows nothing of Kubernetes.
