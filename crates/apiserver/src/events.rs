//! Events live for an hour, as on a real server.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::server::State;
use crate::storage::{KeyRange, Shard};

const LIFETIME_SECONDS: i64 = 3_600;
const SWEEP_EVERY_SECONDS: i64 = 60;

/// When expired events are looked for next, in seconds since the epoch.
#[derive(Debug, Default)]
pub(crate) struct Sweep(AtomicI64);

/// Removes expired events, now and then: nothing runs in the background, so those who
/// write events pay for it.
pub(crate) fn expire(state: &State, events: &Shard) {
    let now = state.clock.now().as_second();
    let due = state.sweep.0.load(Ordering::Relaxed);
    let next = now + SWEEP_EVERY_SECONDS;
    let taken = state
        .sweep
        .0
        .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed);
    if now < due || taken.is_err() {
        return;
    }
    for (key, record) in events.snapshot(&KeyRange::All) {
        let created = record
            .meta()
            .creation_timestamp
            .map_or(now, evenkeel_meta::Timestamp::as_second);
        // An event that is counted up meanwhile is not old: it stays until the next sweep.
        if now - created > LIFETIME_SECONDS {
            let _ = events.remove(&key, record.revision());
        }
    }
}
