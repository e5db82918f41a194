//! Backoff, jitter, token buckets and seeded randomness as pure state machines: the time is an argument.
