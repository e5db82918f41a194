use std::sync::Arc;
use std::time::Duration;

use evenkeel_pace::{Moment, TokenBucket};

use super::lru::Lru;
use super::{EventType, MEMORY, ObjectReference, Source, identity};
use crate::event::Occurrence;

/// How much one object may say (client-go E2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpamFilter {
    /// How many events at once, after a quiet time.
    pub burst: u32,
    /// The time in which one more may follow.
    pub refill: Duration,
    /// What shares the allowance.
    pub scope: SpamScope,
}

/// What shares an allowance of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SpamScope {
    /// All events of one type that one source has about one object: client-go's rule.
    #[default]
    Object,
    /// Those of one reason: so that a chatty reason does not silence an important one
    /// (client-go B30).
    ObjectAndReason,
}

impl Default for SpamFilter {
    fn default() -> Self {
        Self {
            burst: 25,
            refill: Duration::from_secs(300),
            scope: SpamScope::Object,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SpamKey {
    source: Arc<Source>,
    regarding: ObjectReference,
    event_type: EventType,
    reason: Option<String>,
}

#[derive(Debug)]
pub(super) struct Spam {
    filter: SpamFilter,
    buckets: Lru<SpamKey, TokenBucket>,
}

impl Spam {
    pub(super) fn new(filter: SpamFilter) -> Self {
        Self {
            filter,
            buckets: Lru::new(MEMORY),
        }
    }

    pub(super) fn admits(&mut self, occurrence: &Occurrence, now: Moment) -> bool {
        let by_reason = self.filter.scope == SpamScope::ObjectAndReason;
        let key = SpamKey {
            source: Arc::clone(&occurrence.source),
            regarding: identity(&occurrence.regarding),
            event_type: occurrence.event_type,
            reason: by_reason.then(|| occurrence.reason.clone()),
        };
        let SpamFilter { burst, refill, .. } = self.filter;
        self.buckets
            .get_or_insert_with(&key, || {
                TokenBucket::new(refill.as_secs_f64().recip(), burst)
            })
            .try_take(now)
    }
}
