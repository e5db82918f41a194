#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use evenkeel_meta::{LabelSelector, Object, ObjectKey, ResourceVersion};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::contents::Contents;
use crate::index::{AddIndexError, Index};
use crate::snapshot::Snapshot;

/// The objects of one collection, for any number of readers.
///
/// Readers take no lock: every read is of an immutable snapshot, so it neither waits for the
/// writer nor makes it wait. The writer publishes whole batches. A clone is another handle on
/// the same store.
///
/// Every method here reads the newest snapshot; take a [`snapshot`](Self::snapshot) when several
/// answers must belong together.
pub struct Store<K> {
    shared: Arc<Shared<K>>,
}

pub(crate) struct Shared<K> {
    /// What readers see.
    published: ArcSwap<Contents<K>>,
    /// What the writer works on. Locked for single writes and index registrations, never by reads.
    pub(crate) draft: Mutex<Contents<K>>,
    publications: watch::Sender<Publication>,
}

#[derive(Clone, Copy, Default)]
struct Publication {
    number: u64,
    closed: bool,
}

impl<K> Shared<K> {
    pub(crate) fn new(seed: u64) -> Self {
        let contents = Contents::new(seed);
        Self {
            published: ArcSwap::from_pointee(contents.clone()),
            draft: Mutex::new(contents),
            publications: watch::Sender::default(),
        }
    }

    /// Shows readers what the draft holds.
    pub(crate) fn publish(&self, draft: &Contents<K>) {
        self.published.store(Arc::new(draft.clone()));
        self.publications
            .send_modify(|publication| publication.number += 1);
    }

    /// How many times readers were shown something.
    #[cfg(test)]
    pub(crate) fn publications(&self) -> u64 {
        self.publications.borrow().number
    }

    /// Tells waiters that nothing more will come.
    pub(crate) fn close(&self) {
        self.publications
            .send_modify(|publication| publication.closed = true);
    }
}

impl<K: Object + 'static> Store<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>) -> Self {
        Self { shared }
    }

    /// The whole store as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<K> {
        Snapshot::new(self.shared.published.load_full())
    }

    /// An object by its key. Constant time, no lock, no copy of the object.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.shared.published.load().objects.get(key).cloned()
    }

    /// Whether an object of that key is there.
    #[must_use]
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.shared.published.load().objects.contains_key(key)
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.published.load().objects.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every object, in no order that means anything.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        let contents = self.shared.published.load();
        contents
            .objects
            .iter()
            .map(|(_, object)| Arc::clone(object))
            .collect()
    }

    /// The objects for which `index` gives `value`; see [`Snapshot::by_index`].
    #[must_use]
    pub fn by_index(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        self.snapshot().by_index(index, value)
    }

    /// The objects of one namespace.
    ///
    /// The first call adds [`Index::namespace`] to the store, which others then need not pay for.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let index = Index::namespace();
        if !self.shared.published.load().has_index(&index) {
            // Should its name be taken, the answer takes longer and is the same.
            let _ = self.add_index(index.clone());
        }
        self.by_index(&index, namespace)
    }

    /// The objects whose labels match.
    #[must_use]
    pub fn select(&self, selector: &LabelSelector) -> Vec<Arc<K>> {
        self.shared.published.load().select(selector)
    }

    /// The version that the contents are the state of; see [`Snapshot::resource_version`].
    #[must_use]
    pub fn resource_version(&self) -> ResourceVersion {
        self.shared.published.load().resource_version.clone()
    }

    /// Adds an index, which covers what is there already. Adding one a second time changes nothing.
    ///
    /// It is in effect when this returns. Cost: one call of the function an object, during which
    /// the writer waits; readers do not.
    ///
    /// # Errors
    ///
    /// Another index has the name, or the function fails for an object that is there.
    pub fn add_index(&self, index: Index<K>) -> Result<(), AddIndexError> {
        let mut draft = self.shared.draft.lock();
        // Writes that are not published yet stay so: the index goes into what readers see too.
        let mut published = Contents::clone(&self.shared.published.load());
        published.add_index(index.clone())?;
        draft.add_index_as_in(&published, index)?;
        self.shared.publish(&published);
        Ok(())
    }

    /// Waits until the store holds version `wanted` or a newer one: until a write that was
    /// answered with that version can be read here (contract client-go B31).
    ///
    /// The write is not *seen* if the store has a selector that the object does not match, but
    /// its version is reached all the same, by a bookmark or by the next event.
    ///
    /// # Errors
    ///
    /// At once if the versions have no order; when the server's versions went backwards, since
    /// then `wanted` may never come; when the store's writer ended. See [`WaitError`].
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn wait_for(&self, wanted: &ResourceVersion) -> Result<(), WaitError> {
        let epoch = self.snapshot().epoch();
        self.wait_until(|snapshot| {
            let reached = snapshot.resource_version();
            if snapshot.epoch() != epoch {
                return Some(Err(WaitError::Rewound));
            }
            // Before the first list there is no version to compare with.
            if reached.is_unset() {
                return None;
            }
            match reached.order(wanted) {
                None => Some(Err(WaitError::Unordered)),
                Some(std::cmp::Ordering::Less) => None,
                Some(_) => Some(Ok(())),
            }
        })
        .await
        .unwrap_or(Err(WaitError::Closed))
    }

    /// Waits until `done` finds in a snapshot what it looks for, and answers with that; `None` if
    /// the store's writer ended first.
    ///
    /// `done` runs once now and once for every publication that is not overtaken by another.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn wait_until<T>(
        &self,
        mut done: impl FnMut(&Snapshot<K>) -> Option<T>,
    ) -> Option<T> {
        let mut changes = self.changes();
        loop {
            if let Some(found) = done(&self.snapshot()) {
                return Some(found);
            }
            if !changes.changed().await {
                return None;
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn publications(&self) -> u64 {
        self.shared.publications()
    }

    /// Tells of publications from now on.
    #[must_use]
    pub fn changes(&self) -> Changes {
        Changes(self.shared.publications.subscribe())
    }
}

/// Wakes when a store has changed; says nothing of what has.
#[derive(Clone)]
pub struct Changes(watch::Receiver<Publication>);

impl Changes {
    /// Waits for a publication that was not told of yet; several at once count as one. `false`
    /// when nothing more will come.
    ///
    /// # Cancel safety
    ///
    /// Yes: a publication that was not answered with is told the next time.
    pub async fn changed(&mut self) -> bool {
        !self.0.borrow().closed
            && self.0.changed().await.is_ok()
            && !self.0.borrow_and_update().closed
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

/// Why [`Store::wait_for`] gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The server promises no order between the two versions.
    #[error("the server gives these resource versions no order")]
    Unordered,
    /// The server's versions went backwards while waiting: read the level again.
    #[error("the server's resource versions went backwards")]
    Rewound,
    /// The store gets no more writes.
    #[error("the store is closed")]
    Closed,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let contents = self.shared.published.load();
        f.debug_struct("Store")
            .field("objects", &contents.objects.len())
            .field("resource_version", &contents.resource_version)
            .finish_non_exhaustive()
    }
}
