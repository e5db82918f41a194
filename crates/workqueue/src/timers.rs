//! At most one timer an id, the earliest first.

use evenkeel_pace::Moment;

use crate::Id;

/// Children of a node: four, since a shallower heap touches fewer cache lines.
const ARITY: usize = 4;
const NOWHERE: u32 = u32::MAX;
/// Above this, memory is given back when no timer is left.
const KEPT: usize = 1024;

/// A heap of timers that knows where each id's timer is, so that one can be moved or dropped and there are never
/// stale entries. Timers for the same moment fire in the order in which they were set.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    heap: Vec<Timer<T>>,
    /// Where each id's timer is in the heap, by id.
    places: Vec<u32>,
    set: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer<T> {
    pub(crate) at: Moment,
    order: u64,
    pub(crate) id: Id,
    pub(crate) value: T,
}

impl<T: Copy> Timers<T> {
    pub(crate) fn new() -> Self {
        Self {
            heap: Vec::new(),
            places: Vec::new(),
            set: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn next(&self) -> Option<Moment> {
        self.heap.first().map(|timer| timer.at)
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Timer<T>> {
        let place = *self.places.get(id.index())?;
        self.heap.get_mut(place as usize)
    }

    /// Sets the timer of `id`, instead of the one that it may have.
    pub(crate) fn set(&mut self, id: Id, at: Moment, value: T) {
        self.cancel(id);
        if id.index() >= self.places.len() {
            self.places.resize(id.index() + 1, NOWHERE);
        }
        let timer = Timer {
            at,
            order: self.set,
            id,
            value,
        };
        self.set += 1;
        self.heap.push(timer);
        self.rise(self.heap.len() - 1);
    }

    pub(crate) fn cancel(&mut self, id: Id) -> bool {
        match self.places.get(id.index()) {
            None | Some(&NOWHERE) => false,
            Some(&place) => {
                self.remove(place as usize);
                true
            }
        }
    }

    /// Takes the earliest timer if its time has come.
    pub(crate) fn pop_due(&mut self, now: Moment) -> Option<Timer<T>> {
        if self.heap.first()?.at > now {
            return None;
        }
        Some(self.remove(0))
    }

    /// Drops all timers and answers whose they were.
    pub(crate) fn clear(&mut self) -> Vec<Id> {
        self.places = Vec::new();
        std::mem::take(&mut self.heap)
            .into_iter()
            .map(|timer| timer.id)
            .collect()
    }

    fn remove(&mut self, place: usize) -> Timer<T> {
        let timer = self.heap.swap_remove(place);
        self.places[timer.id.index()] = NOWHERE;
        if place < self.heap.len() {
            // What was last may belong above or below this place.
            self.sink(place);
            self.rise(place);
        } else if self.heap.is_empty() && self.places.len() > KEPT {
            (self.heap, self.places) = (Vec::new(), Vec::new());
        }
        timer
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if !self.is_before(place, parent) {
                break;
            }
            self.heap.swap(place, parent);
            self.note(place);
            place = parent;
        }
        self.note(place);
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = place * ARITY + 1..(place * ARITY + 1 + ARITY).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.rank(*child)) else {
                break;
            };
            if !self.is_before(least, place) {
                break;
            }
            self.heap.swap(place, least);
            self.note(place);
            place = least;
        }
        self.note(place);
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        self.rank(a) < self.rank(b)
    }

    fn rank(&self, place: usize) -> (Moment, u64) {
        let timer = &self.heap[place];
        (timer.at, timer.order)
    }

    fn note(&mut self, place: usize) {
        let id = self.heap[place].id;
        // Ids are 32 bits wide and each has one timer at most.
        self.places[id.index()] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evenkeel_pace::Rng;

    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from(Duration::from_millis(millis))
    }

    #[test]
    fn timers_fire_by_time_and_then_by_order_of_setting() {
        let mut timers = Timers::new();
        for (id, millis) in [(0, 5), (1, 3), (2, 5), (3, 1)] {
            timers.set(Id(id), at(millis), ());
        }
        assert_eq!(timers.next(), Some(at(1)));
        assert!(timers.pop_due(at(0)).is_none());
        let fired: Vec<_> = std::iter::from_fn(|| timers.pop_due(at(5)))
            .map(|timer| timer.id.0)
            .collect();
        assert_eq!(fired, [3, 1, 0, 2]);
    }

    #[test]
    fn a_heap_under_random_use_agrees_with_a_sorted_list() {
        let mut rng = Rng::seeded(11);
        let (mut timers, mut model, mut set) = (Timers::new(), Vec::<(Moment, u64, u32)>::new(), 0);
        for step in 0..20_000u64 {
            let id = rng.below(200) as u32;
            match rng.below(4) {
                0 => {
                    let was_set = model
                        .iter()
                        .position(|entry| entry.2 == id)
                        .map(|at| model.remove(at));
                    assert_eq!(timers.cancel(Id(id)), was_set.is_some());
                }
                1 => {
                    model.sort_unstable();
                    let due = model.first().copied().filter(|entry| entry.0 <= at(step));
                    if due.is_some() {
                        model.remove(0);
                    }
                    let fired = timers.pop_due(at(step));
                    assert_eq!(
                        fired.map(|timer| (timer.at, timer.id.0)),
                        due.map(|entry| (entry.0, entry.2))
                    );
                }
                _ => {
                    let due = at(step + rng.below(100));
                    model.retain(|entry| entry.2 != id);
                    model.push((due, set, id));
                    set += 1;
                    timers.set(Id(id), due, ());
                }
            }
            assert_eq!(
                (timers.len(), timers.next()),
                (model.len(), model.iter().min().map(|entry| entry.0))
            );
        }
    }
}
