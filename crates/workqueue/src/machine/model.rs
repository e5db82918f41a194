//! The state machine against a naive model: any sequence of calls, any jump of time.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use crate::{Add, Fifo, Machine, Order, Priority, Taken};
use evenkeel_pace::{ItemBackoff, Moment};
use proptest::prelude::*;

type Key = u8;

#[derive(Clone, Debug)]
enum Step {
    Add(Key, i32),
    AddAfter(Key, u64, i32),
    AddRateLimited(Key),
    Take,
    Done(usize),
    Retry(usize),
    RetryAfter(usize, u64),
    Forget(Key),
    Park(Key, u64),
    Unpark(Key),
    Pass(u64),
    ShutDown,
    ShutDownNow,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0..8u8;
    let delay = || prop_oneof![4 => 0..20u64, 1 => 0..2_000_000u64];
    let step = prop_oneof![
        20 => (key(), -2..3i32).prop_map(|(key, priority)| Step::Add(key, priority)),
        8 => (key(), delay(), -2..3i32).prop_map(|(key, delay, priority)| Step::AddAfter(key, delay, priority)),
        4 => key().prop_map(Step::AddRateLimited),
        20 => Just(Step::Take),
        12 => any::<usize>().prop_map(Step::Done),
        4 => any::<usize>().prop_map(Step::Retry),
        4 => (any::<usize>(), delay()).prop_map(|(at, delay)| Step::RetryAfter(at, delay)),
        3 => key().prop_map(Step::Forget),
        6 => (key(), delay()).prop_map(|(key, bound)| Step::Park(key, bound)),
        6 => key().prop_map(Step::Unpark),
        12 => delay().prop_map(Step::Pass),
        1 => Just(Step::ShutDown),
        1 => Just(Step::ShutDownNow),
    ];
    prop::collection::vec(step, 0..200)
}

/// Everything as plain lists that are searched from end to end.
#[derive(Default)]
struct Model {
    /// `None`: first come, first served.
    patience: Option<u32>,
    passed_over: u32,
    line: Vec<Member>,
    dirty: BTreeMap<Key, i32>,
    processing: BTreeSet<Key>,
    /// Key -> (due, order of setting, priority).
    delayed: BTreeMap<Key, (u64, u64, i32)>,
    /// Key -> (until, order of setting).
    parked: BTreeMap<Key, (u64, u64)>,
    failures: BTreeMap<Key, (u32, u64)>,
    closed: bool,
    now: u64,
    /// Counts up for what goes last, down for what goes first.
    last: i64,
    first: i64,
    set: u64,
    adds: u64,
    retries: u64,
    dropped: u64,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    key: Key,
    priority: i32,
    age: i64,
    place: i64,
}

