//! Level-triggered control loops for Kubernetes.
mod metrics;
mod probe;
mod serve;
mod signal;
pub use metrics::Registry;
pub use probe::{Answer, Probe, Probes};
pub use serve::{Endpoint, ServeError, TlsError, TlsIdentity};
pub use signal::stop_on_signal;
