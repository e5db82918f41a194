//! Level-triggered control loops for Kubernetes.
mod context;
mod controller;
mod ledger;
mod manager;
mod metrics;
mod probe;
mod reconciler;
mod serve;
mod signal;
mod writes;

pub use context::Context;
pub use controller::{Builder as ControllerBuilder, Controller, ControllerError, Named, Term};
pub use manager::{BoxError, Builder as ManagerBuilder, Election, Manager, ManagerError};
pub use metrics::Registry;
pub use probe::{Answer, Probe, Probes};
pub use reconciler::{Outcome, ReconcileError, Reconciler, Retry};
pub use serve::{Endpoint, ServeError, TlsError, TlsIdentity};
pub use signal::stop_on_signal;
