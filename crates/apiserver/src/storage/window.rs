//! The bounded window of recent changes of one resource.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Key, Record};

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

/// One committed change. `record` is the new state, or the last one under the
/// revision of its deletion.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) kind: ChangeKind,
    pub(crate) key: Key,
    pub(crate) record: Arc<Record>,
    pub(crate) previous: Option<Arc<Record>>,
}

impl Change {
    pub(crate) fn revision(&self) -> u64 {
        self.record.revision()
    }
}

/// The revision asked for is older than what the window remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {requested} ({oldest})")]
pub(crate) struct Compacted {
    pub(crate) requested: u64,
    pub(crate) oldest: u64,
}

/// How much history each resource keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistoryLimits {
    pub(crate) changes: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Window {
    changes: VecDeque<Arc<Change>>,
    bytes: usize,
    /// Everything up to this revision is forgotten.
    compacted: u64,
    limits: HistoryLimits,
}

impl Window {
    pub(crate) fn new(limits: HistoryLimits, compacted: u64) -> Self {
        Self {
            changes: VecDeque::new(),
            bytes: 0,
            compacted,
            limits,
        }
    }

    pub(crate) fn push(&mut self, change: Change) {
        self.bytes += change.record.data().len();
        self.changes.push_back(Arc::new(change));
        while self.changes.len() > self.limits.changes || self.bytes > self.limits.bytes {
            let Some(oldest) = self.changes.pop_front() else {
                break;
            };
            self.bytes -= oldest.record.data().len();
            self.compacted = oldest.revision();
        }
    }

    /// Forgets every change up to `revision`.
    pub(crate) fn compact(&mut self, revision: u64) {
        let kept = self
            .changes
            .partition_point(|change| change.revision() <= revision);
        for change in self.changes.drain(..kept) {
            self.bytes -= change.record.data().len();
        }
        self.compacted = self.compacted.max(revision);
    }

    pub(crate) fn check(&self, revision: u64) -> Result<(), Compacted> {
        if revision < self.compacted {
            return Err(Compacted {
                requested: revision,
                oldest: self.compacted,
            });
        }
        Ok(())
    }

    /// The changes behind `revision`, oldest first.
    pub(crate) fn after(
        &self,
        revision: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Arc<Change>>, Compacted> {
        self.check(revision)?;
        let start = self
            .changes
            .partition_point(|change| change.revision() <= revision);
        Ok(self.changes.range(start..))
    }
}
