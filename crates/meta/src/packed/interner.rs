use std::collections::HashSet;
use std::sync::Arc;

use super::{PackedMeta, Shared};

/// Makes equal parts of many objects' [`PackedMeta`] one allocation.
///
/// The pods of a ReplicaSet, say, have labels, annotations and owners in common: after the first
/// of them each costs its own fields and a pointer. Stores of metadata have one.
///
/// What no object uses any more is let go of now and then, so that the cost of an interner stays
/// near that of the objects that are alive.
#[derive(Default)]
pub struct Interner {
    whole: HashSet<Arc<Shared>>,
    parts: HashSet<Arc<str>>,
    /// Objects until the next sweep.
    until_sweep: usize,
}

/// Sweeps are not worth their while more often than this many objects.
const SWEEP_AT_LEAST: usize = 1024;

impl Interner {
    /// Lets go of what `metadata` has in common with an object that came before.
    ///
    /// Cost: one hash of labels, annotations and owners; four for the first of its kind.
    pub fn intern(&mut self, metadata: &mut PackedMeta) {
        match self.until_sweep.checked_sub(1) {
            Some(left) => self.until_sweep = left,
            None => self.sweep(),
        }
        if let Some(there) = self.whole.get(&*metadata.shared) {
            metadata.shared = Arc::clone(there);
            return;
        }
        let Shared {
            labels,
            annotations,
            rest,
        } = &*metadata.shared;
        let shared = Arc::new(Shared {
            labels: self.part(labels),
            annotations: self.part(annotations),
            rest: self.part(rest),
        });
        self.whole.insert(Arc::clone(&shared));
        metadata.shared = shared;
    }

    fn part(&mut self, text: &Arc<str>) -> Arc<str> {
        if let Some(there) = self.parts.get(&**text) {
            return Arc::clone(there);
        }
        self.parts.insert(Arc::clone(text));
        Arc::clone(text)
    }

    /// Forgets what nobody else holds.
    fn sweep(&mut self) {
        self.whole.retain(|shared| Arc::strong_count(shared) > 1);
        self.parts.retain(|text| Arc::strong_count(text) > 1);
        self.whole.shrink_to(2 * self.whole.len());
        self.parts.shrink_to(2 * self.parts.len());
        self.until_sweep = SWEEP_AT_LEAST.max(2 * self.whole.len());
    }
}

impl std::fmt::Debug for Interner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interner")
            .field("kinds", &self.whole.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
impl Interner {
    pub(super) fn len(&self) -> (usize, usize) {
        (self.whole.len(), self.parts.len())
    }
}
