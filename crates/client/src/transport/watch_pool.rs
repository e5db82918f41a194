use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Hands out connections so that no more than a bound of streams share one.
///
/// `C` is whatever holds one HTTP/2 connection. A connection that is no longer used by any
/// stream stays for the next one.
pub(super) struct WatchPool<C> {
    slots: Mutex<Vec<Slot<C>>>,
    streams_per_connection: usize,
}

struct Slot<C> {
    connection: C,
    streams: Arc<AtomicUsize>,
}

/// The place of one stream; given back when it is dropped.
pub(super) struct Place(Arc<AtomicUsize>);

impl<C: Clone> WatchPool<C> {
    pub(super) fn new(streams_per_connection: usize) -> Self {
        Self {
            slots: Mutex::new(Vec::new()),
            streams_per_connection: streams_per_connection.max(1),
        }
    }

    /// The first connection with room, or a new one.
    pub(super) fn take<E>(&self, open: impl FnOnce() -> Result<C, E>) -> Result<(C, Place), E> {
        let mut slots = self.slots.lock();
        for slot in slots.iter() {
            // Only holders of the lock add streams; others may leave meanwhile.
            if slot.streams.load(Ordering::Relaxed) < self.streams_per_connection {
                return Ok(slot.take());
            }
        }
        let slot = Slot {
            connection: open()?,
            streams: Arc::new(AtomicUsize::new(0)),
        };
        let taken = slot.take();
        slots.push(slot);
        Ok(taken)
    }
}

impl<C: Clone> Slot<C> {
    fn take(&self) -> (C, Place) {
        self.streams.fetch_add(1, Ordering::Relaxed);
        (self.connection.clone(), Place(Arc::clone(&self.streams)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_share_a_connection_up_to_the_bound_and_reuse_freed_places() {
        let pool = WatchPool::new(2);
        let opened = AtomicUsize::new(0);
        let take = || {
            let open = || Ok::<_, ()>(opened.fetch_add(1, Ordering::Relaxed));
            pool.take(open).unwrap()
        };
        let (a, place_a) = take();
        let (b, _place_b) = take();
        let (c, _place_c) = take();
        assert_eq!((a, b, c), (0, 0, 1));
        drop(place_a);
        let (d, _place_d) = take();
        let (e, _place_e) = take();
        let (f, _place_f) = take();
        assert_eq!((d, e, f), (0, 1, 2));
    }
}
