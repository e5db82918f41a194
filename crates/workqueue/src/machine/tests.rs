use std::cell::Cell;
use std::rc::Rc;

use super::*;
use crate::{Fifo, Key};

type Fifos<K> = Machine<K, Fifo, ItemBackoff<K>>;

fn fifo<K: Key>() -> Fifos<K> {
    Machine::new(Fifo::new(), ItemBackoff::default())
}

fn at(millis: u64) -> Moment {
    Moment::from(Duration::from_millis(millis))
}

fn take<K: Key, O: Order<K>>(queue: &mut Machine<K, O>) -> K {
    queue.take().unwrap().key().clone()
}

fn run_all<K: Key, O: Order<K>>(queue: &mut Machine<K, O>) -> Vec<K> {
    let mut ran = Vec::new();
    while let Some(taken) = queue.take() {
        ran.push(taken.key().clone());
        queue.done(taken);
    }
    ran
}

#[test]
fn client_go_w1_ts64_adds_coalesce_before_and_during_processing() {
    let mut queue = fifo();
    for _ in 0..3 {
        queue.add("a", 0);
    }
    assert_eq!((queue.len(), queue.adds()), (1, 1));
    assert!(!queue.is_empty());
    let taken = queue.take().unwrap();
    for _ in 0..5 {
        queue.add("a", 0);
    }
    assert_eq!(
        (queue.len(), queue.is_empty(), queue.depth(), queue.take()),
        (0, true, 1, None),
        "never two workers for a key"
    );
    queue.done(taken);
    assert_eq!(
        run_all(&mut queue),
        ["a"],
        "five adds while processing are one more run"
    );
    queue.add("a", 0);
    assert_eq!(run_all(&mut queue), ["a"]);
    assert_eq!(queue.known(), 0, "an idle key is not kept");
}

#[test]
fn a_key_that_is_added_during_its_run_is_known_to_run_again() {
    let mut queue = fifo();
    queue.add("a", 0);
    assert!(!queue.will_rerun(&"a"), "nobody has it");
    let taken = queue.take().unwrap();
    assert!(!queue.will_rerun(&"a"));
    queue.add("a", 0);
    assert!(queue.will_rerun(&"a") && !queue.will_rerun(&"b"));
    queue.done(taken);
    assert!(!queue.will_rerun(&"a"));
}

#[test]
fn client_go_w3_order_is_that_of_first_adds() {
    let mut queue = fifo();
    for key in ["a", "b", "c", "a", "b"] {
        queue.add(key, 0);
    }
    assert_eq!(run_all(&mut queue), ["a", "b", "c"]);
}

#[test]
fn client_go_w3_a_key_added_while_processing_goes_last_when_done() {
    let mut queue = fifo();
    queue.add("a", 0);
    let taken = queue.take().unwrap();
    queue.add("a", 0);
    queue.add("b", 0);
    queue.done(taken);
    assert_eq!(run_all(&mut queue), ["b", "a"]);
}

#[test]
fn client_go_w4_shutdown_refuses_adds_and_hands_out_what_is_ready() {
    let mut queue = fifo();
    queue.add("a", 0);
    queue.shut_down();
    queue.shut_down();
    assert_eq!(queue.add("b", 0), Added::Refused);
    assert_eq!(
        queue.add_with("c", Add::now().after(Duration::from_secs(1)), at(0)),
        Added::Refused
    );
    assert!(!queue.is_finished());
    assert_eq!(run_all(&mut queue), ["a"]);
    assert!(queue.is_finished() && queue.is_drained());
}

#[test]
fn client_go_w5_a_key_requeued_at_done_is_handed_out_before_the_end() {
    let mut queue = fifo();
    queue.add("a", 0);
    let taken = queue.take().unwrap();
    queue.add("a", 0);
    queue.shut_down();
    assert!(
        !queue.is_finished(),
        "work is left, though nothing is ready"
    );
    queue.done(taken);
    let again = queue.take().unwrap();
    assert!(queue.is_finished() && !queue.is_drained());
    queue.done(again);
    assert!(queue.is_drained());
}

#[test]
fn client_go_w7_the_earlier_of_two_delays_counts_and_zero_means_now() {
    let mut queue = fifo();
    let after = |millis| Add::now().after(Duration::from_millis(millis));
    queue.add_with("a", after(100), at(0));
    queue.add_with("a", after(50), at(0));
    queue.add_with("a", after(200), at(0));
    assert_eq!(
        (queue.next_due(), queue.delayed(), queue.len()),
        (Some(at(50)), 1, 0)
    );
    queue.advance(at(49), |_, _| panic!("too early"));
    let mut due = Vec::new();
    queue.advance(at(60), |_, since| due.push(since));
    assert_eq!(due, [at(50)]);
    assert_eq!(run_all(&mut queue), ["a"]);
    assert_eq!((queue.next_due(), queue.known()), (None, 0));
    queue.add_with("b", after(0), at(60));
    assert_eq!(run_all(&mut queue), ["b"]);
}

