//! Watch streams.

mod ahead;
mod decoder;
mod resume;
mod retry;
#[cfg(test)]
mod tests;

pub use self::retry::RetryWatch;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use evenkeel_meta::{ApiResource, Metadata, ResourceVersion, Status};
use futures_core::Stream;
use serde::de::DeserializeOwned;

use self::ahead::Ahead;
use self::decoder::{Decoder, Fault};
use crate::client::IdleLimited;
use crate::error::{DecodeError, WatchError};
use crate::identity::Identity;
use crate::reading::Reading;
use crate::transport::TransportError;

/// One thing that a watch reports.
#[derive(Clone, Debug)]
pub enum WatchEvent<K> {
    /// An object that was not in the selection before.
    Added(K),
    /// An object that changed.
    Modified(K),
    /// An object that is gone from the selection, in its last state. Its resource version is
    /// that of the deletion.
    Deleted(K),
    /// Nothing happened up to this version.
    Bookmark {
        /// Watch from here after an interruption.
        resource_version: ResourceVersion,
        /// Whether the initial events of a watch-list are complete.
        initial_events_end: bool,
    },
    /// An error that the server sends in the stream, such as 410 when the watch has fallen behind.
    Error(Box<Status>),
    /// A change of an object that does not decode. The stream goes on.
    Undecodable {
        /// What happened to it.
        change: Change,
        /// As much of its metadata as could be read.
        metadata: Arc<Metadata>,
        /// What is wrong with it.
        error: DecodeError,
    },
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It was not in the selection before.
    Added,
    /// It changed.
    Modified,
    /// It is gone from the selection.
    Deleted,
}

/// The changes of one resource, as a stream of [`WatchEvent`]s.
///
/// It ends when the server ends the watch, which every server does after a while: watch
/// again from the last resource version. It also ends after a [`WatchError`].
///
/// # Cancel safety
///
/// Nothing is lost between two polls. Dropping the stream ends the watch on the server.
///
/// # Cost
///
/// An event is decoded straight from the buffer that it arrived in; there is no copy of its
/// text, and no allocation but those of `K`.
pub struct WatchStream<K> {
    source: Source,
    decoder: Decoder,
    ahead: Option<Box<Ahead<K>>>,
    resource: Arc<ApiResource>,
    adopt: fn(&mut K, &ApiResource),
}

impl<K: DeserializeOwned> WatchStream<K> {
    pub(crate) fn new(
        body: IdleLimited,
        resource: Arc<ApiResource>,
        adopt: fn(&mut K, &ApiResource),
        largest_event: usize,
        reading: Reading,
    ) -> Self {
        Self {
            source: Source::Open(body),
            ahead: None,
            decoder: Decoder::new(largest_event, reading),
            resource,
            adopt,
        }
    }

    /// Asks `keep` about each changed object before it is decoded, and leaves out the events
    /// that it does not want. Objects whose identity cannot be read ahead are kept, and so
    /// are bookmarks and errors.
    #[must_use]
    pub fn keep_if(
        mut self,
        keep: impl FnMut(Change, &Identity<'_>) -> bool + Send + 'static,
    ) -> Self {
        self.decoder.keep_if(Box::new(keep));
        self
    }

    /// Has events that have arrived and wait decoded by other threads of the runtime, in order: for those
    /// who want a large collection, or a burst of events, as soon as may be. What comes event by event is
    /// decoded as ever, and so is everything on a runtime of one thread, and where
    /// [`keep_if`](Self::keep_if) is asked.
    ///
    /// Cost: up to 64 KiB of text a thread are held twice. Dropping the stream ends its tasks.
    #[must_use]
    pub fn decode_ahead(mut self) -> Self
    where
        K: Send + 'static,
    {
        self.ahead = Some(Box::new(Ahead::new()));
        self
    }

    /// Whether an event that was decoded ahead, or its task, is to be waited for.
    fn poll_ahead(&mut self, cx: &mut Context<'_>) -> Poll<Option<WatchEvent<K>>> {
        let Some(ahead) = &mut self.ahead else {
            return Poll::Ready(None);
        };
        loop {
            if let Some(event) = ahead.pop() {
                return Poll::Ready(Some(event));
            }
            while ahead.has_room() {
                if ahead.take(&mut self.decoder, &self.resource, self.adopt) {
                    continue;
                }
                // One long event is no more for having waited.
                let waits = self.decoder.len() >= ahead::CHUNK;
                if waits || self.source.poll_read(&mut self.decoder, cx).is_pending() {
                    break;
                }
            }
            if !ready!(ahead.poll(cx, &mut self.decoder)) {
                return Poll::Ready(None);
            }
        }
    }

    fn fault(&self, fault: Fault) -> WatchError {
        let resource = self.resource.to_string().into();
        match fault {
            Fault::Malformed(error) => WatchError::Frame { resource, error },
            Fault::TooLarge(limit) => WatchError::TooLarge { resource, limit },
        }
    }
}

/// Events are moved out; none is ever pinned.
impl<K> Unpin for WatchStream<K> {}

impl<K: DeserializeOwned> Stream for WatchStream<K> {
    type Item = Result<WatchEvent<K>, WatchError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        // Decoding is work: the task's other duties get their turn between events.
        let turn = ready!(tokio::task::coop::poll_proceed(cx));
        if let Some(event) = ready!(this.poll_ahead(cx)) {
            turn.made_progress();
            return Poll::Ready(Some(Ok(event)));
        }
        loop {
            match this.decoder.next(&this.resource, this.adopt) {
                Ok(Some(event)) => {
                    turn.made_progress();
                    return Poll::Ready(Some(Ok(event)));
                }
                Ok(None) => {}
                Err(fault) => {
                    // Whatever else has been read already is not looked at.
                    this.source = Source::Ended;
                    this.decoder.take();
                    return Poll::Ready(Some(Err(this.fault(fault))));
                }
            }
            if !matches!(this.source, Source::Open(_)) {
                let Source::Broken(error) = std::mem::replace(&mut this.source, Source::Ended)
                else {
                    return Poll::Ready(None);
                };
                let resource = this.resource.to_string().into();
                return Poll::Ready(Some(Err(WatchError::Transport { resource, error })));
            }
            ready!(this.source.poll_read(&mut this.decoder, cx));
        }
    }
}

/// Where the bytes come from.
enum Source {
    Open(IdleLimited),
    Broken(TransportError),
    Ended,
}

impl Source {
    /// Passes on the next piece. Once there is none, what is left with the decoder is an event that was cut
    /// short: the next watch brings it again.
    fn poll_read(&mut self, decoder: &mut Decoder, cx: &mut Context<'_>) -> Poll<()> {
        let Self::Open(body) = self else {
            return Poll::Pending;
        };
        match ready!(Pin::new(body).poll_next(cx)) {
            Some(Ok(chunk)) => decoder.push(&chunk),
            Some(Err(error)) => *self = Self::Broken(error),
            None => *self = Self::Ended,
        }
        Poll::Ready(())
    }
}

impl<K> std::fmt::Debug for WatchStream<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchStream")
            .field("resource", &format_args!("{}", self.resource))
            .finish_non_exhaustive()
    }
}
