//! The most urgent first, and nobody for ever last.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use super::KEPT;
use super::chain::End;
use super::classes::Classes;
use crate::{Id, Order};

/// The most urgent first; first come, first served among equals; and by ageing nobody waits for ever.
///
/// Of any `patience` keys in a row that are handed out, at least one is the key that has been ready longest, of
/// whatever priority. So a key that became ready with `n` others ahead of it in age is handed out within
/// `patience * (n + 1)` hand-outs, however many urgent keys arrive meanwhile. (Strict priorities let a
/// steady load of urgent keys starve the rest.) With all keys of one priority this is plain first come,
/// first served.
///
/// It is meant for a handful of different priorities; with thousands of them in line at a time, each that comes or goes
/// moves the more urgent ones in memory.
///
/// A key that is added again at a higher priority while it waits moves to the end of the higher class; it
/// is never lowered.
#[derive(Clone, Debug)]
pub struct Priority {
    patience: NonZeroU32,
    /// How many keys in a row were handed out past the oldest.
    passed_over: u32,
    /// Who waits, as long as all have one priority: then the order of ages is the order of the line.
    line: VecDeque<Id>,
    /// The priority of those in line.
    level: i32,
    /// Who waits, from when there is a second priority until nobody waits.
    classes: Classes,
    is_mixed: bool,
}

impl Priority {
    /// One in ten goes to whoever has waited longest.
    pub const DEFAULT_PATIENCE: NonZeroU32 = match NonZeroU32::new(10) {
        Some(patience) => patience,
        None => NonZeroU32::MIN,
    };

    /// Of any `patience` keys in a row, one is the key that has been ready longest. 1 means first come, first
    /// served; [`NonZeroU32::MAX`] means strict priorities.
    #[must_use]
    pub fn new(patience: NonZeroU32) -> Self {
        Self {
            patience,
            passed_over: 0,
            line: VecDeque::new(),
            level: 0,
            classes: Classes::default(),
            is_mixed: false,
        }
    }

    fn enter(&mut self, id: Id, priority: i32, end: End) {
        if self.is_mixed {
            return self.classes.enter(id, priority, end);
        }
        if self.line.is_empty() {
            self.level = priority;
        } else if self.level != priority {
            self.mix();
            return self.classes.enter(id, priority, end);
        }
        match end {
            End::First => self.line.push_front(id),
            End::Last => self.line.push_back(id),
        }
    }

    fn mix(&mut self) {
        for id in self.line.drain(..) {
            self.classes.enter(id, self.level, End::Last);
        }
        self.is_mixed = true;
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::new(Self::DEFAULT_PATIENCE)
    }
}

impl<K> Order<K> for Priority {
    fn push(&mut self, id: Id, _key: &K, priority: i32) {
        self.enter(id, priority, End::Last);
    }

    fn push_first(&mut self, id: Id, _key: &K, priority: i32) {
        self.enter(id, priority, End::First);
    }

    fn raise(&mut self, id: Id, _key: &K, priority: i32) {
        if !self.is_mixed {
            self.mix();
        }
        self.classes.move_to(id, priority);
    }

    fn pop(&mut self) -> Option<Id> {
        if !self.is_mixed {
            self.passed_over = 0;
            return self.line.pop_front();
        }
        let (oldest, urgent) = (self.classes.oldest()?, self.classes.most_urgent()?);
        let its_turn = self.passed_over + 1 >= self.patience.get();
        let id = if its_turn { oldest } else { urgent };
        self.passed_over = if id == oldest {
            0
        } else {
            self.passed_over + 1
        };
        self.classes.leave(id);
        self.is_mixed = !self.classes.is_empty();
        Some(id)
    }

    fn shrink(&mut self) {
        self.line.shrink_to(KEPT);
        self.classes.shrink();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_many_is_given_back() {
        for priorities in [1, 2] {
            let mut order = Priority::default();
            for id in 0..10_000 {
                order.push(Id(id), &id, (id % priorities) as i32);
            }
            while Order::<u32>::pop(&mut order).is_some() {}
            assert!(!order.is_mixed, "with nobody in, it is one line again");
            Order::<u32>::shrink(&mut order);
            assert!(order.line.capacity() <= KEPT);
            assert_eq!(order.classes.ids_known(), 0);
        }
    }
}
