//! Reflectors, snapshot stores with indexes and shared informers for Kubernetes objects.
//!
//! An [`Informer`] mirrors one collection of an API server into a [`Store`] in memory and tells
//! handlers what changes. Loops then act on the *level*, what the store shows now, and take an
//! event as no more than the reason to look.
//!
//! **When to use it:** you read the same objects again and again, or want to know when they
//! change: controllers, operators, exporters, schedulers, watchers of anything.
//! **When not:** you need one object once (use [`evenkeel_client`]), or a whole controller with
//! queue, retries and leader election (use `evenkeel`, which is built on this).
//!
//! ```
//! use evenkeel_client::Client;
//! use evenkeel_meta::{ApiResource, Meta, Object, ObjectKey, Scope};
//! use evenkeel_store::{Event, InformerOptions, Informers};
//!
//! /// What is kept of each ConfigMap: what is named here.
//! #[derive(serde::Deserialize)]
//! struct Config {
//!     metadata: Meta,
//!     #[serde(default)]
//!     data: std::collections::BTreeMap<String, String>,
//! }
//! impl Object for Config {
//!     type Meta = Meta;
//!     fn metadata(&self) -> &Meta {
//!         &self.metadata
//!     }
//! }
//! const CONFIG_MAPS: ApiResource =
//!     ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = evenkeel_apiserver::Server::new();
//! # let client = Client::from_service(server.clone());
//! # let write = http::Request::post("http://in-process/api/v1/namespaces/default/configmaps")
//! #     .header("content-type", "application/json")
//! #     .body(bytes::Bytes::from(r#"{"metadata":{"name":"app"},"data":{"colour":"blue"}}"#))?;
//! # client.raw(write).await?;
//! let informers = Informers::new(client);
//! let configs = informers.projected::<Config>(CONFIG_MAPS, InformerOptions::default());
//! let _handler = configs.add_handler(|key: &ObjectKey, event: &Event<Config>| {
//!     let colour = event.object().and_then(|config| config.data.get("colour"));
//!     tracing::info!(%key, ?colour, "changed");
//! })?;
//! informers.start();
//! configs.synced().await?;
//!
//! let app = configs.store().get(&ObjectKey::namespaced("default", "app"));
//! assert_eq!(app.unwrap().data["colour"], "blue");
//! informers.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # The parts
//!
//! | part | for |
//! |---|---|
//! | [`Informers`] | the informers of a process: one LIST and WATCH a collection, however many ask |
//! | [`Informer`] | one mirrored collection: store, handlers, sync state, freshness |
//! | [`Store`], [`Snapshot`], [`Index`] | reading; [`Writer`] fills a store from elsewhere |
//! | [`Handler`], [`Subscription`] | being told, at once or when there is time |
//! | [`MetadataView`] | every kind's metadata, off the informers that are there |
//! | [`InformerSet`] | some namespaces of a resource, read as one |
//! | [`Transform`] | changing objects on their way in, once |
//! | [`Filtered`] | a handler for some of the objects |
//! | [`reflector`] | the list and watch protocol as a state machine without I/O |
//!
//! # Guarantees
//!
//! - A store shows true states of each object, in order, and in the end the last one: through cut
//!   connections, lost history, expired pages, lagging replicas and restored backups. A deletion
//!   that no watch saw is found by the next list and told with the last known state.
//! - Readers take no lock. A [`Snapshot`] never changes, and its objects, indexes and resource
//!   version belong together; [`Store::wait_for`] gives read-your-writes.
//! - A list that changes nothing tells nothing, copies nothing, and keeps every object's
//!   allocation.
//! - A handler that is added at any time is told of everything that is there, then of every
//!   change, without a gap or a double. One that panics, or is slow, harms no other: a slow one
//!   costs memory for the objects that changed, not for the events.
//! - One object that does not decode holds up nobody; it is [set aside](SetAside), reported and
//!   counted, and tried again when it changes.
//! - Whatever keeps an informer from its objects is in its [`SyncState`]: verb, resource, error,
//!   since when, how many tries.
//!
//! Not guaranteed: any order between different objects, and that every state of an object is
//! seen.
//!
//! # Cancel safety and tasks
//!
//! Every future here can be dropped without losing an event. Every task belongs to an
//! [`Informers`]: shutting it down waits for them, dropping it ends them at once.
//!
//! # Cost
//!
//! Around each object the store needs some 140 bytes for its key and entry, and 60 for each index
//! that it is in. A pod's metadata alone ([`Informers::metadata`]) takes 350 bytes, all
//! of that included, where a ReplicaSet has some sixteen pods and the metadata is 2 kB on the wire
//! (`--example memory`); where objects have nothing in common, a kilobyte. A read by key
//! is one hash and five hops. A published batch copies about one leaf and five small branches an
//! object written. An event to `n` inline handlers is `n` calls with the same allocation.
//!
//! A typed pod is some two hundred allocations, which its next state frees, often on another thread. glibc's allocator
//! gathers what was freed and merges it at some later request, all at once: where many typed objects change all the
//! time, events wait for it by the tenth of a second. A program of that kind does well to choose another allocator
//! (`mimalloc`; the `evenkeel` binary does). Metadata does not need it, and takes nearly twice the memory with mimalloc.
//!
//! # Features
//!
//! `compact`: whole objects, compressed in memory and decoded when they are read
//! (`Informers::compact`). Off by default.
//!
//! # Relation to client-go
//!
//! Reflector, store and shared informer do what `tools/cache` does; where its behaviour is a
//! known defect, this differs, and the item says so with the contract's number ("R18, ours").

#[cfg(feature = "compact")]
mod compact;
mod contents;
mod event;
#[cfg(test)]
mod fake_server;
mod filter;
mod handler;
mod index;
mod informer;
mod informer_set;
mod informers;
mod metadata;
mod metadata_view;
mod metrics;
mod pending;
pub mod reflector;
mod set_aside;
mod snapshot;
mod status;
mod store;
mod subscription;
mod transform;
mod trie;
mod watch_lists;
mod writer;

#[cfg(feature = "compact")]
pub use compact::{Compact, CompactError};
pub use event::{Deletion, Event};
pub use filter::Filtered;
pub use handler::{Handler, Registration};
pub use index::{AddIndexError, Index, Values};
pub use informer::{Informer, Stopped};
pub use informer_set::InformerSet;
pub use informers::{InformerOptions, Informers, InformersBuilder};
pub use metadata::MetadataRef;
pub use metadata_view::{MetadataEvent, MetadataHandler, MetadataView};
pub use set_aside::{SetAside, SetAsideReason};
pub use snapshot::Snapshot;
pub use status::{Freshness, SyncError, SyncFailure, SyncPhase, SyncState};
pub use store::{Changes, Store, WaitError};
pub use subscription::Subscription;
pub use transform::Transform;
pub use writer::{Put, Refused, Replaced, Writer};

/// The README's program must go on compiling.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
