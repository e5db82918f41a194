//! A recorder for Kubernetes events that correlates, bounds and never blocks.
//!
//! **When to use it:** a controller tells people what it did to an object, and why something
//! does not work, where they look first: in `kubectl describe`. **When not:** programs shall
//! react to it (that is what status conditions are for), or nothing may be lost (events are
//! best effort, and kept for an hour).
//!
//! ```
//! use std::time::Duration;
//!
//! use evenkeel_apiserver::Server;
//! use evenkeel_client::{Client, ListOptions};
//! use evenkeel_events::{Event, EventType, ObjectReference, Recorder};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A real cluster: `Client::connect(&Config::infer()?)?`.
//! let client = Client::from_service(Server::new());
//! let recorder = Recorder::new(client.clone(), "my-controller", "");
//!
//! let pod = ObjectReference {
//!     api_version: "v1".into(),
//!     kind: "Pod".into(),
//!     namespace: "default".into(),
//!     name: "web".into(),
//!     ..ObjectReference::default()
//! };
//! recorder.event(&pod, EventType::Normal, "Adopted", "Adopted the pod");
//! recorder.event(&pod, EventType::Normal, "Adopted", "Adopted the pod");
//!
//! // Before the process ends: write what is left.
//! recorder.shutdown(Duration::from_secs(5)).await?;
//! let events = client.namespaced::<Event>("default").list(&ListOptions::default()).await?;
//! assert_eq!(events.items.len(), 1);
//! assert_eq!(events.items[0].count, 2);
//! # Ok(())
//! # }
//! ```
//!
//! Objects of a typed kind are named by [`ObjectReference::of`].
//!
//! # Guarantees
//!
//! - [`Recorder::event`] returns at once, whatever the server does. Reports that find no room
//!   are dropped and counted.
//! - Memory is bounded: a queue of 1,000 reports, 1,000 events to write, and a memory of 4,096
//!   objects and events for the correlation; messages are cut at 16 KiB.
//! - The same thing happening again raises a count; ten different messages of one reason about
//!   one object become one combined event; an object that says too much is not written (client-go
//!   E2-E4).
//! - What the server refuses is given up; what it does not answer is tried 12 times, 10 s apart,
//!   while other events go on. While an event waits, its repetitions take its place.
//! - The form of [`Recorder`]'s is `core/v1` `Event`, as Kubernetes' own controllers write it.
//!
//! [`SeriesRecorder`] writes `events.k8s.io/v1` `Event` instead, in the manner of Kubernetes'
//! scheduler: each says which action was taken, and what happens again becomes a series whose
//! count is written from time to time (client-go E6). It filters nothing: use it for what happens
//! seldom.
//!
//! # Cost
//!
//! A report copies its reference and texts into the queue. One task writes, with at most four
//! requests on their way.
//!
//! [`Correlator`] is the part without I/O, for another way of writing.

mod correlator;
mod event;
mod intake;
mod metrics;
mod outbox;
mod recorder;
mod reference;
mod series;
mod writer;

pub use correlator::{Correlated, Correlator, EventKey, SpamFilter, SpamScope};
pub use event::{Event, EventType, Occurrence, Source};
pub use metrics::Stats;
pub use recorder::{Recorder, RecorderOptions, Unwritten};
pub use reference::ObjectReference;
pub use series::{Series, SeriesCache, SeriesEvent, SeriesOccurrence, SeriesRecorder};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
