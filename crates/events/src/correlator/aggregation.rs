use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_pace::Moment;

use super::lru::Lru;
use super::{EventKey, EventType, MEMORY, ObjectReference, Source, identity};
use crate::event::Occurrence;

/// What a combined event's message begins with.
pub(super) const PREFIX: &str = "(combined from similar events): ";
/// From this many different messages on, there is one event for all of them.
const SIMILAR: usize = 10;
/// A group that is quiet for this long begins anew.
const QUIET: Duration = Duration::from_secs(600);

/// What similar occurrences have in common: all but the message (client-go E3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Group {
    source: Arc<Source>,
    regarding: ObjectReference,
    event_type: EventType,
    reason: String,
}

/// Combines occurrences that differ in their messages only.
#[derive(Debug)]
pub(super) struct Aggregator {
    groups: Lru<Group, Messages>,
    hasher: RandomState,
}

/// The messages of a group.
#[derive(Debug)]
struct Messages {
    /// Hashes: the messages themselves may be long.
    distinct: HashSet<u64>,
    last: Moment,
}

impl Aggregator {
    pub(super) fn new() -> Self {
        Self {
            groups: Lru::new(MEMORY),
            hasher: RandomState::new(),
        }
    }

    /// Which event the occurrence belongs to, and whether that is the group's combined one.
    pub(super) fn aggregate(&mut self, occurrence: &Occurrence, now: Moment) -> (EventKey, bool) {
        let group = Group {
            source: Arc::clone(&occurrence.source),
            regarding: identity(&occurrence.regarding),
            event_type: occurrence.event_type,
            reason: occurrence.reason.clone(),
        };
        let message = self.hasher.hash_one(&occurrence.message);
        let messages = self.groups.get_or_insert_with(&group, || Messages {
            distinct: HashSet::new(),
            last: now,
        });
        if now - messages.last >= QUIET {
            messages.distinct.clear();
        }
        messages.last = now;
        messages.distinct.insert(message);
        let combined = messages.distinct.len() >= SIMILAR;
        if combined {
            // One short of the limit: the next message is combined too, and memory is bounded.
            messages.distinct.remove(&message);
        }
        let key = EventKey {
            group,
            field_path: if combined {
                String::new()
            } else {
                occurrence.regarding.field_path.clone()
            },
            message: (!combined).then(|| occurrence.message.clone()),
        };
        (key, combined)
    }
}
