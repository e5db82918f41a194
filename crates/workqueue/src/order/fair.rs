//! No group starves another.

use std::collections::VecDeque;
use std::fmt;
use std::hash::Hash;
use std::num::NonZeroU32;

use hashbrown::HashMap;

use super::chain::{Chain, End, Links};
use crate::{Id, Order};

/// Groups take turns; first come, first served within a group.
///
/// Priorities are ignored. Across groups they would undo what this is for: a tenant would only have to call its keys
/// urgent. Within a group they would need ageing for each group, or one tenant's urgent keys would starve its
/// others; whoever needs both writes an [`Order`] of [`Priority`](crate::Priority) for each of few groups.
///
/// A group is whatever a key belongs to: a tenant, a namespace. Each group with ready keys gets as many
/// hand-outs in a row as its weight, then the next has its turn. So a key with `n` others of its group ahead of it is
/// handed out within `(n / weight + 1)` rounds, and a round is the sum of the weights of the groups that
/// have ready keys: a group that floods the queue delays itself alone.
///
/// ```
/// use std::num::NonZeroU32;
/// use evenkeel_pace::ItemBackoff;
/// use evenkeel_workqueue::{Fair, Machine};
///
/// // Keys are (tenant, name); the paying tenant gets three turns to the others' one.
/// let order = Fair::new(|key: &(&str, &str)| key.0)
///     .weights(|tenant| if *tenant == "gold" { NonZeroU32::new(3).unwrap() } else { NonZeroU32::MIN });
/// let mut queue = Machine::new(order, ItemBackoff::default());
/// for key in [("lead", "a"), ("lead", "b"), ("gold", "c"), ("gold", "d")] {
///     queue.add(key, 0);
/// }
/// let order: Vec<_> = std::iter::from_fn(|| queue.take()).map(|taken| taken.key().1).collect();
/// assert_eq!(order, ["a", "c", "d", "b"]);
/// ```
pub struct Fair<K, G> {
    group_of: Box<dyn Fn(&K) -> G + Send>,
    weight_of: Box<dyn Fn(&G) -> NonZeroU32 + Send>,
    /// The groups with members.
    groups: HashMap<G, Group>,
    /// The groups with members, in the order of their turns.
    turns: VecDeque<G>,
    links: Links,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    members: Chain,
    weight: NonZeroU32,
    /// How many hand-outs are left of its turn.
    left: u32,
}

impl<K, G: Clone + Eq + Hash> Fair<K, G> {
    /// Groups keys by `group_of`; all groups weigh the same.
    #[must_use]
    pub fn new(group_of: impl Fn(&K) -> G + Send + 'static) -> Self {
        Self {
            group_of: Box::new(group_of),
            weight_of: Box::new(|_| NonZeroU32::MIN),
            groups: HashMap::new(),
            turns: VecDeque::new(),
            links: Links::default(),
        }
    }

    /// Gives each group a weight: how many hand-outs in a row its turn has. Asked when a group gets its
    /// first ready key.
    #[must_use]
    pub fn weights(mut self, weight_of: impl Fn(&G) -> NonZeroU32 + Send + 'static) -> Self {
        self.weight_of = Box::new(weight_of);
        self
    }

    fn enter(&mut self, id: Id, key: &K, end: End) {
        let name = (self.group_of)(key);
        if let Some(group) = self.groups.get_mut(&name) {
            group.members.push(&mut self.links, id, end);
            return;
        }
        let weight = (self.weight_of)(&name);
        let mut members = Chain::EMPTY;
        members.push(&mut self.links, id, end);
        match end {
            End::First => self.turns.push_front(name.clone()),
            End::Last => self.turns.push_back(name.clone()),
        }
        self.groups.insert(
            name,
            Group {
                members,
                weight,
                left: weight.get(),
            },
        );
    }
}

impl<K, G: Clone + Eq + Hash> Order<K> for Fair<K, G> {
    fn push(&mut self, id: Id, key: &K, _priority: i32) {
        self.enter(id, key, End::Last);
    }

    fn push_first(&mut self, id: Id, key: &K, _priority: i32) {
        self.enter(id, key, End::First);
    }

    fn raise(&mut self, _id: Id, _key: &K, _priority: i32) {}

    fn pop(&mut self) -> Option<Id> {
        let turn = self.turns.front()?;
        let group = self.groups.get_mut(turn)?;
        let id = group.members.first()?;
        group.members.remove(&mut self.links, id);
        group.left -= 1;
        if group.members.is_empty() {
            self.groups.remove(turn);
            self.turns.pop_front();
        } else if group.left == 0 {
            group.left = group.weight.get();
            self.turns.rotate_left(1);
        }
        Some(id)
    }

    fn shrink(&mut self) {
        self.links.shrink();
    }
}

impl<K, G> fmt::Debug for Fair<K, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fair")
            .field("groups", &self.turns.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_many_is_given_back() {
        let mut order = Fair::new(|key: &u32| key % 3);
        (0..10_000).for_each(|id| order.push(Id(id), &id, 0));
        while order.pop().is_some() {}
        order.shrink();
        assert_eq!(order.links.len(), 0);
    }
}
