//! At most one timer an id, the earliest first.

use evenkeel_pace::Moment;

use crate::Id;

/// Children of a node: four, since a shallower heap touches fewer cache lines.
const ARITY: usize = 4;
/// Above this, memory is given back when no timer is left.
const KEPT: usize = 1024;
/// The order of an id without a timer.
const UNSET: u32 = 0;

/// A heap of timers. Timers for the same moment fire in the order in which they were set.
///
/// The heap does not know where in it an id's timer is: keeping that up to date would write to a far
/// place in memory for each step of each timer. So a timer that is moved or dropped leaves a stale entry
/// behind, which is skipped when it comes up. The first entry is never stale, and less than half of many are.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    heap: Vec<Entry>,
    /// The timer of each id, by id.
    timers: Vec<Timer<T>>,
    live: usize,
    /// The order of the timer that was set last.
    set: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Moment,
    order: u32,
    id: Id,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer<T> {
    pub(crate) at: Moment,
    order: u32,
    pub(crate) value: T,
}

impl<T: Copy + Default> Timers<T> {
    pub(crate) fn new() -> Self {
        Self {
            heap: Vec::new(),
            timers: Vec::new(),
            live: 0,
            set: UNSET,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.live
    }

    pub(crate) fn next(&self) -> Option<Moment> {
        self.heap.first().map(|entry| entry.at)
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Timer<T>> {
        let timer = self.timers.get_mut(id.index())?;
        (timer.order != UNSET).then_some(timer)
    }

    /// Sets the timer of `id`, instead of the one that it may have.
    pub(crate) fn set(&mut self, id: Id, at: Moment, value: T) {
        if id.index() >= self.timers.len() {
            self.timers.resize(id.index() + 1, Timer::default());
        }
        let order = self.next_order();
        let timer = &mut self.timers[id.index()];
        let moves = timer.order != UNSET;
        *timer = Timer { at, order, value };
        self.heap.push(Entry { at, order, id });
        self.rise(self.heap.len() - 1);
        if moves {
            self.tidy();
        } else {
            self.live += 1;
        }
    }

    pub(crate) fn cancel(&mut self, id: Id) -> bool {
        match self.get_mut(id) {
            None => false,
            Some(timer) => {
                timer.order = UNSET;
                self.live -= 1;
                self.tidy();
                true
            }
        }
    }

    /// Takes the earliest timer if its time has come.
    pub(crate) fn pop_due(&mut self, now: Moment) -> Option<(Id, Timer<T>)> {
        let Entry { at, id, .. } = *self.heap.first()?;
        if at > now {
            return None;
        }
        let timer = self.timers[id.index()];
        self.timers[id.index()].order = UNSET;
        self.live -= 1;
        self.remove_first();
        self.tidy();
        Some((id, timer))
    }

    /// Drops all timers and answers whose they were.
    pub(crate) fn clear(&mut self) -> Vec<Id> {
        let Self { heap, timers, .. } = std::mem::replace(self, Self::new());
        let ids = heap.iter().filter(|entry| is_live(&timers, entry));
        ids.map(|entry| entry.id).collect()
    }

    /// Restores what the type says of stale entries.
    fn tidy(&mut self) {
        if self.live == 0 {
            self.heap.clear();
            if self.timers.len() > KEPT {
                (self.heap, self.timers) = (Vec::new(), Vec::new());
            }
            return;
        }
        if self.heap.len() > 2 * self.live + KEPT {
            let timers = &self.timers;
            self.heap.retain(|entry| is_live(timers, entry));
            for place in (0..self.heap.len().div_ceil(ARITY)).rev() {
                self.sink(place);
            }
        }
        while let Some(first) = self.heap.first()
            && !is_live(&self.timers, first)
        {
            self.remove_first();
        }
    }

    fn remove_first(&mut self) {
        self.heap.swap_remove(0);
        if !self.heap.is_empty() {
            self.sink(0);
        }
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if !entry.is_before(&self.heap[parent]) {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = entry;
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * ARITY + 1;
            let end = (first + ARITY).min(self.heap.len());
            if first >= end {
                break;
            }
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child].is_before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].is_before(&entry) {
                break;
            }
            self.heap[place] = self.heap[least];
            place = least;
        }
        self.heap[place] = entry;
    }

    fn next_order(&mut self) -> u32 {
        self.set = match self.set.wrapping_add(1) {
            UNSET => UNSET + 1,
            order => order,
        };
        self.set
    }
}

impl Entry {
    /// Orders come around again after four thousand million timers; of two for the same moment, the one that was set
    /// later is less than half of that ahead.
    fn is_before(&self, other: &Self) -> bool {
        self.at < other.at
            || self.at == other.at && (self.order.wrapping_sub(other.order) as i32) < 0
    }
}

impl<T: Default> Default for Timer<T> {
    fn default() -> Self {
        Self {
            at: Moment::ORIGIN,
            order: UNSET,
            value: T::default(),
        }
    }
}

fn is_live<T>(timers: &[Timer<T>], entry: &Entry) -> bool {
    timers[entry.id.index()].order == entry.order
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
            .map(|(id, _)| id.0)
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
                        fired.map(|(id, timer)| (timer.at, id.0)),
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

    fn many(count: u32) -> Timers<()> {
        let mut timers = Timers::new();
        for id in 0..count {
            timers.set(Id(id), at(id.into()), ());
        }
        timers
    }

    #[test]
    fn a_few_stale_entries_are_left_and_many_are_not() {
        let mut timers = many(3_000);
        for id in 1_500..3_000 {
            timers.set(Id(id), at(9_000), ());
        }
        assert_eq!((timers.len(), timers.heap.len()), (3_000, 4_500));
        // An odd number, so that it meets no bound exactly.
        let mut timers = many(3_001);
        for id in (1..3_001).rev() {
            assert!(timers.cancel(Id(id)));
            assert!(timers.heap.len() <= 2 * timers.len() + KEPT);
        }
        assert_eq!(timers.next(), Some(at(0)));
    }

    #[test]
    fn memory_for_many_is_given_back_with_the_last() {
        for (count, kept) in [(10, 10), (KEPT, KEPT), (KEPT + 1, 0), (5_000, 0)] {
            let mut timers = many(count as u32);
            while timers.pop_due(at(10_000)).is_some() {}
            assert_eq!((timers.heap.len(), timers.timers.len()), (0, kept));
        }
    }

    #[test]
    fn orders_come_around() {
        let mut timers = Timers::new();
        timers.set = u32::MAX - 1;
        for id in 0..3 {
            timers.set(Id(id), at(1), ());
            assert!(timers.get_mut(Id(id)).is_some());
        }
        let fired: Vec<_> = std::iter::from_fn(|| timers.pop_due(at(1)))
            .map(|(id, _)| id.0)
            .collect();
        assert_eq!(fired, [0, 1, 2]);
    }
}
