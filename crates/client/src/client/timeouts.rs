use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::transport::{ByteStream, TransportError};

/// A body that fails when no chunk arrives for `limit`.
///
/// The timer is not moved for each chunk, which would cost more than the chunk: it is looked
/// at again when it fires.
pub(crate) struct IdleLimited {
    body: ByteStream,
    limit: Duration,
    last_chunk: Instant,
    timer: Pin<Box<Sleep>>,
}

pub(crate) fn idle_limited(body: ByteStream, limit: Duration) -> IdleLimited {
    let now = Instant::now();
    IdleLimited {
        body,
        limit,
        last_chunk: now,
        timer: Box::pin(sleep_until(after(now, limit))),
    }
}

/// Stands for "never" where tokio's instants end.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// The time when `limit`, which may be as long as there are durations, has passed.
fn after(now: Instant, limit: Duration) -> Instant {
    now.checked_add(limit).unwrap_or_else(|| now + FAR)
}

impl Stream for IdleLimited {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Poll::Ready(chunk) = this.body.as_mut().poll_next(cx) {
            this.last_chunk = Instant::now();
            return Poll::Ready(chunk);
        }
        loop {
            std::task::ready!(this.timer.as_mut().poll(cx));
            let deadline = after(this.last_chunk, this.limit);
            if deadline <= Instant::now() {
                let error = TransportError::timeout("byte of the response", this.limit);
                return Poll::Ready(Some(Err(error)));
            }
            this.timer.as_mut().reset(deadline);
        }
    }
}
