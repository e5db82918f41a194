//! The ownerReference garbage collector of Kubernetes: deletes what has lost its owners, in
//! background or in foreground, and lets orphans go free.
//!
//! It works on any API server and for any kind that can be deleted, listed and watched, custom
//! resources included. It does what the collector in kube-controller-manager does, at about half of the
//! requests: one DELETE an object, with preconditions in the place of a GET before it.
//!
//! # When to use it
//!
//! You run an API server without kube-controller-manager: an embedded one, a control plane of your own,
//! a test. Or you need the owner graph alone ([`Graph`]): to draw it, to ask what a deletion would
//! take along, to collect by rules of your own.
//!
//! When not: beside another garbage collector on one cluster. Nothing breaks, but everything is done twice.
//!
//! # Example
//!
//! ```
//! use evenkeel_client::{Client, WriteOptions};
//! use evenkeel_gc::GarbageCollector;
//! use evenkeel_meta::{ApiResource, DeleteOptions, DynamicObject, Scope};
//! use serde_json::json;
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = evenkeel_apiserver::Server::new();
//! let client = Client::from_service(server);
//! let stop = CancellationToken::new();
//! let collector = GarbageCollector::builder(client.clone()).concurrency(4).build();
//! let collector = tokio::spawn(collector.run(stop.clone()));
//!
//! let maps = ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
//! let maps = client.dynamic(maps, Some("default"));
//! let object = |body| serde_json::from_value::<DynamicObject>(body);
//! let owner = object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}))?;
//! let owner = maps.create(&owner, &WriteOptions::default()).await?;
//! let part = object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
//!     "name": "part",
//!     "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}],
//! }}))?;
//! maps.create(&part, &WriteOptions::default()).await?;
//!
//! maps.delete("owner", &DeleteOptions::default()).await?;
//! while maps.get_opt("part").await?.is_some() {
//!     tokio::time::sleep(std::time::Duration::from_millis(5)).await;
//! }
//!
//! stop.cancel();
//! collector.await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! - **Nothing is deleted that has an owner.** An owner counts as gone only when the server said so: by a
//!   DELETED event of its UID, or by a live request for exactly what the reference says (kind, version,
//!   namespace, name, UID). A list that lacks it, a kind that is not served, an error: none of these do.
//! - A DELETE carries the UID and the resource version of the state that was judged. After a 409 the object is
//!   read again; if its owners are the same it is deleted by that state, and after the second 409 by its UID
//!   alone, so that an object that changes all the time goes too. There a change of owners within the
//!   milliseconds between read and DELETE goes unseen.
//! - **Everything is judged by the present state**, never by an event alone. Lost, doubled and late events
//!   delay work; the survivors are the same. A random test compares them with those of a naive collector,
//!   over 10^7 histories.
//! - An owner is looked up once for all dependents that name it alike. If its deletion was observed it is not
//!   looked up at all.
//! - Foreground deletion waits for blocking dependents only, and deletes all. Circles of owners that wait for
//!   each other, of any length, are found exactly and cut.
//! - Orphan deletion is read from the server once more before it is carried out, and the owner goes only when
//!   the most recent lists of all kinds have shown that every dependent made before its deletion is released,
//!   whatever the informers have seen and whoever was stopped in between. One made later, while the owner is on
//!   its way out, is released too as long as this process remembers it.
//! - A kind that cannot be listed holds up nothing but its own objects, after 30 seconds at the start.
//! - Contradicting references (right UID and wrong kind, another namespace) are each judged by what they say;
//!   the order of events does not matter. A cluster-scoped object with a namespaced owner is kept.
//!
//! # Cancel safety
//!
//! [`GarbageCollector::run`] ends with its token: requests under way finish, all tasks are joined. Dropping it
//! ends them at once; what was not done is found again by the next run, here or elsewhere.
//!
//! # Cost
//!
//! One metadata-only LIST and WATCH a resource, or none if [`Informers`](evenkeel_store::Informers) are shared.
//! An orphan deletion lists each kind once in the owner's namespace; those under way together share it.
//! The graph takes 150 bytes or less an object, and about 40 a reference where ten name the same owner.
//!
//! # How it differs from upstream
//!
//! An object with the finalizer `orphan` is deleted with its dependents released also while its own owner
//! waits in foreground. An orphaned owner's late dependents are released, not collected. A reference that
//! cannot be resolved does not keep others of the object from being cleared away.

mod collector;
mod decide;
mod driver;
mod error;
mod graph;
mod metrics;
mod patch;
mod snapshot;

pub use collector::{Builder, GarbageCollector, Inspector};
pub use decide::{AfterConflict, Decision, Deletion, FinalizerRemoval, Release, Target};
pub use graph::{
    ClaimId, Exported, ExportedEdge, ExportedNode, Graph, KindId, Lookup, NodeId, Size, Verdict,
    Work,
};
pub use patch::{OwnersChange, OwnersPatch};
pub use snapshot::{Gap, Snapshot};