#[test]
fn client_go_w8_a_plain_add_leaves_the_delayed_one_alone() {
    let mut queue = fifo();
    queue.add_with("a", Add::now().after(Duration::from_millis(10)), at(0));
    queue.add("a", 0);
    assert_eq!(run_all(&mut queue), ["a"]);
    queue.advance(at(10), |_, _| ());
    assert_eq!(
        run_all(&mut queue),
        ["a"],
        "it runs again when the delay ends"
    );
}

#[test]
fn client_go_w9_shutdown_drops_delayed_adds_and_counts_them() {
    let mut queue = fifo();
    queue.add_with("a", Add::now().after(Duration::from_millis(10)), at(0));
    queue.add_with("b", Add::now().after(Duration::from_millis(10)), at(0));
    queue.add("b", 0);
    queue.shut_down();
    assert_eq!(
        (queue.dropped(), queue.delayed(), queue.next_due()),
        (2, 0, None)
    );
    assert_eq!(run_all(&mut queue), ["b"]);
    assert_eq!(queue.known(), 0);
}

#[test]
fn client_go_w10_rate_limited_adds_wait_and_forget_resets() {
    let mut queue = fifo();
    queue.add("a", 0);
    let mut now = at(0);
    for (failures, wait) in [(1, 5), (2, 10), (3, 20)] {
        let taken = queue.take().unwrap();
        queue.retry(taken, now);
        assert_eq!(queue.failures(&"a"), failures);
        now += Duration::from_millis(wait);
        assert_eq!(queue.next_due(), Some(now));
        queue.advance(now, |_, _| ());
    }
    let taken = queue.take().unwrap();
    queue.forget(&"a");
    assert_eq!(queue.failures(&"a"), 0);
    queue.add("a", 0);
    assert!(queue.take().is_none(), "forget is not done");
    queue.retry(taken, now);
    assert_eq!(queue.next_due(), Some(now + Duration::from_millis(5)));
}

#[test]
fn client_go_w11_counts_effective_adds_and_accepted_retries() {
    let mut queue = fifo();
    queue.add("a", 0);
    queue.add("a", 0);
    let taken = queue.take().unwrap();
    queue.add("a", 0);
    assert_eq!((queue.adds(), queue.depth(), queue.len()), (2, 1, 0));
    queue.done(taken);
    queue.add_with("b", Add::now().after(Duration::ZERO), at(0));
    queue.add_with("c", Add::rate_limited(), at(0));
    assert_eq!((queue.adds(), queue.retries()), (3, 2));
    queue.shut_down();
    queue.add_with("d", Add::rate_limited(), at(0));
    assert_eq!(
        (queue.adds(), queue.retries(), queue.failures(&"d")),
        (3, 2, 0)
    );
}

#[test]
fn controller_runtime_c18_an_event_runs_a_failing_key_now_and_keeps_its_count() {
    let mut queue = fifo();
    for _ in 0..8 {
        queue.add_with("a", Add::rate_limited(), at(0));
        queue.advance(at(100_000), |_, _| ());
        let taken = queue.take().unwrap();
        queue.done(taken);
    }
    queue.add_with("a", Add::rate_limited(), at(0));
    assert_eq!((queue.failures(&"a"), queue.len()), (9, 0));
    queue.add("a", 0);
    assert_eq!((run_all(&mut queue), queue.failures(&"a")), (vec!["a"], 9));
}

#[test]
fn a_success_gives_the_key_back_and_forgets_its_failures() {
    let mut queue = fifo();
    queue.add("a", 0);
    let taken = queue.take().unwrap();
    assert_eq!(taken.failures(), 0);
    queue.retry(taken, at(0));
    queue.advance(at(0) + Duration::from_secs(1), |_, _| {});
    let taken = queue.take().unwrap();
    assert_eq!((taken.failures(), queue.failures(&"a")), (1, 1));
    queue.add("a", 0);
    queue.succeed(taken);
    assert_eq!((queue.failures(&"a"), queue.in_flight()), (0, 0));
    assert_eq!(
        queue.take().map(|taken| taken.failures()),
        Some(0),
        "added meanwhile"
    );
}

