//! An embedded Kubernetes API server in memory, for tests, demos and simulation.
