//! What becomes of an occurrence: a new event, a higher count, or nothing.

mod aggregation;
pub(crate) mod lru;
pub(crate) mod name;
mod spam;

use std::sync::Arc;

use evenkeel_meta::Timestamp;
use evenkeel_pace::Moment;

pub use self::spam::{SpamFilter, SpamScope};

use self::aggregation::{Aggregator, Group};
use self::lru::Lru;
use self::name::Names;
use self::spam::Spam;
use crate::ObjectReference;
use crate::event::{Event, EventType, Occurrence, Source};

/// How many of each thing the correlator remembers; the least recently used go first.
pub(crate) const MEMORY: usize = 4096;

/// Puts similar occurrences together (client-go E2-E4). Sans-IO.
#[derive(Debug)]
pub struct Correlator {
    aggregator: Aggregator,
    counts: Lru<Arc<EventKey>, Counted>,
    spam: Spam,
    names: Names,
}

/// Which occurrences are one event.
///
/// Those of the same key are the same thing happening again; an event that stands for
/// several messages has none of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventKey {
    group: Group,
    field_path: String,
    /// `None` for the combined event.
    message: Option<String>,
}

/// What was written, or is about to be, under a key.
#[derive(Debug)]
struct Counted {
    name: String,
    first: Option<Timestamp>,
    count: i32,
}

/// What to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlated {
    /// What it is filed under: a later one with the same key stands for this one too.
    pub key: Arc<EventKey>,
    /// The event with its count so far. Above 1, the object should be there already.
    pub event: Event,
}

impl Correlator {
    /// A correlator that remembers nothing yet.
    #[must_use]
    pub fn new(spam: SpamFilter) -> Self {
        Self {
            aggregator: Aggregator::new(),
            counts: Lru::new(MEMORY),
            spam: Spam::new(spam),
            names: Names::default(),
        }
    }

    /// What to write for an occurrence; `None` if its object has said enough for now.
    pub fn correlate(
        &mut self,
        occurrence: &Occurrence,
        now: Moment,
        wall: Timestamp,
    ) -> Option<Correlated> {
        let (key, combined) = self.aggregator.aggregate(occurrence, now);
        let name = self.names.next(&occurrence.regarding.name, wall);
        let mut event = Event::new(occurrence, name, wall);
        if combined {
            event.message.insert_str(0, aggregation::PREFIX);
            event.reporting_component.clear();
        }
        let key = Arc::new(key);
        self.count(&key, &mut event);
        // Counted even if it is not written: the next one that is tells the true number.
        self.spam
            .admits(occurrence, now)
            .then_some(Correlated { key, event })
    }

    fn count(&mut self, key: &Arc<EventKey>, event: &mut Event) {
        let counted = self.counts.get_or_insert_with(key, || Counted {
            name: event.metadata.name.clone(),
            first: event.first_timestamp,
            count: 0,
        });
        counted.count = counted.count.saturating_add(1);
        event.count = counted.count;
        event.first_timestamp = counted.first;
        event.metadata.name.clone_from(&counted.name);
    }
}

/// The object as the correlator tells objects apart: not by the state that it is in.
pub(crate) fn identity(regarding: &ObjectReference) -> ObjectReference {
    ObjectReference {
        resource_version: String::new(),
        field_path: String::new(),
        ..regarding.clone()
    }
}

#[cfg(test)]
mod tests;
