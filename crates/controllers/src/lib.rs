//! The built-in controllers of Kubernetes: Deployment, ReplicaSet, Namespace, ServiceAccount.
//!
//! They do what those of kube-controller-manager do, on the same objects: each can take the other's place on a running
//! cluster, in the middle of a rollout too.
//!
//! **When to use it:** a control plane of your own (a test, a simulator, an embedded cluster) that shall turn Deployments
//! into pods; or to read how controllers are written with [`evenkeel`]. **When not:** a cluster that runs
//! kube-controller-manager has these controllers. Two at once, without a common Lease, work against each other.
//!
//! ```
//! use evenkeel::Manager;
//! use evenkeel_client::{Client, WriteOptions};
//! use evenkeel_controllers::{Options, Selection, install};
//! use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! // An API server in the same process; `Client::connect(&Config::infer()?)?` for a real one.
//! let client = Client::from_service(evenkeel_apiserver::Server::new());
//! let mut manager = Manager::builder(client.clone()).build()?;
//! let mut options = Options::default();
//! options.controllers = Selection::parse(["deployment", "replicaset"])?;
//! install(&mut manager, &options)?;
//! let stop = CancellationToken::new();
//! let running = tokio::spawn(manager.run(stop.clone()));
//!
//! let web: Deployment = serde_json::from_value(serde_json::json!({
//!     "metadata": {"name": "web"},
//!     "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
//!         "metadata": {"labels": {"app": "web"}},
//!         "spec": {"containers": [{"name": "c", "image": "img:1"}]}}},
//! }))?;
//! client.namespaced::<Deployment>("default").create(&web, &WriteOptions::default()).await?;
//! let sets = client.namespaced::<ReplicaSet>("default");
//! while !sets.list(&Default::default()).await?.items.iter().any(|set| set.spec.replicas == Some(2)) {
//!     tokio::time::sleep(std::time::Duration::from_millis(5)).await;
//! }
//!
//! stop.cancel();
//! running.await??;
//! # Ok(())
//! # }
//! ```
//!
//! [`install`] adds all selected controllers, and the garbage collector of [`evenkeel_gc`]; [`deployment::controller`] and
//! its like build one alone.
//!
//! # Guarantees
//!
//! What kube-controller-manager promises, and beyond that:
//!
//! - **A rolling update keeps its bounds at every moment.** The new ReplicaSet grows only when pods that an old one has to
//!   remove are seen to go, and pods that are about to be removed do not count as available (kcm D7, D8; kube-controller-manager
//!   goes by the wanted numbers, and over the surge for a moment).
//! - **No surplus pods from a cache that lags.** A key waits until its own writes are seen. Where they are not, and at the
//!   beginning of a term, when the predecessor's last pods may be on their way, a ReplicaSet compares its pods with a live
//!   list before it makes or removes any (kcm K12, B30).
//! - **A pod is deleted in the state in which it was chosen.** UID and resource version are preconditions: pods that were
//!   orphaned or adopted meanwhile stay (bug kcm B33).
//! - **An update conflict is no error.** The key comes again with the next state of the store, without noise in log or metrics.
//! - Retries never end; kube-controller-manager drops a key after fifteen (kcm D16).
//!
//! # Cancel safety
//!
//! Any pass may end after any request: the next one goes on from what is there. So does another process, of whatever make.
//!
//! # Cost
//!
//! Pods are kept as [projections](Pod) of a few hundred bytes. One pass of a ReplicaSet reads its own pods by index, not its
//! namespace. A rolling update is a handful of requests per step, and none where nothing changes.

mod claim;
pub mod deployment;
mod graph_pages;
mod install;
pub mod namespace;
mod pod;
pub mod replicaset;
mod selection;
pub mod serviceaccount;
mod setup;

pub use install::{InstallError, Options, install};
pub use pod::{Phase, Pod};
pub use selection::{Name, Selection, UnknownControllers};
pub use setup::Setup;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
