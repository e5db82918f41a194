//! Keys that come from outside of the cluster.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_workqueue::Add;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use parking_lot::Mutex;

use super::intake::Intake;

/// So many keys may wait in the queue before the stream is made to wait: what nobody works off
/// must not pile up.
const MOST: usize = 1024;
/// How often a feed that waits looks whether it may go on.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A stream of keys, which is polled only while the controller works.
pub(super) struct Feed<K> {
    /// `None` while it is polled, and when it has ended.
    stream: Mutex<Option<BoxStream<'static, K>>>,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Feed<K> {
    pub(super) fn new(stream: BoxStream<'static, K>) -> Arc<Self> {
        Arc::new(Self {
            stream: Mutex::new(Some(stream)),
        })
    }

    /// Moves keys into the queue until the stream ends. Dropped, it leaves the stream to the next term.
    pub(super) async fn pump(self: Arc<Self>, intake: Arc<Intake<K>>) {
        let Some(stream) = self.stream.lock().take() else {
            return;
        };
        let mut polled = Polled {
            feed: &self,
            stream: Some(stream),
        };
        while let Some(stream) = &mut polled.stream {
            while intake.queue.len() >= MOST {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            match stream.next().await {
                Some(key) => intake.add(key, Add::now()),
                None => polled.stream = None,
            }
        }
    }
}

/// Gives the stream back.
struct Polled<'a, K> {
    feed: &'a Feed<K>,
    stream: Option<BoxStream<'static, K>>,
}

impl<K> Drop for Polled<'_, K> {
    fn drop(&mut self) {
        *self.feed.stream.lock() = self.stream.take();
    }
}
