//! A Kubernetes API client made for watching: kubeconfig, TLS, HTTP/2, verbs, paged lists and
//! watch streams over a small transport trait.
//!
//! Use it for controllers, and for anything that follows the state of a cluster. To *keep*
//! that state, with indexes and handlers, put `evenkeel-store` on top. It is no replacement
//! for kubectl.
//!
//! ```
//! use bytes::Bytes;
//! use evenkeel_client::{Client, ListOptions, WatchEvent, WatchOptions};
//! use evenkeel_meta::{ApiResource, Meta, Object, Resource, Scope};
//! use futures_util::StreamExt;
//!
//! /// Decodes three fields of a pod and skips the rest.
//! #[derive(serde::Deserialize)]
//! struct PodPhase {
//!     metadata: Meta,
//!     status: Phase,
//! }
//! #[derive(serde::Deserialize)]
//! struct Phase {
//!     phase: String,
//! }
//! impl Object for PodPhase {
//!     type Meta = Meta;
//!     fn metadata(&self) -> &Meta {
//!         &self.metadata
//!     }
//! }
//! impl Resource for PodPhase {
//!     fn api_resource() -> ApiResource {
//!         ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced)
//!     }
//! }
//!
//! # #[derive(Clone)]
//! # struct Recorded;
//! # impl tower_service::Service<http::Request<http_body_util::Full<Bytes>>> for Recorded {
//! #     type Response = http::Response<http_body_util::Full<Bytes>>;
//! #     type Error = std::convert::Infallible;
//! #     type Future = std::future::Ready<Result<Self::Response, Self::Error>>;
//! #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
//! #         std::task::Poll::Ready(Ok(()))
//! #     }
//! #     fn call(&mut self, request: http::Request<http_body_util::Full<Bytes>>) -> Self::Future {
//! #         let pod = r#"{"metadata":{"namespace":"shop","name":"web"},"spec":{},"status":{"phase":"Running"}}"#;
//! #         let body = if request.uri().query().unwrap_or_default().contains("watch") {
//! #             format!("{{\"type\":\"MODIFIED\",\"object\":{pod}}}\n")
//! #         } else {
//! #             format!("{{\"metadata\":{{\"resourceVersion\":\"7\"}},\"items\":[{pod}]}}")
//! #         };
//! #         std::future::ready(Ok(http::Response::new(body.into())))
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let recorded = Recorded;
//! // Over the network: Client::connect(&Config::infer()?)?
//! let client = Client::from_service(recorded);
//! let pods = client.namespaced::<PodPhase>("shop");
//!
//! let list = pods.list(&ListOptions::default().labels("app=web")).await?;
//! assert_eq!(list.items[0].status.phase, "Running");
//!
//! let mut changes = pods.watch(&WatchOptions::from(list.resource_version)).await?;
//! while let Some(event) = changes.next().await {
//!     if let WatchEvent::Modified(pod) = event? {
//!         assert_eq!(pod.metadata.name, "web");
//!     }
//! }
//! // The server ended the watch; a reflector would watch again from the last version.
//! # Ok(())
//! # }
//! ```
//!
//! # What it guarantees
//!
//! - **Nothing hangs for ever.** Response head and body each have a time limit of their own
//!   ([`Timeouts`]); a silent connection is noticed by HTTP/2 pings within 45 s.
//! - **One bad object spoils nothing.** An object that does not decode, or whose decoding panics, is
//!   reported with its metadata, in lists ([`Undecodable`]) and watches ([`WatchEvent::Undecodable`]).
//! - **Lanes.** Watches, lists and short requests have connections of their own; how many
//!   watches share one is bounded. However many requests start at once, one of them opens the
//!   connection.
//! - **Typed errors.** Whatever a server or proxy answers becomes a `Status` with a reason;
//!   [`Error`] and [`WatchError`] name the request and tell whose fault it was.
//! - **Few hidden retries.** Only what the server asks to wait for, and reads whose connection
//!   was lost; see [`RetryPolicy`]. There is no client-side rate limit unless one is
//!   [asked for](Client::with_rate_limit).
//! - **No secret is printed** by `Debug`, an error or a log line. Credentials never travel
//!   over plain HTTP, redirects are not followed.
//! - **Credentials may change.** Tokens are read again without touching a connection; a new
//!   client certificate or CA has new connections, and watches on the old ones end within a
//!   bound. Exec plugins run once for all who wait, and are killed when nobody does.
//! - **No globals.** The TLS provider is chosen by a feature and handed over explicitly;
//!   nothing is spawned but the task of a `Process` or `Tunnel` (feature `ws`) and those that decode
//!   where [`decode_ahead`](WatchStream::decode_ahead) is asked for, and everything ends when it is dropped.
//!
//! # Cancel safety
//!
//! Every future may be dropped at any time, which gives the request up. A write that was on
//! its way may still have taken effect. The streams lose nothing between two polls.
//!
//! # Cost
//!
//! A list is decoded item by item as its bytes arrive, so its text is never in memory as a
//! whole; [`Api::stream_page`] hands the items out one by one. A watch event is decoded once,
//! in the buffer that it arrived in. Objects that a reader has already, or does not want, can
//! be dropped at the sight of their [`Identity`], before anything is allocated for them. The type parameter decides what is decoded:
//! [`Client::metadata`] and [`Client::projected`] cost what their fields cost.
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `ring` (default) | the TLS provider; quick to build |
//! | `aws-lc-rs` | the other TLS provider; used when `ring` is off |
//! | `kube-client` | a `kube::Client` as the transport |
//! | `ws` | commands in pods and connections to their ports, over WebSockets |
//!
//! With neither, the process-wide default provider is used if the program has installed one.
//!
//! # Compared with client-go
//!
//! This is `rest`, `clientcmd`, `discovery`, `restmapper`, `dynamic`, `metadata`, `pager`, the
//! retry-watcher and `until` of `tools/watch`, `remotecommand` and `portforward` in one crate. Unlike
//! there: retries leave "too large resource version" and passed time limits to the caller; a
//! token file is also read again on a 401; an undecodable event does not end a watch.

