//! A small HTTP(S) server for controllers: probes, metrics, webhooks.
//!
//! **When to use it:** a process of control loops has something to answer to kubelets, Prometheus or the
//! API server. **When not:** for the open Internet; behind it stand few clients, all of a cluster.
//!
//! ```
//! use evenkeel_serve::{Body, Server, Tls, TlsIdentity};
//! use http_body_util::Full;
//! use std::convert::Infallible;
//! use std::sync::Arc;
//! use std::task::{Context, Poll};
//! use tokio_util::sync::CancellationToken;
//!
//! #[derive(Clone)]
//! struct Hello;
//!
//! impl tower_service::Service<http::Request<Body>> for Hello {
//!     type Response = http::Response<Full<bytes::Bytes>>;
//!     type Error = Infallible;
//!     type Future = std::future::Ready<Result<Self::Response, Infallible>>;
//!
//!     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
//!         Poll::Ready(Ok(()))
//!     }
//!
//!     fn call(&mut self, _: http::Request<Body>) -> Self::Future {
//!         std::future::ready(Ok(http::Response::new(Full::from("hello\n"))))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let provider = Arc::new(rustls::crypto::ring::default_provider());
//! let identity = TlsIdentity::self_signed(&["localhost"], provider)?;
//! let server = Server::bind(([127, 0, 0, 1], 0).into(), Some(Tls::fixed(&identity)?)).await?;
//! let status = server.status();
//! assert!(status.check().is_err());
//! let stop = CancellationToken::new();
//! let serving = tokio::spawn(server.serve(Hello, stop.clone()));
//! while status.check().is_err() {
//!     tokio::task::yield_now().await;
//! }
//! stop.cancel();
//! serving.await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! - At most 256 connections; a head has 32 s and 64 KiB, a request 60 s, a stop the drain time.
//! - HTTP/1.1 and HTTP/2, chosen by what the client speaks.
//! - [`Tls::from_files`] follows its files; a pair that is no good changes nothing, is counted and
//!   reported.
//! - No task outlives the future of [`Server::serve`].
//!
//! # Features
//!
//! `ring` (default) or `aws-lc-rs` is the TLS provider of [`Tls::from_files`];
//! [`Tls::from_files_with`] takes any other. `self-signed` adds `TlsIdentity::self_signed`, for servers that are given
//! no certificate.
//!
//! # What it costs
//!
//! A task a connection. Files of certificates are read every ten seconds.

mod body;
mod identity;
mod server;
#[cfg(test)]
mod tests;
mod tls;

pub use body::{Body, BodyError};
pub use identity::{TlsError, TlsIdentity};
pub use server::{BindError, Peer, Server, ServerStatus, Service};
pub use tls::{Tls, TlsFiles};
