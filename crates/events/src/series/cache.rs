use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{MicroTime, Timestamp};
use evenkeel_pace::Moment;

use super::event::{Series, SeriesEvent, SeriesOccurrence};
use crate::correlator::lru::Lru;
use crate::correlator::name::Names;
use crate::correlator::{MEMORY, identity};
use crate::{EventType, ObjectReference};

/// How often the counts of all series are written.
const REFRESH: Duration = Duration::from_secs(30 * 60);
/// What was quiet for this long is over; looked for as often.
const FINISH: Duration = Duration::from_secs(6 * 60);

/// Which occurrences are one series (client-go E6). Their notes may differ; the first is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SeriesKey {
    event_type: EventType,
    action: String,
    reason: String,
    controller: Arc<str>,
    instance: Arc<str>,
    regarding: ObjectReference,
    related: Option<ObjectReference>,
}

/// Makes series of what happens again and again (client-go E6). Sans-IO.
///
/// The first occurrence is an event; the second makes it a series; further ones are counted
/// here, and the count is written every 30 minutes, and when nothing came for 6 minutes.
#[derive(Debug)]
pub struct SeriesCache {
    running: Lru<SeriesKey, Running>,
    names: Names,
    refresh_at: Moment,
    finish_at: Moment,
}

#[derive(Debug)]
struct Running {
    event: SeriesEvent,
    last: Moment,
    /// Whether occurrences were counted that are not written.
    is_ahead: bool,
}

impl SeriesCache {
    /// A cache of no series.
    #[must_use]
    pub fn new(now: Moment) -> Self {
        Self {
            running: Lru::new(MEMORY),
            names: Names::default(),
            refresh_at: now + REFRESH,
            finish_at: now + FINISH,
        }
    }

    /// What to write for an occurrence: at most the event, and another's series that had to make
    /// room. Events with a series should be there already.
    pub fn report(
        &mut self,
        occurrence: &SeriesOccurrence,
        now: Moment,
        wall: Timestamp,
    ) -> Vec<SeriesEvent> {
        let key = SeriesKey {
            event_type: occurrence.event_type,
            action: occurrence.action.clone(),
            reason: occurrence.reason.clone(),
            controller: Arc::clone(&occurrence.controller),
            instance: Arc::clone(&occurrence.instance),
            regarding: identity(&occurrence.regarding),
            related: occurrence.related.as_ref().map(identity),
        };
        let Some(running) = self.running.get_mut(&key) else {
            let name = self.names.next(&occurrence.regarding.name, wall);
            let event = SeriesEvent::new(occurrence, name, wall);
            let first = Running {
                event: event.clone(),
                last: now,
                is_ahead: false,
            };
            let forgotten = self.running.insert(key, first);
            return forgotten
                .and_then(Running::finish)
                .into_iter()
                .chain([event])
                .collect();
        };
        running.last = now;
        let count = running.event.series.map_or(1, |series| series.count);
        running.event.series = Some(Series {
            count: count.saturating_add(1),
            last_observed_time: MicroTime(wall),
        });
        running.is_ahead = count > 1;
        if running.is_ahead {
            Vec::new()
        } else {
            vec![running.event.clone()]
        }
    }

    /// When [`tick`](Self::tick) is due.
    #[must_use]
    pub fn wake_at(&self) -> Moment {
        self.refresh_at.min(self.finish_at)
    }

    /// What to write now that time has passed.
    pub fn tick(&mut self, now: Moment) -> Vec<SeriesEvent> {
        let mut writes = Vec::new();
        if now >= self.finish_at {
            self.finish_at = now + FINISH;
            let over = self
                .running
                .remove_if(|running| now - running.last > FINISH);
            writes.extend(over.into_iter().filter_map(Running::finish));
        }
        if now >= self.refresh_at {
            self.refresh_at = now + REFRESH;
            let series = self.running.values().map(|running| &running.event);
            writes.extend(series.filter(|event| event.series.is_some()).cloned());
        }
        writes
    }

    /// What to write at the end: counts that are not written yet.
    pub fn close(&mut self) -> Vec<SeriesEvent> {
        let all = self.running.remove_if(|_| true);
        all.into_iter()
            .filter(|running| running.is_ahead)
            .filter_map(Running::finish)
            .collect()
    }
}

impl Running {
    /// A series' last count; an event that happened once is written already.
    fn finish(self) -> Option<SeriesEvent> {
        self.event.series.is_some().then_some(self.event)
    }
}

#[cfg(test)]
mod tests;
