//! The most urgent first, and nobody for ever last.

use std::num::NonZeroU32;

use super::chain::{Chain, End, Links};
use crate::{Id, Order};

/// The most urgent first; first come, first served among equals; and by ageing nobody waits for ever.
///
/// Of any `patience` keys in a row that are handed out, at least one is the key that has been ready longest, of
/// whatever priority. So a key that became ready with `n` others ahead of it in age is handed out within
/// `patience * (n + 1)` hand-outs, however many urgent keys arrive meanwhile. (Strict priorities let a
/// steady load of urgent keys starve the rest.) With all keys of one priority this is plain first come,
/// first served.
///
/// A key that is added again at a higher priority while it waits moves to the end of the higher class; it
/// is never lowered.
#[derive(Clone, Debug)]
pub struct Priority {
    patience: NonZeroU32,
    /// How many keys in a row were handed out past the oldest.
    passed_over: u32,
    /// The classes with members, least urgent first.
    classes: Vec<Class>,
    class_links: Links,
    /// All members by age.
    ages: Chain,
    age_links: Links,
    /// The class of each member, by id.
    priorities: Vec<i32>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    priority: i32,
    members: Chain,
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
            classes: Vec::new(),
            class_links: Links::default(),
            ages: Chain::EMPTY,
            age_links: Links::default(),
            priorities: Vec::new(),
        }
    }

    fn enter_class(&mut self, id: Id, priority: i32, end: End) {
        if id.index() >= self.priorities.len() {
            self.priorities.resize(id.index() + 1, 0);
        }
        self.priorities[id.index()] = priority;
        let at = self.place(priority).unwrap_or_else(|at| {
            self.classes.insert(
                at,
                Class {
                    priority,
                    members: Chain::EMPTY,
                },
            );
            at
        });
        self.classes[at]
            .members
            .push(&mut self.class_links, id, end);
    }

    fn leave_class(&mut self, id: Id) {
        let Ok(at) = self.place(self.priorities[id.index()]) else {
            return;
        };
        let members = &mut self.classes[at].members;
        members.remove(&mut self.class_links, id);
        if members.is_empty() {
            self.classes.remove(at);
        }
    }

    fn place(&self, priority: i32) -> Result<usize, usize> {
        // Few classes, and the most urgent is the most frequent: look from the end.
        for (at, class) in self.classes.iter().enumerate().rev() {
            if class.priority == priority {
                return Ok(at);
            }
            if class.priority < priority {
                return Err(at + 1);
            }
        }
        Err(0)
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::new(Self::DEFAULT_PATIENCE)
    }
}

impl<K> Order<K> for Priority {
    fn push(&mut self, id: Id, _key: &K, priority: i32) {
        self.enter_class(id, priority, End::Last);
        self.ages.push(&mut self.age_links, id, End::Last);
    }

    fn push_first(&mut self, id: Id, _key: &K, priority: i32) {
        self.enter_class(id, priority, End::First);
        self.ages.push(&mut self.age_links, id, End::First);
    }

    fn raise(&mut self, id: Id, _key: &K, priority: i32) {
        self.leave_class(id);
        self.enter_class(id, priority, End::Last);
    }

    fn pop(&mut self) -> Option<Id> {
        let oldest = self.ages.first()?;
        let urgent = self.classes.last()?.members.first()?;
        let its_turn = self.passed_over + 1 >= self.patience.get();
        let id = if its_turn { oldest } else { urgent };
        self.passed_over = if id == oldest {
            0
        } else {
            self.passed_over + 1
        };
        self.leave_class(id);
        self.ages.remove(&mut self.age_links, id);
        Some(id)
    }

    fn shrink(&mut self) {
        self.class_links.shrink();
        self.age_links.shrink();
        if self.priorities.len() > 1024 {
            self.priorities = Vec::new();
        }
    }
}
