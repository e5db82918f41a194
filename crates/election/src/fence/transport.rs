use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use evenkeel_client::{ByteStream, Lane, Transport, TransportError, TransportErrorKind};
use futures_util::future::BoxFuture;
use http::{Method, Request, Response};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::{Fence, FenceCell, FenceExpired};

/// A transport that starts no write outside a term of leadership.
///
/// A write is every request but GET, HEAD and OPTIONS; a connection that is to be upgraded is
/// one too, since commands in pods are run over it. It is refused when the cell's fence
/// is closed, and given up when the fence closes before its answer is there. Reads and
/// watches pass: a standby keeps its caches warm.
///
/// ```
/// use evenkeel_client::ServiceTransport;
/// use evenkeel_election::{FenceCell, FencedTransport};
///
/// # fn wrap(network: ServiceTransport) {
/// let cell = FenceCell::new(); // nothing may be written until a term's fence is put in
/// let transport = FencedTransport::new(network, cell.clone());
/// # drop(transport);
/// # }
/// ```
///
/// The refusal is a [`TransportError`] of the kind [`Fenced`](TransportErrorKind::Fenced): not
/// retryable, and with the [`FenceExpired`] as its cause; see [`FenceExpired::find`].
///
/// The Lease itself must be written through a client *without* a fence.
///
/// # What it cannot do
/// A request that was handed to the network before the fence closed may reach the server
/// after: no client can call it back. The fence's margin is the time for that; what arrives
/// even later, the server turns away only if the write carries a precondition (a resource
/// version or a UID) that no longer holds.
#[derive(Clone, Debug)]
pub struct FencedTransport<T> {
    inner: Arc<T>,
    fence: FenceCell,
}

impl<T: Transport> FencedTransport<T> {
    /// Wraps a transport.
    pub fn new(inner: T, fence: impl Into<FenceCell>) -> Self {
        Self {
            inner: Arc::new(inner),
            fence: fence.into(),
        }
    }
}

impl<T: Transport> Transport for FencedTransport<T> {
    fn send(
        &self,
        lane: Lane,
        request: Request<Bytes>,
    ) -> BoxFuture<'static, Result<Response<ByteStream>, TransportError>> {
        if is_read(request.method()) && lane != Lane::Upgrade {
            return self.inner.send(lane, request);
        }
        // The term is fixed here: a write that was asked for in one term never starts in a later one.
        let Some(fence) = self.fence.current() else {
            return Box::pin(async { Err(refusal(FenceExpired::NoTerm)) });
        };
        let inner = Arc::clone(&self.inner);
        Box::pin(Fenced {
            sealed: Box::pin(fence.0.sealed.clone().cancelled_owned()),
            fence,
            // Sent on the first poll, after the first check: not when the future is made.
            exchange: Box::pin(async move {
                tracing::debug!(method = %request.method(), path = request.uri().path(), "a leader's write starts");
                inner.send(lane, request).await
            }),
            timer: None,
        })
    }
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn refusal(expired: FenceExpired) -> TransportError {
    TransportError::new(TransportErrorKind::Fenced, expired)
}

/// Polls the exchange only while the fence is open, and ends as soon as it is not.
///
/// A plain time-out would poll the exchange first: after a stop of the whole process it
/// could still send a request that had been waiting for a connection.
struct Fenced {
    fence: Fence,
    sealed: Pin<Box<WaitForCancellationFutureOwned>>,
    exchange: BoxFuture<'static, Result<Response<ByteStream>, TransportError>>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Future for Fenced {
    type Output = Result<Response<ByteStream>, TransportError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let left = match this.fence.check() {
                Ok(left) => left,
                Err(expired) => return Poll::Ready(Err(refusal(expired))),
            };
            if let Poll::Ready(answer) = this.exchange.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            if this.sealed.as_mut().poll(cx).is_ready() {
                continue;
            }
            let closes = Instant::now() + left;
            let timer = this
                .timer
                .get_or_insert_with(|| Box::pin(sleep_until(closes)));
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            // The lease was renewed in the meantime: wait for the new end.
            timer.as_mut().reset(closes);
        }
    }
}
