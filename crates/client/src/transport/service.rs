use std::error::Error as StdError;
use std::future::poll_fn;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures_core::future::BoxFuture;
use futures_util::{StreamExt, TryFutureExt};
use http_body_util::{BodyDataStream, Full};
use tower_service::Service;

use super::{ByteStream, Lane, Transport, TransportError, TransportErrorKind};

type Call = dyn Fn(
        http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>>
    + Send
    + Sync;

/// A transport over any `tower_service::Service` of HTTP requests: a server in the same
/// process, a recorded answer in a test, somebody's own stack of middleware.
///
/// The service is cloned for each request, and polled until it is ready before it is called.
#[derive(Clone)]
pub struct ServiceTransport {
    call: Arc<Call>,
}

impl ServiceTransport {
    /// Wraps a service.
    pub fn new<S, B>(service: S) -> Self
    where
        S: Service<http::Request<Full<Bytes>>, Response = http::Response<B>>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        S::Error: Into<Box<dyn StdError + Send + Sync>>,
        B: http_body::Body + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let call = move |request: http::Request<Bytes>| {
            let mut service = service.clone();
            let exchange = async move {
                poll_fn(|cx| service.poll_ready(cx)).await?;
                service.call(request.map(Full::new)).await
            };
            let answer = exchange
                .map_ok(|response| response.map(stream))
                .map_err(|error: S::Error| TransportError::new(TransportErrorKind::Other, error));
            Box::pin(answer) as BoxFuture<'static, _>
        };
        Self {
            call: Arc::new(call),
        }
    }
}

fn stream<B>(body: B) -> ByteStream
where
    B: http_body::Body + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    BodyDataStream::new(body)
        .map(|chunk| match chunk {
            Ok(mut data) => Ok(data.copy_to_bytes(data.remaining())),
            Err(error) => Err(TransportError::new(TransportErrorKind::Closed, error)),
        })
        .boxed()
}

impl Transport for ServiceTransport {
    fn send(
        &self,
        _lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        (self.call)(request)
    }
}

impl std::fmt::Debug for ServiceTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceTransport").finish_non_exhaustive()
    }
}
