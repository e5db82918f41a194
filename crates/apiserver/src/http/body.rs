//! Response bodies: whole, or streamed piece by piece.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt;
use http_body::{Frame, SizeHint};

/// The body of an answer.
///
/// Lists and watches are streamed; dropping the body ends them. Nothing runs behind it:
/// a body does its work while it is polled.
pub struct Body(Inner);

enum Inner {
    Whole(Bytes),
    Stream(Pieces),
    /// A stream that goes on until somebody ends it.
    Endless(Pieces),
}

type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, BodyError>> + Send>>;

/// The connection was cut in the middle of a body, which only injected faults do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the connection was cut")]
pub struct BodyError;

impl Body {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Whole(bytes.into()))
    }

    pub(crate) fn endless(
        stream: impl Stream<Item = Result<Bytes, BodyError>> + Send + 'static,
    ) -> Self {
        Self(Inner::Endless(Box::pin(stream)))
    }

    /// Ends a watch when `end` completes. Other bodies end by themselves.
    pub(crate) fn until(self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        match self.0 {
            Inner::Endless(stream) => Self::endless(stream.take_until(end)),
            other => Self(other),
        }
    }

    pub(crate) fn stream(
        stream: impl Stream<Item = Result<Bytes, BodyError>> + Send + 'static,
    ) -> Self {
        Self(Inner::Stream(Box::pin(stream)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            Inner::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Inner::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Inner::Stream(stream) | Inner::Endless(stream) => {
                stream.as_mut().poll_next(cx).map_ok(Frame::data)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Inner::Stream(_) | Inner::Endless(_) => SizeHint::default(),
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Inner::Whole(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Inner::Stream(_) | Inner::Endless(_) => f.write_str("Body(stream)"),
        }
    }
}
