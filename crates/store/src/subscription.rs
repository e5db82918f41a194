use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{Object, ObjectKey};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::event::Event;
use crate::handler::Link;
use crate::pending::Pending;
use crate::status::SyncError;
use crate::trie::Cursor;

/// The changes of a collection, taken when the taker has time for them.
///
/// First comes every object that was there already, as [`Event::Added`] with `initial` set, then
/// what changed since, without a gap. While the taker is busy, changes are folded by object: a
/// slow taker costs memory for the objects that changed, however often they did, and holds up
/// nobody (contract client-go B9, ours).
///
/// Dropping it unsubscribes.
pub struct Subscription<K> {
    line: Arc<Line<K>>,
    /// What was there when the informer took the subscription in.
    replay: Option<Cursor<ObjectKey, Arc<K>>>,
}

/// Between the informer, which adds, and the subscription, which takes.
pub(crate) struct Line<K> {
    link: Arc<Link>,
    state: Mutex<State<K>>,
    wake: Notify,
}

struct State<K> {
    pending: Pending<K>,
    /// Handed over when the subscription is taken in.
    replay: Option<Cursor<ObjectKey, Arc<K>>>,
    /// The initial contents end here, once that is known.
    initial_end: Option<u64>,
    closed: bool,
}

impl<K> Line<K> {
    pub(crate) fn new(link: Arc<Link>) -> Arc<Self> {
        Arc::new(Self {
            link,
            state: Mutex::new(State {
                pending: Pending::default(),
                replay: None,
                initial_end: None,
                closed: false,
            }),
            wake: Notify::new(),
        })
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Sets what the taker gets first.
    pub(crate) fn replay(&self, contents: Cursor<ObjectKey, Arc<K>>) {
        self.state.lock().replay = Some(contents);
        self.wake.notify_one();
    }

    pub(crate) fn push(&self, key: &ObjectKey, event: Event<K>) {
        self.state.lock().pending.push(key, event);
    }

    /// Lets the taker see what was pushed. Apart from `push`, so that a batch wakes it once.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Everything up to now is the initial contents.
    pub(crate) fn end_initial(&self) {
        let mut state = self.state.lock();
        let end = state.pending.end();
        state.initial_end.get_or_insert(end);
        drop(state);
        self.wake.notify_one();
    }

    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.link.mark_ended();
        self.wake.notify_one();
    }

    pub(crate) fn len(&self) -> usize {
        let state = self.state.lock();
        state.pending.len() + state.replay.as_ref().map_or(0, Cursor::remaining)
    }
}

impl<K: Object + 'static> Subscription<K> {
    pub(crate) fn new(line: Arc<Line<K>>) -> Self {
        Self { line, replay: None }
    }

    /// Waits for the next event. `None` once the informer was stopped and everything was taken,
    /// or the registration that this belongs to was dropped.
    ///
    /// Asking for the next event says that the one before has been dealt with; the subscription
    /// has [synced](Self::has_synced) when that holds for all of the initial contents.
    ///
    /// # Cancel safety
    ///
    /// Yes: no event is lost.
    pub async fn next(&mut self) -> Option<(ObjectKey, Event<K>)> {
        loop {
            if self.line.link.is_removed() {
                return None;
            }
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.line.state.lock().closed {
                return None;
            }
            self.line.wake.notified().await;
        }
    }

    /// As `next`, but what is left when the informer is stopped is dropped.
    pub(crate) async fn next_until_closed(&mut self) -> Option<(ObjectKey, Event<K>)> {
        let next = self.next().await;
        next.filter(|_| !self.line.state.lock().closed)
    }

    /// The next event, if one is there.
    pub fn try_next(&mut self) -> Option<(ObjectKey, Event<K>)> {
        if let Some(event) = self.next_of_replay() {
            return Some(event);
        }
        let mut state = self.line.state.lock();
        if let Some(replay) = state.replay.take() {
            drop(state);
            self.replay = Some(replay);
            return self.try_next();
        }
        if let Some(end) = state.initial_end
            && state.pending.is_past(end)
        {
            self.line.link.mark_synced();
        }
        state.pending.pop()
    }

    fn next_of_replay(&mut self) -> Option<(ObjectKey, Event<K>)> {
        let next = self.replay.as_mut()?.next();
        if next.is_none() {
            self.replay = None;
        }
        let (key, object) = next?;
        let initial = true;
        Some((key, Event::Added { object, initial }))
    }

    /// Whether all of the initial contents were taken and dealt with.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.line.link.has_synced()
    }

    /// Waits until the initial contents were dealt with. Somebody must be taking them.
    ///
    /// # Errors
    ///
    /// The informer was stopped first.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced(&self) -> Result<(), SyncError> {
        self.line.link.synced().await
    }

    /// As [`synced`](Self::synced), but gives up after `limit` with an error that says how the
    /// informer stands.
    ///
    /// # Errors
    ///
    /// The informer was stopped, or the time is over.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced_within(&self, limit: Duration) -> Result<(), SyncError> {
        self.line.link.synced_within(limit).await
    }

    /// Tells of every object again each `period`; see
    /// [`Registration::resync_every`](crate::Registration::resync_every).
    #[must_use]
    pub fn resync_every(self, period: Duration) -> Self {
        self.line.link.set_resync(period);
        self
    }

    /// How many objects have something to tell.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.line.len() + self.replay.as_ref().map_or(0, Cursor::remaining)
    }
}

impl<K> Drop for Subscription<K> {
    fn drop(&mut self) {
        self.line.link.remove();
    }
}

impl<K> fmt::Debug for Subscription<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("synced", &self.line.link.has_synced())
            .finish_non_exhaustive()
    }
}
