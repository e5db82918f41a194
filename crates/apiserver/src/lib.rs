//! An embedded Kubernetes API server in memory, for tests, demos and simulation.
//!
//! **When to use it:** a controller or client needs an API server that starts in a
//! millisecond, whose history, clock and faults a test controls. **When not:** production.
//! Nothing is durable, nothing is replicated, and there is no authorization.
//!
//! ```
//! use evenkeel_apiserver::{Identity, Server};
//! use http_body_util::{BodyExt, Full};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::new();
//! let request = http::Request::get("/api/v1/namespaces/default").body(Full::new(bytes::Bytes::new()))?;
//! let answer = server.handle(request, Identity::admin()).await;
//! assert_eq!(answer.status(), 200);
//! let namespace: serde_json::Value = serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?;
//! assert_eq!(namespace["status"]["phase"], "Active");
//! # Ok(())
//! # }
//! ```
//!
//! A [`Server`] is a cheap handle. It is a `tower_service::Service` of HTTP requests, so that
//! a client in the same process needs no socket; [`Server::handle`] is the same with an
//! explicit [`Identity`].
//!
//! # Guarantees
//!
//! - One global revision orders all writes; every list is consistent at the revision that it
//!   names, over all of its pages; a watch sees every change behind its revision exactly once,
//!   in order, or ends with 410.
//! - A write is checked against the state that it was based on: there are no lost updates.
//! - Nothing runs in the background: a request does its work while it is polled, and dropping
//!   an answer's body ends the watch or list behind it.
//!
//! # Cost
//!
//! An object is encoded once per write; history, watchers and lists share those bytes. A
//! watcher holds a cursor, not a queue. A write takes one short global lock.

#![expect(
    clippy::result_large_err,
    reason = "here an error is an answer: it is made once a request and encoded next"
)]

mod apply;
mod auth;
mod builder;
mod clock;
mod crd;
mod defaults;
mod deletion;
mod discovery;
mod events;
mod faults;
mod fields;
mod http;
mod listener;
mod namespaces;
mod object;
mod objectmeta;
mod patch;
mod protobuf;
mod random;
mod represent;
mod requests;
mod resources;
mod schema;
mod select;
mod server;
mod storage;
mod strategy;
mod table;
mod validation;
mod verbs;
mod view;

pub use crate::auth::Tokens;
pub use crate::builder::Builder;
pub use crate::faults::{Fault, Faults, Injected, Verb, When};
pub use crate::http::{Body, BodyError, Identity};
pub use crate::listener::{ListenError, Listener};
pub use crate::requests::LoggedRequest;
pub use crate::server::Server;
