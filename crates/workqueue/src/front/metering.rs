//! The metrics of a queue, under the names that client-go gave them.

use std::time::Duration;

use evenkeel_observe::{Descriptor, Histogram, Metrics};
use evenkeel_pace::Moment;

use crate::Id;

const NAME: &[&str] = &["name"];
const BUCKETS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];

pub(super) static DEPTH: Descriptor =
    Descriptor::gauge("workqueue_depth", "Current depth of workqueue", NAME);
pub(super) static ADDS: Descriptor = Descriptor::counter(
    "workqueue_adds_total",
    "Total number of adds handled by workqueue",
    NAME,
);
pub(super) static RETRIES: Descriptor = Descriptor::counter(
    "workqueue_retries_total",
    "Total number of retries handled by workqueue",
    NAME,
);
pub(super) static UNFINISHED: Descriptor = Descriptor::gauge(
    "workqueue_unfinished_work_seconds",
    "How many seconds the work in progress has taken so far, over all workers",
    NAME,
);
pub(super) static LONGEST_RUNNING: Descriptor = Descriptor::gauge(
    "workqueue_longest_running_processor_seconds",
    "How many seconds the longest running worker has been at its key",
    NAME,
);
static QUEUE_DURATION: Descriptor = Descriptor::histogram(
    "workqueue_queue_duration_seconds",
    "How long in seconds a key stays in workqueue before being requested",
    NAME,
    BUCKETS,
);
static WORK_DURATION: Descriptor = Descriptor::histogram(
    "workqueue_work_duration_seconds",
    "How long in seconds processing a key from workqueue takes",
    NAME,
    BUCKETS,
);

/// The distributions, observed outside the queue's lock. Without a sink they do nothing.
#[derive(Debug, Default)]
pub(super) struct Durations {
    /// How long keys waited.
    pub(super) queue: Histogram,
    /// How long workers took.
    pub(super) work: Histogram,
}

impl Durations {
    pub(super) fn new(metrics: &Metrics, name: &str) -> Self {
        Self {
            queue: metrics.histogram(&QUEUE_DURATION, &[name]),
            work: metrics.histogram(&WORK_DURATION, &[name]),
        }
    }
}

/// Since when each key waits and each worker works. Only a queue with a name and a sink has one: the others
/// need not read the clock.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Since when each dirty key is dirty, by id.
    marked: Vec<Moment>,
    /// Since when each worker is at its key.
    running: Vec<Option<Moment>>,
    free: Vec<usize>,
}

/// A worker's place in the meter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run(usize);

impl Meter {
    /// Above this, memory is given back when no key is known.
    const KEPT: usize = 1024;

    /// A key has new work since `now`.
    pub(super) fn mark(&mut self, id: Id, now: Moment) {
        if id.index() >= self.marked.len() {
            self.marked.resize(id.index() + 1, Moment::ORIGIN);
        }
        self.marked[id.index()] = now;
    }

    /// The queue knows no key any more: memory may be given back.
    pub(super) fn shrink(&mut self) {
        if self.marked.len() > Self::KEPT {
            self.marked = Vec::new();
        }
    }

    /// A worker got a key; says how long that waited.
    pub(super) fn start(&mut self, id: Id, now: Moment) -> (Run, Duration) {
        let waited = self
            .marked
            .get(id.index())
            .map_or(Duration::ZERO, |marked| now - *marked);
        let run = self.free.pop().unwrap_or_else(|| {
            self.running.push(None);
            self.running.len() - 1
        });
        self.running[run] = Some(now);
        (Run(run), waited)
    }

    /// A worker gave its key back; says how long it had it.
    pub(super) fn finish(&mut self, Run(run): Run, now: Moment) -> Duration {
        self.free.push(run);
        self.running[run]
            .take()
            .map_or(Duration::ZERO, |started| now - started)
    }

    /// How long all workers together have been at their keys.
    pub(super) fn unfinished(&self, now: Moment) -> Duration {
        self.ages(now).sum()
    }

    /// How long the slowest worker has been at its key.
    pub(super) fn longest_running(&self, now: Moment) -> Duration {
        self.ages(now).max().unwrap_or_default()
    }

    fn ages(&self, now: Moment) -> impl Iterator<Item = Duration> {
        self.running
            .iter()
            .flatten()
            .map(move |started| now - *started)
    }
}
