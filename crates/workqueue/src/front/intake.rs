//! Adds that do not wait for a worker.

use std::borrow::Cow;
use std::collections::VecDeque;

use evenkeel_pace::Moment;

use super::sync::{AtomicBool, Mutex, Ordering};

/// Above this many, an add waits for the queue's lock after all: what nobody fetches must not pile up.
const MOST: usize = 256;

/// Where adds go as long as no getter waits: an add costs the same however busy the queue's lock is. Whoever takes that
/// lock moves them to the machine first, many at a time, so nothing is done to the queue before what was added before.
///
/// The rule that nothing is lost by: while a getter waits, nothing is accepted here, and the add has to take the
/// queue's lock and wake it. A getter that is about to wait says so, and looks again if something came first;
/// both happen under the lock in here, which is held for a few instructions only.
pub(super) struct Intake<K> {
    line: Mutex<Line<K>>,
    /// Whether there is something, for those who have the queue's lock: spares them the other.
    is_pending: AtomicBool,
}

struct Line<K> {
    adds: VecDeque<Pending<K>>,
    accepts: bool,
}

/// An add on its way to the machine.
pub(super) struct Pending<K> {
    pub(super) key: K,
    pub(super) priority: i32,
    /// When it was added, if somebody measures.
    pub(super) at: Option<Moment>,
}

impl<K: Clone + Eq> Intake<K> {
    pub(super) fn new() -> Self {
        Self {
            line: Mutex::new(Line {
                adds: VecDeque::new(),
                accepts: true,
            }),
            is_pending: AtomicBool::new(false),
        }
    }

    /// Accepts an add, or gives the key back to one who has to take the queue's lock.
    pub(super) fn push<'k>(
        &self,
        key: Cow<'k, K>,
        priority: i32,
        at: impl FnOnce() -> Option<Moment>,
    ) -> Result<(), Cow<'k, K>> {
        let mut line = self.line.lock();
        if !line.accepts || line.adds.len() >= MOST {
            return Err(key);
        }
        match line.adds.back_mut() {
            // Events for one object come in bursts.
            Some(last) if last.key == *key => last.priority = last.priority.max(priority),
            _ => {
                line.adds.push_back(Pending {
                    key: key.into_owned(),
                    priority,
                    at: at(),
                });
                self.is_pending.store(true, Ordering::Release);
            }
        }
        Ok(())
    }

    /// Swaps what has come into `adds`, which is empty. For those who have the queue's lock.
    pub(super) fn fetch(&self, adds: &mut VecDeque<Pending<K>>) {
        if self.is_pending.load(Ordering::Acquire) {
            let mut line = self.line.lock();
            std::mem::swap(&mut line.adds, adds);
            self.is_pending.store(false, Ordering::Release);
        }
    }

    /// A getter is about to wait. Whether it may: nothing came meanwhile, and nothing is accepted from now on.
    pub(super) fn close_if_empty(&self) -> bool {
        let mut line = self.line.lock();
        line.accepts = !line.adds.is_empty();
        !line.accepts
    }

    /// Nobody waits any more.
    pub(super) fn open(&self) {
        self.line.lock().accepts = true;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> impl FnOnce() -> Option<Moment> {
        move || Some(Moment::ORIGIN + Duration::from_secs(seconds))
    }

    fn push(
        intake: &Intake<u32>,
        key: u32,
        priority: i32,
        at: impl FnOnce() -> Option<Moment>,
    ) -> bool {
        let pushed = intake.push(Cow::Borrowed(&key), priority, at);
        pushed.inspect_err(|back| assert_eq!(**back, key)).is_ok()
    }

    fn fetched(intake: &Intake<u32>) -> Vec<(u32, i32, Option<u64>)> {
        let mut adds = VecDeque::new();
        intake.fetch(&mut adds);
        let seconds = |moment: Moment| moment.since_origin().as_secs();
        adds.into_iter()
            .map(|add| (add.key, add.priority, add.at.map(seconds)))
            .collect()
    }

    #[test]
    fn adds_come_out_in_order_and_bursts_as_one() {
        let intake = Intake::new();
        for (key, priority) in [(1, 0), (2, 5), (2, 7), (2, 6), (1, 0)] {
            assert!(push(&intake, key, priority, at(3)));
        }
        assert_eq!(
            fetched(&intake),
            [(1, 0, Some(3)), (2, 7, Some(3)), (1, 0, Some(3))]
        );
        assert_eq!(fetched(&intake), []);
        // What was fetched may have been handed out: the same key is new work.
        assert!(push(&intake, 1, 0, || None));
        assert_eq!(fetched(&intake), [(1, 0, None)]);
    }

    #[test]
    fn it_takes_no_more_than_its_bound() {
        let intake = Intake::new();
        assert!((0..MOST as u32).all(|key| push(&intake, key, 0, || None)));
        assert!(!push(&intake, 7, 0, || None));
        assert_eq!(fetched(&intake).len(), MOST);
        assert!(push(&intake, 7, 0, || None));
    }

    #[test]
    fn nothing_is_accepted_while_a_getter_waits() {
        let intake = Intake::new();
        assert!(push(&intake, 1, 0, || None));
        assert!(!intake.close_if_empty(), "the getter has to look again");
        assert!(push(&intake, 2, 0, || None));
        assert_eq!(fetched(&intake).len(), 2);
        assert!(intake.close_if_empty());
        assert!(!push(&intake, 3, 0, || None));
        intake.open();
        assert!(push(&intake, 3, 0, || None));
    }
}
