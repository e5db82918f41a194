//! End-to-end scenarios: real processes, talked to as a user would.
//!
//! Each scenario is written once and runs once a server: on the embedded API
//! server and on a real kube-apiserver over etcd (`cargo xtask envtest`
//! provides it; without it the trial is ignored and says so). A scenario gets
//! an [`Env`]: a server of its own, already up, and what it starts ends with
//! it. Nothing here sleeps for a fixed time; [`poll`] waits for conditions with
//! deadlines.

pub mod account_token;
pub mod audit;
pub mod bench;
pub mod comparison;
pub mod contest;
pub mod election;
pub mod env;
pub mod exec_plugin;
pub mod kube_rs;
pub mod kubectl;
pub mod manifest;
pub mod manifests;
pub mod metrics;
pub mod mirror;
pub mod observe;
pub mod poll;
pub mod process;
pub mod program;
pub mod server;
pub mod trial;

pub use election::leader;
pub use env::{Env, Manager};
pub use poll::eventually;
pub use process::{Process, Signal};
pub use server::ServerKind;
