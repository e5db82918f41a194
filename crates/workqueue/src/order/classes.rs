//! Members of several priorities, by priority and by age.

use super::KEPT;
use super::chain::{Chain, End, Links};
use crate::Id;

/// How many classes are looked at one by one before the others are halved.
const NEAR: usize = 8;

/// Who waits, in two orders: by class and then by arrival in it, and by age.
#[derive(Clone, Debug)]
pub(super) struct Classes {
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

impl Classes {
    pub(super) fn is_empty(&self) -> bool {
        self.ages.is_empty()
    }

    pub(super) fn oldest(&self) -> Option<Id> {
        self.ages.first()
    }

    pub(super) fn most_urgent(&self) -> Option<Id> {
        self.classes.last()?.members.first()
    }

    pub(super) fn enter(&mut self, id: Id, priority: i32, end: End) {
        self.enter_class(id, priority, end);
        self.ages.push(&mut self.age_links, id, end);
    }

    /// Moves a member to the end of another class. It keeps its age.
    pub(super) fn move_to(&mut self, id: Id, priority: i32) {
        self.leave_class(id);
        self.enter_class(id, priority, End::Last);
    }

    pub(super) fn leave(&mut self, id: Id) {
        self.leave_class(id);
        self.ages.remove(&mut self.age_links, id);
    }

    pub(super) fn shrink(&mut self) {
        self.class_links.shrink();
        self.age_links.shrink();
        if self.priorities.len() > KEPT {
            self.priorities = Vec::new();
        }
    }

    /// For how many ids there is room.
    #[cfg(test)]
    pub(super) fn ids_known(&self) -> usize {
        self.priorities.len()
    }

    fn enter_class(&mut self, id: Id, priority: i32, end: End) {
        if id.index() >= self.priorities.len() {
            self.priorities.resize(id.index() + 1, 0);
        }
        self.priorities[id.index()] = priority;
        let at = self.place(priority).unwrap_or_else(|at| {
            let members = Chain::EMPTY;
            self.classes.insert(at, Class { priority, members });
            at
        });
        let members = &mut self.classes[at].members;
        members.push(&mut self.class_links, id, end);
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
        // Mostly there are few classes, and the most urgent is the most frequent: look from the end.
        let far = self.classes.len().saturating_sub(NEAR);
        for (at, class) in self.classes.iter().enumerate().skip(far).rev() {
            if class.priority == priority {
                return Ok(at);
            }
            if class.priority < priority {
                return Err(at + 1);
            }
        }
        self.classes[..far].binary_search_by_key(&priority, |class| class.priority)
    }
}

impl Default for Classes {
    fn default() -> Self {
        Self {
            classes: Vec::new(),
            class_links: Links::default(),
            ages: Chain::EMPTY,
            age_links: Links::default(),
            priorities: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_classes_is_kept_in_order() {
        for count in [1, NEAR, NEAR + 1, 1_000] {
            let mut classes = Classes::default();
            // Each priority twice, in a scattered order.
            for number in 0..2 * count as u32 {
                let priority = (number as i32 * 7_919) % count as i32;
                classes.enter(Id(number), priority, End::Last);
            }
            let mut left = Vec::new();
            while let Some(id) = classes.most_urgent() {
                left.push(classes.priorities[id.index()]);
                classes.leave(id);
            }
            let expected = (0..count as i32).rev().flat_map(|priority| [priority; 2]);
            assert!(left.into_iter().eq(expected), "{count}");
            assert!(classes.is_empty() && classes.classes.is_empty());
        }
    }

    #[test]
    fn memory_for_many_is_given_back() {
        for (count, kept) in [(10, 10), (KEPT, KEPT), (KEPT + 1, 0), (2 * KEPT, 0)] {
            let mut classes = Classes::default();
            let ids = || (0..count as u32).map(Id);
            ids().for_each(|id| classes.enter(id, 0, End::Last));
            ids().for_each(|id| classes.leave(id));
            classes.shrink();
            let lengths = [
                classes.priorities.len(),
                classes.class_links.len(),
                classes.age_links.len(),
            ];
            assert_eq!(lengths, [kept; 3]);
        }
    }
}
