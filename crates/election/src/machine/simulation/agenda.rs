use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens when; of two at once, the one that was put first. The events lie still while
/// the heap is sorted.
pub(super) struct Agenda<E> {
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    events: Vec<Option<E>>,
    free: Vec<usize>,
    sequence: u64,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            sequence: 0,
        }
    }
}

impl<E> Agenda<E> {
    pub(super) fn put(&mut self, at: u64, event: E) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[slot] = Some(event);
        self.sequence += 1;
        self.heap.push(Reverse((at, self.sequence, slot)));
    }

    pub(super) fn next(&mut self) -> Option<(u64, E)> {
        let Reverse((at, _, slot)) = self.heap.pop()?;
        self.free.push(slot);
        self.events[slot].take().map(|event| (at, event))
    }
}
