//! End-to-end scenarios, each run on the embedded server and on a real one.
