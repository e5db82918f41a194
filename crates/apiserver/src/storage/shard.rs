//! The objects of one resource and their recent changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::window::Window;
use super::{
    Change, ChangeKind, Compacted, Draft, HistoryLimits, Key, KeyRange, Record, Revisions,
};

/// Storage of one resource.
#[derive(Debug)]
pub(crate) struct Shard {
    revisions: Arc<Revisions>,
    state: RwLock<State>,
    changed: Notify,
    /// Nothing will ever be stored here again.
    retired: AtomicBool,
}

#[derive(Debug)]
struct State {
    objects: BTreeMap<Key, Arc<Record>>,
    window: Window,
}

/// The state that a write was based on is not the current one any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the object changed in the meantime")]
pub(crate) struct Raced;

impl Shard {
    pub(crate) fn new(revisions: Arc<Revisions>, limits: HistoryLimits) -> Self {
        let born = revisions.current();
        Self {
            revisions,
            state: RwLock::new(State {
                objects: BTreeMap::new(),
                window: Window::new(limits, born),
            }),
            changed: Notify::new(),
            retired: AtomicBool::new(false),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<Record>> {
        self.state.read().objects.get(key).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.state.read().objects.len()
    }

    /// Stores `draft` if the object is still at revision `expected` (`None`: absent).
    pub(crate) fn put(
        &self,
        key: &Key,
        expected: Option<u64>,
        draft: Draft,
    ) -> Result<Arc<Record>, Raced> {
        let commit = self.revisions.begin();
        let mut state = self.state.write();
        let previous = state.expect(key, expected)?;
        let revision = commit.next();
        let record = Arc::new(draft.seal(revision));
        let kind = if previous.is_some() {
            ChangeKind::Modified
        } else {
            ChangeKind::Added
        };
        state.objects.insert(Arc::clone(key), Arc::clone(&record));
        state.window.push(Change {
            kind,
            key: Arc::clone(key),
            record: Arc::clone(&record),
            previous,
        });
        commit.publish(revision);
        drop(state);
        self.changed.notify_waiters();
        Ok(record)
    }

    /// Removes the object if it is still at revision `expected`. The answer is its last
    /// state under the revision of the deletion.
    pub(crate) fn remove(&self, key: &Key, expected: u64) -> Result<Arc<Record>, Raced> {
        let commit = self.revisions.begin();
        let mut state = self.state.write();
        let Some(previous) = state.expect(key, Some(expected))? else {
            return Err(Raced);
        };
        let revision = commit.next();
        let record = Arc::new(previous.restamp(revision));
        state.objects.remove(key);
        state.window.push(Change {
            kind: ChangeKind::Deleted,
            key: Arc::clone(key),
            record: Arc::clone(&record),
            previous: Some(previous),
        });
        commit.publish(revision);
        drop(state);
        self.changed.notify_waiters();
        Ok(record)
    }

    /// Visits the objects of `range` behind `after` in key order, as they are now or as
    /// they were at revision `at`, until `visit` returns false. Returns the revision.
    pub(crate) fn scan(
        &self,
        range: &KeyRange,
        after: Option<&str>,
        at: Option<u64>,
        mut visit: impl FnMut(&Key, &Arc<Record>) -> bool,
    ) -> Result<u64, Compacted> {
        let state = self.state.read();
        let revision = self.revisions.current();
        let bounds = range.bounds(after);
        let Some(at) = at.filter(|&at| at < revision) else {
            for (key, record) in state.objects.range::<Key, _>(bounds) {
                if !visit(key, record) {
                    break;
                }
            }
            return Ok(revision);
        };
        // Undo what came later, newest change first: the oldest has the last word.
        let mut objects: BTreeMap<Key, Arc<Record>> = state
            .objects
            .range::<Key, _>(bounds)
            .map(|(key, record)| (Arc::clone(key), Arc::clone(record)))
            .collect();
        for change in state.window.after(at)?.rev() {
            let behind = after.is_none_or(|after| &*change.key > after);
            if !behind || !range.contains(&change.key) {
                continue;
            }
            match &change.previous {
                Some(previous) => objects.insert(Arc::clone(&change.key), Arc::clone(previous)),
                None => objects.remove(&change.key),
            };
        }
        drop(state);
        for (key, record) in &objects {
            if !visit(key, record) {
                break;
            }
        }
        Ok(at)
    }

    /// Every object of `range` now.
    pub(crate) fn snapshot(&self, range: &KeyRange) -> Vec<(Key, Arc<Record>)> {
        let state = self.state.read();
        let objects = state.objects.range::<Key, _>(range.bounds(None));
        objects
            .map(|(key, record)| (Arc::clone(key), Arc::clone(record)))
            .collect()
    }

    /// At most `limit` changes behind `revision`, and the revision up to which they are
    /// complete.
    pub(crate) fn changes_after(
        &self,
        revision: u64,
        limit: usize,
    ) -> Result<(Vec<Arc<Change>>, u64), Compacted> {
        let state = self.state.read();
        let current = self.revisions.current();
        let changes: Vec<_> = state.window.after(revision)?.take(limit).cloned().collect();
        let complete = match changes.last() {
            Some(last) if changes.len() == limit => last.revision(),
            _ => current.max(revision),
        };
        Ok((changes, complete))
    }

    /// Whether a watch may start at `revision`.
    pub(crate) fn check(&self, revision: u64) -> Result<(), Compacted> {
        self.state.read().window.check(revision)
    }

    /// Completes at the next change. Enable it before reading the window.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Says that the resource is not served any more; its watches end.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// Forgets the changes up to `revision`; watchers further behind get 410.
    pub(crate) fn compact(&self, revision: u64) {
        self.state.write().window.compact(revision);
        self.changed.notify_waiters();
    }
}

impl State {
    fn expect(&self, key: &Key, expected: Option<u64>) -> Result<Option<Arc<Record>>, Raced> {
        let current = self.objects.get(key);
        if current.map(|record| record.revision()) != expected {
            return Err(Raced);
        }
        Ok(current.cloned())
    }
}
