#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use evenkeel_meta::ApiResource;
use futures_util::FutureExt;
use serde::de::DeserializeOwned;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::task::AbortOnDropHandle;

use super::WatchEvent;
use super::decoder::Decoder;

/// How much a task decodes: half a millisecond's work, beside which its start is nothing.
pub(super) const CHUNK: usize = 64 << 10;

/// Decodes what has arrived and waits, in several tasks, and keeps the order.
///
/// What is cut off for a task ends at a line's end, where an event of an API server ends too. Should it
/// not, the task leaves a rest, and everything from there on is decoded in its turn, one after the other.
pub(super) struct Ahead<K> {
    start: Start<K>,
    /// Where the tasks run.
    runtime: Option<Handle>,
    /// How many of them there may be; none if nothing is decoded ahead.
    most: usize,
    chunks: VecDeque<Chunk<K>>,
    events: std::vec::IntoIter<WatchEvent<K>>,
}

type Start<K> = fn(
    &Handle,
    Bytes,
    Decoder,
    Arc<ApiResource>,
    fn(&mut K, &ApiResource),
) -> AbortOnDropHandle<Decoded<K>>;

struct Chunk<K> {
    text: Bytes,
    decoded: AbortOnDropHandle<Decoded<K>>,
}

struct Decoded<K> {
    events: Vec<WatchEvent<K>>,
    rest: BytesMut,
}

impl<K: DeserializeOwned + Send + 'static> Ahead<K> {
    /// As many tasks as the runtime has threads; none if it has but one.
    pub(super) fn new() -> Self {
        let runtime = Handle::try_current().ok();
        let threads = runtime
            .as_ref()
            .filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
            .map_or(0, |runtime| runtime.metrics().num_workers());
        Self {
            start,
            runtime,
            most: if threads > 1 { threads } else { 0 },
            chunks: VecDeque::new(),
            events: Vec::new().into_iter(),
        }
    }
}

fn start<K: DeserializeOwned + Send + 'static>(
    runtime: &Handle,
    text: Bytes,
    decoder: Decoder,
    resource: Arc<ApiResource>,
    adopt: fn(&mut K, &ApiResource),
) -> AbortOnDropHandle<Decoded<K>> {
    let task = async move { decode(&text, decoder, &resource, adopt) };
    AbortOnDropHandle::new(runtime.spawn(task))
}

fn decode<K: DeserializeOwned>(
    text: &[u8],
    mut decoder: Decoder,
    resource: &ApiResource,
    adopt: fn(&mut K, &ApiResource),
) -> Decoded<K> {
    decoder.push(text);
    let mut events = Vec::new();
    // A fault is met again when the rest has its turn.
    while let Ok(Some(event)) = decoder.next(resource, adopt) {
        events.push(event);
    }
    let rest = decoder.take();
    Decoded { events, rest }
}

impl<K> Ahead<K> {
    /// An event that is decoded already, and whose turn it is.
    pub(super) fn pop(&mut self) -> Option<WatchEvent<K>> {
        self.events.next()
    }

    /// Whether more can be started.
    pub(super) fn has_room(&self) -> bool {
        self.chunks.len() < self.most
    }

    /// Takes what the decoder has, if that is enough for a task.
    pub(super) fn take(
        &mut self,
        decoder: &mut Decoder,
        resource: &Arc<ApiResource>,
        adopt: fn(&mut K, &ApiResource),
    ) -> bool {
        let Some(runtime) = &self.runtime else {
            return false;
        };
        let Some(text) = decoder.take_lines(CHUNK) else {
            return false;
        };
        let (sibling, resource) = (decoder.sibling(), Arc::clone(resource));
        let decoded = (self.start)(runtime, text.clone(), sibling, resource, adopt);
        self.chunks.push_back(Chunk { text, decoded });
        true
    }

    /// Waits for the events of the first task. `false`: there is none.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, decoder: &mut Decoder) -> Poll<bool> {
        let Some(first) = self.chunks.front_mut() else {
            return Poll::Ready(false);
        };
        let decoded = ready!(first.decoded.poll_unpin(cx));
        let first = self.chunks.pop_front();
        let rest = match decoded {
            Ok(Decoded { events, rest }) => {
                self.events = events.into_iter();
                rest
            }
            // As if it had been decoded here.
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // The runtime ends.
            Err(_) => first.map_or_else(BytesMut::new, |first| BytesMut::from(&*first.text)),
        };
        if !rest.is_empty() {
            self.most = 0;
            let mut text = rest;
            for chunk in self.chunks.drain(..) {
                text.extend_from_slice(&chunk.text);
            }
            decoder.put_back(text);
        }
        Poll::Ready(true)
    }
}