impl Model {
    fn last(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    fn first(&mut self) -> i64 {
        self.first -= 1;
        self.first
    }

    fn in_line(&self, key: Key) -> bool {
        self.line.iter().any(|member| member.key == key)
    }

    fn enter(&mut self, key: Key, at: i64) {
        let priority = self.dirty[&key];
        self.line.push(Member {
            key,
            priority,
            age: at,
            place: at,
        });
    }

    fn add(&mut self, key: Key, priority: i32) {
        if self.closed {
            return;
        }
        if let Some(known) = self.dirty.get_mut(&key) {
            if priority > *known {
                *known = priority;
                let place = self.last();
                for member in self.line.iter_mut().filter(|member| member.key == key) {
                    (member.priority, member.place) = (priority, place);
                }
            }
            return;
        }
        self.dirty.insert(key, priority);
        self.adds += 1;
        if !self.processing.contains(&key) {
            let at = self.last();
            self.enter(key, at);
        }
    }

    fn add_after(&mut self, key: Key, delay: u64, priority: i32) {
        if self.closed {
            return;
        }
        self.retries += 1;
        if delay == 0 {
            return self.add(key, priority);
        }
        let due = self.now + delay;
        self.set += 1;
        let new = (due, self.set, priority);
        let entry = self.delayed.entry(key).or_insert(new);
        let priority = priority.max(entry.2);
        if due < entry.0 {
            *entry = new;
        }
        entry.2 = priority;
    }

    fn add_rate_limited(&mut self, key: Key, priority: i32) {
        if self.closed {
            return;
        }
        let (failures, rested) = self.failures.get(&key).copied().unwrap_or_default();
        let failures = if self.now > rested + 2_000_000 {
            0
        } else {
            failures
        };
        let delay = (5u64 << failures.min(30)).min(1_000_000);
        self.failures.insert(key, (failures + 1, self.now + delay));
        self.add_after(key, delay, priority);
    }

    fn runnable(&self) -> usize {
        self.line
            .iter()
            .filter(|member| !self.parked.contains_key(&member.key))
            .count()
    }

    fn take(&mut self) -> Option<(Key, i32)> {
        while self.runnable() > 0 {
            let member = self.next();
            self.line.retain(|other| other.key != member.key);
            if self.parked.contains_key(&member.key) {
                continue;
            }
            self.processing.insert(member.key);
            let priority = self.dirty.remove(&member.key).unwrap();
            return Some((member.key, priority));
        }
        None
    }

    fn next(&mut self) -> Member {
        let oldest = *self.line.iter().min_by_key(|member| member.age).unwrap();
        let Some(patience) = self.patience else {
            return oldest;
        };
        let urgent = *self
            .line
            .iter()
            .min_by_key(|member| (-member.priority, member.place))
            .unwrap();
        let next = if self.passed_over + 1 >= patience {
            oldest
        } else {
            urgent
        };
        self.passed_over = if next.key == oldest.key {
            0
        } else {
            self.passed_over + 1
        };
        next
    }

    fn done(&mut self, key: Key) {
        self.processing.remove(&key);
        if self.dirty.contains_key(&key) {
            let at = self.last();
            self.enter(key, at);
        }
    }

    fn park(&mut self, key: Key, bound: u64) {
        self.set += 1;
        self.parked.insert(key, (self.now + bound, self.set));
    }

    fn unpark(&mut self, key: Key) {
        let held =
            self.dirty.contains_key(&key) && !self.processing.contains(&key) && !self.in_line(key);
        if self.parked.remove(&key).is_some() && held {
            let at = self.first();
            self.enter(key, at);
        }
    }

    fn pass(&mut self, time: u64) {
        self.now += time;
        let mut due: Vec<_> = self
            .delayed
            .iter()
            .map(|(key, entry)| (entry.0, entry.1, entry.2, *key))
            .collect();
        due.retain(|entry| entry.0 <= self.now);
        due.sort_unstable();
        for (_, _, priority, key) in due {
            self.delayed.remove(&key);
            self.add(key, priority);
        }
        let mut released: Vec<_> = self
            .parked
            .iter()
            .map(|(key, entry)| (*entry, *key))
            .collect();
        released.retain(|((until, _), _)| *until <= self.now);
        released.sort_unstable();
        for (_, key) in released {
            self.unpark(key);
        }
    }

    fn shut_down(&mut self) {
        self.closed = true;
        self.dropped += self.delayed.len() as u64;
        self.delayed.clear();
    }

    fn shut_down_now(&mut self) {
        self.shut_down();
        self.dropped += self.dirty.len() as u64;
        self.dirty.clear();
        self.line.clear();
        self.passed_over = 0;
    }

    fn next_due(&self) -> Option<u64> {
        let delays = self.delayed.values().map(|entry| entry.0);
        delays
            .chain(self.parked.values().map(|entry| entry.0))
            .min()
    }

    fn known(&self) -> usize {
        let keys = self
            .dirty
            .keys()
            .chain(&self.processing)
            .chain(self.delayed.keys())
            .chain(self.parked.keys());
        keys.collect::<BTreeSet<_>>().len()
    }

    fn len(&self) -> usize {
        self.dirty
            .keys()
            .filter(|key| !self.processing.contains(key))
            .count()
    }
}

fn at(millis: u64) -> Moment {
    Moment::from(Duration::from_millis(millis))
}

fn check<O: Order<Key>>(
    order: O,
    patience: Option<u32>,
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let mut queue = Machine::new(order, ItemBackoff::default());
    let mut model = Model {
        patience,
        ..Model::default()
    };
    let mut taken: Vec<Taken<Key>> = Vec::new();
    for step in steps {
        let now = at(model.now);
        let mut pick = |at: usize| {
            if taken.is_empty() {
                None
            } else {
                Some(taken.swap_remove(at % taken.len()))
            }
        };
        match step {
            Step::Add(key, priority) => {
                queue.add(key, priority);
                model.add(key, priority);
            }
            Step::AddAfter(key, delay, priority) => {
                let how = Add::priority(priority).after(Duration::from_millis(delay));
                queue.add_with(key, how, now);
                model.add_after(key, delay, priority);
            }
            Step::AddRateLimited(key) => {
                queue.add_with(key, Add::rate_limited(), now);
                model.add_rate_limited(key, 0);
            }
            Step::Take => {
                let got = queue.take();
                prop_assert_eq!(
                    got.as_ref().map(|taken| (*taken.key(), taken.priority())),
                    model.take()
                );
                taken.extend(got);
            }
            Step::Done(at) => {
                if let Some(taken) = pick(at) {
                    model.done(*taken.key());
                    queue.done(taken);
                }
            }
            Step::Retry(at) => {
                if let Some(taken) = pick(at) {
                    model.add_rate_limited(*taken.key(), taken.priority());
                    model.done(*taken.key());
                    queue.retry(taken, now);
                }
            }
            Step::RetryAfter(at, delay) => {
                if let Some(taken) = pick(at) {
                    model.add_after(*taken.key(), delay, taken.priority());
                    model.done(*taken.key());
                    queue.retry_after(taken, Duration::from_millis(delay), now);
                }
            }
            Step::Forget(key) => {
                queue.forget(&key);
                model.failures.remove(&key);
            }
            Step::Park(key, bound) => {
                queue.park(&key, now + Duration::from_millis(bound));
                model.park(key, bound);
            }
            Step::Unpark(key) => {
                queue.unpark(&key);
                model.unpark(key);
            }
            Step::Pass(time) => {
                model.pass(time);
                queue.advance(at(model.now), |_, _| ());
            }
            Step::ShutDown => {
                queue.shut_down();
                model.shut_down();
            }
            Step::ShutDownNow => {
                queue.shut_down_now();
                model.shut_down_now();
            }
        }
        let found = (
            queue.len(),
            queue.depth(),
            queue.delayed(),
            queue.in_flight(),
            queue.runnable(),
            queue.known(),
        );
        let (depth, in_flight) = (model.dirty.len(), model.processing.len());
        let expected = (
            model.len(),
            depth,
            model.delayed.len(),
            in_flight,
            model.runnable(),
            model.known(),
        );
        prop_assert_eq!(found, expected);
        prop_assert_eq!(queue.next_due(), model.next_due().map(at));
        prop_assert_eq!(
            (queue.adds(), queue.retries(), queue.dropped()),
            (model.adds, model.retries, model.dropped)
        );
        prop_assert_eq!(queue.is_finished(), model.closed && depth == 0);
        prop_assert_eq!(queue.is_drained(), model.closed && depth + in_flight == 0);
        for key in 0..8 {
            let failures = model.failures.get(&key).map_or(0, |entry| entry.0);
            prop_assert_eq!(queue.failures(&key), failures);
        }
    }
    // Whatever happened: given back, unparked and with time, all work comes out and nothing is kept.
    for taken in taken {
        queue.done(taken);
    }
    queue.advance(at(model.now + 10_000_000), |_, _| ());
    while let Some(taken) = queue.take() {
        queue.done(taken);
    }
    prop_assert_eq!(
        (queue.known(), queue.depth(), queue.next_due()),
        (0, 0, None)
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn fifo_agrees_with_the_model(steps in steps()) {
        check(Fifo::new(), None, steps)?;
    }

    #[test]
    fn controller_runtime_t58_priority_agrees_with_the_model(steps in steps(), patience in 1..5u32) {
        check(Priority::new(NonZeroU32::new(patience).unwrap()), Some(patience), steps)?;
    }

    /// The bound that `Priority` promises, whatever arrives meanwhile.
    #[test]
    fn no_key_waits_longer_than_ageing_allows(
        arrivals in prop::collection::vec((0..3usize, -3..4i32), 1..300),
        patience in 1..6usize,
    ) {
        let order = Priority::new(NonZeroU32::new(patience as u32).unwrap());
        let mut queue = Machine::new(order, ItemBackoff::<usize>::default());
        // Key -> the hand-out by which it must have come.
        let mut bounds = BTreeMap::new();
        let (mut key, mut handed_out) = (0, 0);
        let mut take = |queue: &mut Machine<usize, Priority>, bounds: &mut BTreeMap<usize, usize>| {
            if let Some(taken) = queue.take() {
                handed_out += 1;
                let bound = bounds.remove(taken.key()).unwrap();
                prop_assert!(handed_out <= bound, "hand-out {} of a key bound to {}", handed_out, bound);
                queue.done(taken);
            }
            Ok(handed_out)
        };
        let mut out = 0;
        for (arriving, priority) in arrivals {
            for _ in 0..arriving {
                let ahead = bounds.len();
                queue.add(key, priority);
                bounds.insert(key, out + patience * (ahead + 1));
                key += 1;
            }
            out = take(&mut queue, &mut bounds)?;
        }
        while !bounds.is_empty() {
            take(&mut queue, &mut bounds)?;
        }
    }
}
