use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_observe::{Counter, Descriptor, Metrics};

static EVENTS: Descriptor = Descriptor::counter(
    "evenkeel_events_total",
    "Events reported, by what became of them: written, filtered, dropped or failed.",
    &["result"],
);

/// What became of the reports.
#[derive(Debug)]
pub(crate) struct Tally {
    written: Count,
    filtered: Count,
    dropped: Count,
    failed: Count,
}

#[derive(Debug)]
struct Count {
    value: AtomicU64,
    counter: Counter,
}

/// Numbers since the recorder was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Written to the server. Less than what was reported, since one write may stand for several.
    pub written: u64,
    /// Not written because their object had said enough.
    pub filtered: u64,
    /// Thrown away because the queue was full, or the recorder was shut down.
    pub dropped: u64,
    /// Refused by the server, or tried in vain.
    pub failed: u64,
}

impl Tally {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        let count = |result| Count {
            value: AtomicU64::new(0),
            counter: metrics.counter(&EVENTS, &[result]),
        };
        Self {
            written: count("written"),
            filtered: count("filtered"),
            dropped: count("dropped"),
            failed: count("failed"),
        }
    }

    pub(crate) fn written(&self) {
        self.written.add(1);
    }

    pub(crate) fn filtered(&self) {
        self.filtered.add(1);
    }

    pub(crate) fn drop_one(&self) {
        let dropped = self.dropped.add(1) + 1;
        // One line for each power of two: a flood must not become one in the log.
        if dropped.is_power_of_two() {
            tracing::warn!(dropped, "events dropped: the queue is full or closed");
        }
    }

    pub(crate) fn failed(&self) {
        self.failed.add(1);
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            written: self.written.get(),
            filtered: self.filtered.get(),
            dropped: self.dropped.get(),
            failed: self.failed.get(),
        }
    }
}

impl Count {
    fn add(&self, count: u64) -> u64 {
        self.counter.add(count);
        self.value.fetch_add(count, Ordering::Relaxed)
    }

    fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}
