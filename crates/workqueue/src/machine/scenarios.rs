//! Scenarios of controller-runtime's own tests.

use std::time::Duration;

use evenkeel_pace::{ItemBackoff, Moment};

use crate::{Add, Machine, Priority};

fn after(seconds: u64) -> Moment {
    Moment::ORIGIN + Duration::from_secs(seconds)
}

#[test]
fn controller_runtime_t56_delayed_keys_are_not_counted_and_come_when_due_most_urgent_first() {
    let mut queue = Machine::new(Priority::default(), ItemBackoff::default());
    for (key, delay, priority) in [("c", 3, 0), ("a", 1, 0), ("b", 2, 0), ("urgent", 3, 10)] {
        let how = Add::priority(priority).after(Duration::from_secs(delay));
        queue.add_with(key, how, Moment::ORIGIN);
    }
    queue.add_with(
        "now",
        Add::now().after(Duration::from_secs(60)),
        Moment::ORIGIN,
    );
    assert_eq!((queue.len(), queue.delayed()), (0, 5));
    queue.add("now", 0);
    assert_eq!(
        (queue.len(), queue.delayed()),
        (1, 5),
        "it is ready, and will be again"
    );
    let mut came = Vec::new();
    for second in 0..=3 {
        queue.advance(after(second), |_, _| {});
        while let Some(taken) = queue.take() {
            came.push((second, *taken.key()));
            queue.done(taken);
        }
    }
    assert_eq!(
        came,
        [(0, "now"), (1, "a"), (2, "b"), (3, "urgent"), (3, "c")]
    );
}
