//! Sends events.

#![expect(
    clippy::disallowed_methods,
    reason = "it keeps real time, on a thread of its own"
)]

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use bytes::Bytes;

use crate::state::State;

/// Flat out, events leave in frames of about this size: as they do when a server has more of them than it
/// can send.
const FRAME: usize = 64 << 10;
/// How long a client may take to have its pods again.
const PATIENCE: Duration = Duration::from_secs(120);

/// Sends one event a frame, `rate` a second.
pub(crate) fn paced(state: &State, rate: u32, count: u32) {
    let start = Instant::now();
    for number in 0..count {
        let due = start + Duration::from_secs(1) * number / rate;
        if let Some(wait) = due.checked_duration_since(Instant::now()) {
            thread::sleep(wait);
        }
        let mut event = Vec::with_capacity(8 << 10);
        state.change(now(), &mut event);
        state.send(&Bytes::from(event));
    }
}

pub(crate) fn flat(state: &State, count: u32) {
    let mut frame = Vec::with_capacity(FRAME + (16 << 10));
    for number in 1..=count {
        // Its versions are times too: nobody may be told of one that is before another.
        state.change(now(), &mut frame);
        if frame.len() >= FRAME || number == count {
            let next = Vec::with_capacity(frame.capacity());
            state.send(&Bytes::from(std::mem::replace(&mut frame, next)));
        }
    }
}

pub(crate) fn expire(state: &State) -> anyhow::Result<()> {
    let before = state.times_live();
    state.send(&Bytes::from(state.encoding.expired()));
    state.end_watches();
    let start = Instant::now();
    while state.times_live() == before {
        ensure!(start.elapsed() < PATIENCE, "nobody asked again");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_micros() as u64
}