/// A rate-limited add counts a failure even if it changes nothing else, and only forgetting resets the count.
#[test]
fn controller_runtime_c18_f2_merged_failures_count_and_the_delay_ends_at_its_cap() {
    let mut queue = fifo();
    for failures in 1..=40 {
        queue.add_with("a", Add::rate_limited(), at(0));
        assert_eq!((queue.failures(&"a"), queue.delayed()), (failures, 1));
    }
    assert_eq!(
        queue.next_due(),
        Some(at(5)),
        "the first delay is the shortest"
    );
    queue.advance(at(5), |_, _| ());
    let taken = queue.take().unwrap();
    queue.retry(taken, at(5));
    assert_eq!(queue.next_due(), Some(at(5) + Duration::from_secs(1000)));
    queue.forget(&"a");
    assert_eq!(queue.failures(&"a"), 0);
    queue.add("a", 0);
    for failures in 1..=3 {
        queue.add_with("a", Add::rate_limited(), at(5));
        assert_eq!((queue.failures(&"a"), queue.len()), (failures, 1));
    }
}

#[test]
fn controller_runtime_t55_the_shorter_of_limit_and_delay_counts() {
    let mut queue = fifo();
    queue.add_with(
        "a",
        Add::rate_limited().after(Duration::from_millis(2)),
        at(0),
    );
    assert_eq!((queue.next_due(), queue.failures(&"a")), (Some(at(2)), 1));
    queue.add_with(
        "b",
        Add::rate_limited().after(Duration::from_secs(2)),
        at(0),
    );
    queue.advance(at(2), |_, _| ());
    assert_eq!(queue.next_due(), Some(at(5)));
}

#[test]
fn controller_runtime_c19_priority_is_kept_on_retry_and_only_ever_raised() {
    let mut queue = Machine::new(Priority::default(), ItemBackoff::default());
    queue.add("low", -100);
    let taken = queue.take().unwrap();
    assert_eq!(taken.priority(), -100);
    queue.retry(taken, at(0));
    queue.advance(at(5), |_, _| ());
    let mut taken = queue.take().unwrap();
    assert_eq!(taken.priority(), -100, "kept across the retry");
    taken.set_priority(7);
    queue.retry_after(taken, Duration::from_millis(1), at(5));
    queue.add_with(
        "low",
        Add::priority(3).after(Duration::from_millis(1)),
        at(5),
    );
    queue.advance(at(6), |_, _| ());
    queue.add("low", -5);
    let taken = queue.take().unwrap();
    assert_eq!(taken.priority(), 7, "a later, lower add changes nothing");
    queue.add("low", 9);
    queue.done(taken);
    assert_eq!(
        queue.take().map(|taken| taken.priority()),
        Some(9),
        "an event may raise it"
    );
}

#[test]
fn parked_keys_keep_their_place_and_are_not_handed_out() {
    let mut queue = fifo();
    for key in ["a", "b", "c"] {
        queue.add(key, 0);
    }
    queue.park(&"b", at(100));
    assert_eq!((queue.len(), queue.runnable()), (3, 2));
    assert_eq!(take(&mut queue), "a");
    queue.unpark(&"b");
    queue.unpark(&"b");
    assert_eq!(
        take(&mut queue),
        "b",
        "released before its turn: it lost nothing"
    );
    assert_eq!(queue.next_due(), None, "the bound's timer is gone");
}

#[test]
fn a_parked_key_whose_turn_passed_goes_first_when_released() {
    let mut queue = fifo();
    queue.park(&"a", at(100));
    for key in ["a", "b", "c"] {
        queue.add(key, 0);
    }
    assert_eq!(take(&mut queue), "b");
    assert_eq!(
        (queue.len(), queue.runnable()),
        (2, 1),
        "held back, and still counted"
    );
    queue.unpark(&"a");
    assert_eq!((take(&mut queue), take(&mut queue)), ("a", "c"));
}

#[test]
fn parking_ends_at_its_bound() {
    let mut queue = fifo();
    queue.add("a", 0);
    queue.park(&"a", at(50));
    queue.park(&"a", at(100));
    assert!(queue.take().is_none());
    assert_eq!(
        queue.next_due(),
        Some(at(100)),
        "the later call moves the bound"
    );
    queue.advance(at(99), |_, _| ());
    assert!(queue.take().is_none());
    queue.advance(at(100), |_, _| panic!("no new work"));
    assert_eq!(take(&mut queue), "a");
}

#[test]
fn parking_a_key_that_a_worker_has_concerns_the_next_run() {
    let mut queue = fifo();
    queue.add("a", 0);
    let taken = queue.take().unwrap();
    queue.park(&"a", at(100));
    queue.add("a", 0);
    queue.done(taken);
    assert!(queue.take().is_none());
    queue.unpark(&"a");
    assert_eq!(run_all(&mut queue), ["a"]);
    queue.park(&"idle", at(100));
    assert_eq!(queue.known(), 1);
    queue.advance(at(100), |_, _| ());
    assert_eq!(queue.known(), 0, "an idle key that was parked is not kept");
}

