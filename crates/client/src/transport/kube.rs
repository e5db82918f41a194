use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use http_body_util::BodyDataStream;

use super::http_error::classify;
use super::{ByteStream, Lane, Transport, TransportError, TransportErrorKind};

/// A transport over a `kube::Client`: its connections, its credentials, its middleware.
///
/// [`Client::from_kube`](crate::Client::from_kube) makes a client of it. All lanes share what
/// the `kube::Client` has, which is HTTP/1.1 unless it was built otherwise, and its time-outs
/// come on top of those here: give it none for reading, or watches end with it.
#[derive(Clone)]
pub struct KubeTransport {
    client: kube_client::Client,
}

impl KubeTransport {
    /// Wraps a client.
    #[must_use]
    pub fn new(client: kube_client::Client) -> Self {
        Self { client }
    }
}

impl Transport for KubeTransport {
    fn send(
        &self,
        _lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let client = self.client.clone();
        Box::pin(async move {
            let request = request.map(kube_client::client::Body::from);
            let response = client.send(request).await.map_err(failure)?;
            Ok(response.map(|body| {
                let chunks = BodyDataStream::new(body);
                chunks.map(|chunk| chunk.map_err(failure)).boxed()
            }))
        })
    }
}

fn failure(error: kube_client::Error) -> TransportError {
    let kind = classify(&error).map_or(TransportErrorKind::Other, |(kind, _)| kind);
    TransportError::new(kind, error)
}

impl std::fmt::Debug for KubeTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubeTransport").finish_non_exhaustive()
    }
}
