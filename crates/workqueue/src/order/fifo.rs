//! First come, first served.

use std::collections::VecDeque;

use super::KEPT;
use crate::{Id, Order};

/// Strictly first come, first served. Priorities are ignored.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    line: VecDeque<Id>,
}

impl Fifo {
    /// An empty line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<K> Order<K> for Fifo {
    fn push(&mut self, id: Id, _key: &K, _priority: i32) {
        self.line.push_back(id);
    }

    fn push_first(&mut self, id: Id, _key: &K, _priority: i32) {
        self.line.push_front(id);
    }

    fn raise(&mut self, _id: Id, _key: &K, _priority: i32) {}

    fn pop(&mut self) -> Option<Id> {
        self.line.pop_front()
    }

    fn shrink(&mut self) {
        self.line.shrink_to(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_many_is_given_back() {
        let mut order = Fifo::new();
        (0..10_000).for_each(|id| order.push(Id(id), &id, 0));
        while Order::<u32>::pop(&mut order).is_some() {}
        assert!(order.line.capacity() >= 10_000);
        Order::<u32>::shrink(&mut order);
        assert!(order.line.capacity() <= KEPT);
    }
}