#[test]
fn parked_keys_are_drained_at_shutdown() {
    let mut queue = fifo();
    queue.add("a", 0);
    queue.park(&"a", at(100));
    queue.shut_down();
    assert!(queue.take().is_none() && !queue.is_finished());
    queue.advance(at(100), |_, _| ());
    assert_eq!(run_all(&mut queue), ["a"]);
    assert!(queue.is_drained());
}

#[test]
fn shutting_down_now_starts_no_run() {
    let mut queue = fifo();
    for key in ["a", "b", "c"] {
        queue.add(key, 0);
    }
    let taken = queue.take().unwrap();
    queue.add("a", 0);
    queue.park(&"b", at(100));
    queue.add_with("d", Add::now().after(Duration::from_secs(1)), at(0));
    queue.shut_down_now();
    assert_eq!(
        (queue.take(), queue.is_finished(), queue.dropped()),
        (None, true, 4)
    );
    queue.done(taken);
    assert!(queue.is_drained());
    queue.unpark(&"b");
    assert_eq!((queue.take(), queue.known()), (None, 0));
}

#[test]
fn kube_rs_d9_fifty_keys_that_add_themselves_again_all_run_in_each_round() {
    let mut queue = fifo();
    let mut now = at(0);
    for key in 0..50 {
        queue.add(key, 0);
    }
    let mut runs = [0; 50];
    for _ in 0..50 * 100 {
        queue.advance(now, |_, _| ());
        let taken = queue.take().unwrap();
        runs[*taken.key() as usize] += 1;
        now += Duration::from_millis(1);
        queue.retry_after(taken, Duration::from_millis(1), now);
        now += Duration::from_millis(1);
    }
    assert_eq!(runs, [100; 50]);
}

/// An event each 0.9 s, each asking for a run in 1 s: since the first delay counts, that is a run a second.
#[test]
fn kube_rs_d10_events_that_never_pause_do_not_postpone_the_run() {
    let mut queue = fifo();
    let (mut runs, mut last) = (0, 0);
    for millis in 0..280_000 {
        let now = at(millis);
        if millis % 900 == 0 {
            queue.add_with("a", Add::now().after(Duration::from_secs(1)), now);
        }
        queue.advance(now, |_, _| ());
        if let Some(taken) = queue.take() {
            assert!(millis - last <= 1_900, "{} ms without a run", millis - last);
            (runs, last) = (runs + 1, millis);
            queue.done(taken);
        }
    }
    assert_eq!(
        runs, 155,
        "an event within the second before a run is part of it"
    );
}

#[test]
fn client_go_b24_an_hour_of_churn_leaves_nothing_behind() {
    let mut queue = Machine::new(Priority::default(), ItemBackoff::<u64>::default());
    for round in 0..3_600 {
        let now = at(round * 1000);
        queue.advance(now, |_, _| ());
        for key in round * 10..round * 10 + 10 {
            queue.add(key, 0);
            queue.add_with(key, Add::now().after(Duration::from_secs(30)), now);
        }
        while let Some(taken) = queue.take() {
            queue.forget(taken.key());
            queue.done(taken);
        }
        assert!(queue.known() <= 300, "{}", queue.known());
    }
    queue.advance(at(3_700_000), |_, _| ());
    run_all(&mut queue);
    assert_eq!((queue.known(), queue.delayed()), (0, 0));
}

#[test]
fn the_order_is_told_when_no_key_is_known_any_more() {
    struct Told(Fifo, Rc<Cell<u32>>);

    impl<K> Order<K> for Told {
        fn push(&mut self, id: Id, key: &K, priority: i32) {
            self.0.push(id, key, priority);
        }

        fn push_first(&mut self, id: Id, key: &K, priority: i32) {
            self.0.push_first(id, key, priority);
        }

        fn raise(&mut self, _: Id, _: &K, _: i32) {}

        fn pop(&mut self) -> Option<Id> {
            Order::<K>::pop(&mut self.0)
        }

        fn shrink(&mut self) {
            self.1.update(|told| told + 1);
        }
    }

    let told = Rc::new(Cell::new(0));
    let mut queue = Machine::new(Told(Fifo::new(), Rc::clone(&told)), ItemBackoff::default());
    queue.add("a", 0);
    queue.add("b", 0);
    let taken = queue.take().unwrap();
    queue.done(taken);
    assert_eq!(told.get(), 0, "b is known");
    let taken = queue.take().unwrap();
    queue.done(taken);
    assert_eq!(told.get(), 1);
}
