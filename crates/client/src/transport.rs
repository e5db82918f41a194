//! The seam between the client and the network.

mod connection;
mod drain;
mod error;
mod http_error;
#[cfg(feature = "kube-client")]
mod kube;
mod options;
mod pool;
mod reload;
mod reqwest;
mod service;
mod tls;
mod watch_pool;

pub use self::error::{TransportError, TransportErrorKind};
#[cfg(feature = "kube-client")]
pub use self::kube::KubeTransport;
pub use self::options::TransportOptions;
pub use self::reqwest::ReqwestTransport;
pub use self::service::ServiceTransport;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;

/// A response body: chunks as they arrive, of any size, cut anywhere.
pub type ByteStream = BoxStream<'static, Result<Bytes, TransportError>>;

/// Carries one HTTP request to the API server and its answer back.
///
/// The client does everything else: paths, credentials, retries, time limits, decoding. A
/// transport resolves its future as soon as the response *head* is there; the body follows
/// as a stream. Dropping the future or the stream must give the request up (on HTTP/2:
/// reset the stream), so that a cancelled watch costs the server nothing.
///
/// Implementations here: [`ReqwestTransport`] for the network, [`ServiceTransport`] for any
/// `tower_service::Service`, such as a server in the same process, and, with the feature
/// `kube-client`, `KubeTransport` for a `kube::Client`.
///
/// # Errors
///
/// An HTTP error status is an answer, not an error. A [`TransportError`] means that there
/// was no answer, or that its body broke off.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request`, whose URI is absolute.
    fn send(
        &self,
        lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>>;
}

impl<T: Transport + ?Sized> Transport for std::sync::Arc<T> {
    fn send(
        &self,
        lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        (**self).send(lane, request)
    }
}

/// What a request competes with. Lanes do not share connections, so that a burst of events
/// or a long list never delays a lease renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Long-lived streams.
    Watch,
    /// Collections and discovery: large answers.
    List,
    /// Everything short: writes, and reads of one object.
    Write,
    /// A connection of its own, over HTTP/1.1, that shall become a WebSocket. The answer 101
    /// carries hyper's upgrade among its extensions, as hyper's own answers do.
    Upgrade,
}
