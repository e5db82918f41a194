use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::sleep;

use super::reload::Reloader;
use super::{ByteStream, TransportError};

/// A busy watch looks whether it is to end once in so many chunks.
const CHUNKS_BETWEEN_LOOKS: u32 = 64;

/// Ends the body of a watch some time after its connections were retired, and has the
/// certificates looked at now and then: a program that only watches sends no requests that
/// would do so.
pub(super) fn drained(
    body: ByteStream,
    mut retirement: watch::Receiver<bool>,
    reloader: Weak<Reloader>,
    look_every: Duration,
    delay: Duration,
) -> ByteStream {
    let end = async move {
        loop {
            tokio::select! {
                retired = until(&mut retirement) => match retired {
                    true => break,
                    // Nobody is left who would replace anything.
                    false => std::future::pending().await,
                },
                () = sleep(look_every) => {
                    if let Some(reloader) = reloader.upgrade() {
                        reloader.look(look_every).await;
                    }
                }
            }
        }
        sleep(delay).await;
    };
    let drained = Drained {
        body,
        end: Box::pin(end),
        chunks: 0,
    };
    // It is not polled again after its end.
    drained.fuse().boxed()
}

async fn until(retirement: &mut watch::Receiver<bool>) -> bool {
    retirement.wait_for(|retired| *retired).await.is_ok()
}

/// The end costs more to look at than a chunk, so it waits for a pause.
struct Drained {
    body: ByteStream,
    end: BoxFuture<'static, ()>,
    /// Chunks since the last look.
    chunks: u32,
}

impl Stream for Drained {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.chunks < CHUNKS_BETWEEN_LOOKS
            && let Poll::Ready(chunk) = this.body.as_mut().poll_next(cx)
        {
            this.chunks += 1;
            return Poll::Ready(chunk);
        }
        let busy = this.chunks == CHUNKS_BETWEEN_LOOKS;
        this.chunks = 0;
        match this.end.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending if busy => this.body.as_mut().poll_next(cx),
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, stream};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tr3_a_watch_that_is_never_quiet_ends_too() {
        let chunks = stream::repeat_with(|| Ok(Bytes::from_static(b"x"))).boxed();
        let (retire, retirement) = watch::channel(false);
        let second = Duration::from_secs(1);
        let mut body = drained(chunks, retirement, Weak::new(), second, Duration::ZERO);
        for _ in 0..200 {
            assert!(body.next().now_or_never().flatten().is_some());
        }
        retire.send_replace(true);
        let more = body.take(1000).count().now_or_never();
        assert!(
            more.is_some_and(|more| more <= 2 * CHUNKS_BETWEEN_LOOKS as usize),
            "{more:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn tr3_a_quiet_watch_ends_after_its_delay_and_one_without_a_client_goes_on() {
        let start = tokio::time::Instant::now();
        let second = Duration::from_secs(1);
        let (retire, retirement) = watch::channel(false);
        let silence = || stream::pending().boxed();
        let mut body = drained(silence(), retirement, Weak::new(), second, 5 * second);
        assert!(body.next().now_or_never().is_none());
        retire.send_replace(true);
        assert!(body.next().await.is_none());
        assert_eq!(start.elapsed(), 5 * second);

        let (gone, retirement) = watch::channel(false);
        drop(gone);
        let mut body = drained(silence(), retirement, Weak::new(), second, second);
        let day = Duration::from_secs(86_400);
        assert!(tokio::time::timeout(day, body.next()).await.is_err());
    }
}
