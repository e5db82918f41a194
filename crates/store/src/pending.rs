//! What a handler has not been told yet, one entry an object.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;

use evenkeel_meta::{MetaView, Object, ObjectKey};
use hashbrown::HashMap;

use crate::event::{Deletion, Event};

/// A queue of events that grows with the number of objects, not with that of events: what
/// happens to an object that is waiting already is folded into its entry (contract B9).
///
/// Folding keeps the first old state and the last new one. An addition and the deletion that
/// follows it cancel out. An object that was replaced by another of its name keeps both: its
/// deletion, then the other's addition (B4, I3 ours).
pub(crate) struct Pending<K> {
    /// In the order in which the objects were first heard of.
    entries: BTreeMap<u64, Entry<K>>,
    places: HashMap<ObjectKey, u64, foldhash::fast::RandomState>,
    next_place: u64,
    /// The second event of an entry that had two.
    ready: VecDeque<(ObjectKey, Event<K>)>,
}

struct Entry<K> {
    key: ObjectKey,
    /// The state that the handler was told last.
    told: Option<Arc<K>>,
    /// How the object of `told` ended, or one that the handler was never told of.
    ended: Option<Deletion<K>>,
    /// The state to tell.
    now: Option<Arc<K>>,
    initial: bool,
}

impl<K> Default for Pending<K> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            places: HashMap::default(),
            next_place: 0,
            ready: VecDeque::new(),
        }
    }
}

impl<K> Pending<K> {
    /// How many objects are waiting.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() + usize::from(!self.ready.is_empty())
    }

    /// The place in the queue that the next new object gets. Everything that was pushed before
    /// now has been taken once no place below is left.
    pub(crate) fn end(&self) -> u64 {
        self.next_place
    }

    /// Whether everything that came before the place `end` was taken.
    pub(crate) fn is_past(&self, end: u64) -> bool {
        self.ready.is_empty()
            && self
                .entries
                .first_key_value()
                .is_none_or(|(place, _)| *place >= end)
    }

    pub(crate) fn push(&mut self, key: &ObjectKey, event: Event<K>) {
        let place = match self.places.get(key) {
            Some(place) => *place,
            None => self.take_place(key, &event),
        };
        if let Some(entry) = self.entries.get_mut(&place) {
            entry.fold(event);
            if entry.is_nothing() {
                self.entries.remove(&place);
                self.places.remove(key);
            }
        }
    }

    fn take_place(&mut self, key: &ObjectKey, event: &Event<K>) -> u64 {
        let place = self.next_place;
        self.next_place += 1;
        let told = match event {
            Event::Added { .. } => None,
            Event::Updated { old, .. } => Some(Arc::clone(old)),
            Event::Deleted(deletion) => deletion.last_known().cloned(),
        };
        let entry = Entry {
            key: key.clone(),
            told,
            ended: None,
            now: None,
            initial: false,
        };
        self.entries.insert(place, entry);
        self.places.insert(key.clone(), place);
        place
    }
}

impl<K: Object> Pending<K> {
    pub(crate) fn pop(&mut self) -> Option<(ObjectKey, Event<K>)> {
        if let Some(event) = self.ready.pop_front() {
            return Some(event);
        }
        let (_, entry) = self.entries.pop_first()?;
        self.places.remove(&entry.key);
        if self.places.is_empty() {
            // A burst is over: give its memory back.
            self.places = HashMap::default();
        }
        self.unfold(entry)
    }

    fn unfold(&mut self, entry: Entry<K>) -> Option<(ObjectKey, Event<K>)> {
        let Entry {
            key,
            told,
            ended,
            now,
            initial,
        } = entry;
        let added = |object| Event::Added { object, initial };
        match (ended, told, now) {
            (Some(deletion), _, now) => {
                if let Some(object) = now {
                    self.ready.push_back((key.clone(), added(object)));
                }
                Some((key, Event::Deleted(deletion)))
            }
            (None, Some(old), Some(new)) if is_same_object(&*old, &*new) => {
                Some((key, Event::Updated { old, new }))
            }
            (None, Some(old), Some(new)) => {
                self.ready.push_back((key.clone(), added(new)));
                let last_known = Some(old);
                Some((key, Event::Deleted(Deletion::Unknown { last_known })))
            }
            (None, None, Some(object)) => Some((key, added(object))),
            // Entries of which nothing is left to tell were removed as they came to nothing.
            (None, _, None) => None,
        }
    }
}

impl<K> Entry<K> {
    fn fold(&mut self, event: Event<K>) {
        match event {
            Event::Added { object, initial } => {
                self.now = Some(object);
                self.initial = initial;
            }
            Event::Updated { new, .. } => self.now = Some(new),
            Event::Deleted(deletion) => {
                let was_told = self.told.is_some() || self.now.is_none();
                // Of two deletions the first is of the object that the handler knows.
                if was_told && self.ended.is_none() {
                    self.ended = Some(deletion);
                }
                self.now = None;
            }
        }
    }

    fn is_nothing(&self) -> bool {
        self.ended.is_none() && self.now.is_none()
    }
}

/// Whether two states are of one object, and not of one that took the other's name.
pub(crate) fn is_same_object<K: Object>(a: &K, b: &K) -> bool {
    match (a.metadata().uid(), b.metadata().uid()) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}
