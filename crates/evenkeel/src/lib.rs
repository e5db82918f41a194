//! Level-triggered control loops for Kubernetes.
//!
//! A controller acts on the *level* (what is wanted against what is there), never on the
//! *edge* (one event), so a lost, doubled or reordered event delays work and never loses it.
//! This crate puts the parts together: a [`Manager`] that owns the client, the informers, the
//! election and the endpoints; [`Controller`]s that watch and queue; your [`Reconciler`] that
//! is given a key and brings the world one step closer.
//!
//! **When to use it:** you write an operator or a controller. **When not:** you need one part
//! alone. Each is a crate of its own, re-exported here: [`client`], [`store`], [`workqueue`],
//! [`election`], [`events`], [`webhook`].
//!
//! ```
//! use evenkeel::client::Client;
//! use evenkeel::meta::{MetaView, Metadata, ObjectKey, Resource};
//! use evenkeel::store::{InformerOptions, Store};
//! use evenkeel::{Context, Controller, Manager, Outcome, ReconcileResult, Reconciler};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use tokio_util::sync::CancellationToken;
//!
//! /// Logs the ConfigMaps that there are. What it is given is a key; what it acts on is the store.
//! struct Census(Store<Metadata>);
//!
//! impl Reconciler for Census {
//!     async fn reconcile(&self, _context: &Context, key: &ObjectKey) -> ReconcileResult {
//!         match self.0.get(key) {
//!             Some(map) => tracing::info!(%key, labels = map.metadata.labels().count(), "is there"),
//!             None => tracing::info!(%key, "is gone"),
//!         }
//!         Ok(Outcome::Done)
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), evenkeel::BoxError> {
//! // An API server in the same process; `Client::connect(&Config::infer()?)?` for a real one.
//! let client = Client::from_service(evenkeel_apiserver::Server::new());
//! let mut manager = Manager::builder(client).build()?;
//! let maps = manager.informers().metadata(ConfigMap::api_resource(), InformerOptions::default());
//! let census = Census(maps.store().clone());
//! manager.add(Controller::builder("census").for_(&maps).reconciler(census))?;
//!
//! let stop = CancellationToken::new();
//! let running = tokio::spawn(manager.run(stop.clone()));
//! maps.synced().await?;
//! stop.cancel();
//! running.await??;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! - One key is never reconciled by two workers at once; what happens to it meanwhile is
//!   exactly one further run (controller-runtime C1).
//! - A key is not handed out again before the controller's stores show its own writes, those
//!   made through [`Context`] (client-go B31). It waits in the queue and holds no worker; after
//!   ten seconds it is let go and counted, and [`Context::may_be_behind`] tells its runs.
//! - Workers start when every watched collection has been listed and handled (C2).
//! - While a Lease is competed for, no write starts outside a term of leadership: the
//!   [`Manager`]'s client is fenced, on a clock that runs through suspend.
//! - Stopping has two steps: no new run starts, running ones may finish within the grace
//!   period, then they are cancelled. The Lease is given back only after that.
//! - A lost Lease does not end the process: what runs is cancelled and joined before a rival may
//!   begin, and the [`Manager`] campaigns again. Only what outlives the Lease is an error.
//! - A panic in a reconciler is contained, counted and retried with backoff.
//!
//! # What it costs
//!
//! One LIST and one WATCH per watched collection and process, whatever the number of
//! controllers; objects are decoded once and shared.
//!
//! # Features
//!
//! `kube` (default) makes k8s-openapi's types and those of `#[derive(CustomResource)]` work as
//! they are. The binary chooses k8s-openapi's `v1_xx` feature. `ring` (default) or `aws-lc-rs` is the
//! TLS provider of clients and endpoints that are handed none. `clap` adds ready-made flags for
//! the log and the election, in `args`; `self-signed` adds certificates for endpoints that are
//! given none; `schemars` adds `meta::schema`, parts of the schemas of custom resources.

#[cfg(feature = "clap")]
pub mod args;
pub mod changed;
mod clock;
mod context;
mod controller;
mod debug;
mod define;
mod ledger;
mod manager;
mod metrics;
mod probe;
mod reconciler;
mod recorders;
mod run;
mod serve;
mod signal;
mod writes;

pub use clock::Clock;
pub use context::{ChangeResult, Context, WriteError, Written};
pub use controller::{
    Builder as ControllerBuilder, Controller, ControllerError, ControllerHandle, DynamicWatch, For,
    Named, Term, Watch,
};
pub use debug::{DebugPage, DebugPages};
pub use define::{DefineError, define};
pub use manager::{
    AddError, BoxError, Builder as ManagerBuilder, Cluster, Election, Manager, ManagerError,
    ManagerHandle, ManagerOptions,
};
pub use metrics::Registry;
pub use probe::{Answer, Probe, Probes};
pub use reconciler::{
    ObjectReconciler, Outcome, ReconcileError, ReconcileResult, Reconciler, Retry,
};
pub use run::ReconcileId;
pub use serve::{BindError, Endpoint, Guard, PageError, Tls, TlsError, TlsFiles, TlsIdentity};
pub use signal::stop_on_signal;

pub use evenkeel_client as client;
pub use evenkeel_election as election;
pub use evenkeel_events as events;
pub use evenkeel_meta as meta;
pub use evenkeel_observe as observe;
pub use evenkeel_pace as pace;
pub use evenkeel_store as store;
pub use evenkeel_webhook as webhook;
pub use evenkeel_workqueue as workqueue;
