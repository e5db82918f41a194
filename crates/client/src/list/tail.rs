use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::Sleep;

use crate::client::IdleLimited;

/// How long an answer may go on after its list: normally it ends at once.
const PATIENCE: Duration = Duration::from_secs(1);
/// How much may follow a list; a newline does.
const LARGEST: usize = 4096;

/// What is left of an answer whose list is complete.
///
/// It is read to its end: a connection of HTTP/1.1 is of use again only then, and on HTTP/2 a
/// server that has not sent the end yet would see its answer torn off and report that.
pub(super) struct Tail {
    body: IdleLimited,
    left: usize,
    patience: Option<Pin<Box<Sleep>>>,
}

impl Tail {
    pub(super) fn new(body: IdleLimited) -> Self {
        Self {
            body,
            left: LARGEST,
            patience: None,
        }
    }

    /// Ready when there is nothing more to read, or too much, or it takes too long.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(chunk) = Pin::new(&mut self.body).poll_next(cx) {
            match chunk {
                Some(Ok(chunk)) if chunk.len() <= self.left => self.left -= chunk.len(),
                _ => return Poll::Ready(()),
            }
        }
        let patience = self
            .patience
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
        patience.as_mut().poll(cx)
    }
}