mod api;
mod client;
mod config;
mod conflict;
#[cfg(test)]
mod corpus;
mod credentials;
mod discovery;
mod error;
mod exact;
mod identity;
mod json;
mod list;
mod managed_fields;
mod options;
mod patch;
mod pod;
mod query;
mod reading;
#[cfg(test)]
mod testing;
mod transport;
pub mod wait;
mod watch;

pub use api::{Api, Deleted, Subresource};
pub use client::{
    Client, ClientOptions, OverloadBackoff, RetryPolicy, Timeouts, Warning, WarningHandler,
};
pub use config::{Config, ConfigError, ConnectError, KubeconfigFile};
pub use conflict::{ConflictRetries, retry_on_conflict};
#[cfg(fuzzing)]
#[doc(hidden)]
pub use credentials::read_exec_answer;
pub use credentials::{
    Credentials, ExecConfig, ExecPolicy, ExecVersion, Impersonation, InteractiveMode, Secret,
};
pub use discovery::{
    DiscoveredResource, DiscoveredSubresource, Discovery, DiscoveryCache, DiscoveryFailure,
    MapError, Match, RestMapper,
};
pub use error::{
    CredentialError, DecodeError, EncodeError, Error, PluginFailure, RequestError, Result,
    WatchError,
};
pub use identity::Identity;
pub use list::{List, Page, PageInfo, PageItem, PageStream, Undecodable};
pub use options::{
    DEFAULT_PAGE_SIZE, FieldValidation, ListOptions, PatchOptions, VersionMatch, WatchOptions,
    WriteOptions,
};
pub use patch::Patch;
#[cfg(feature = "ws")]
pub use pod::{
    AttachOptions, ExecOptions, ExitStatus, Input, Output, Process, ProcessOutput, Tunnel,
};
pub use pod::{LogOptions, LogStream, PodHandle};
#[cfg(feature = "kube-client")]
pub use transport::KubeTransport;
pub use transport::{
    ByteStream, Lane, ReqwestTransport, ServiceTransport, Transport, TransportError,
    TransportErrorKind, TransportOptions,
};
pub use wait::{Verdict, WaitError, Waiter};
pub use watch::{Change, RetryWatch, WatchEvent, WatchStream};
