use super::*;

fn at(seconds: u64) -> Moment {
    Moment::from(Duration::from_secs(seconds))
}

fn tries(outcome: Outcome, closing: bool) -> (u32, u64) {
    let mut outbox = Outbox::new(Spread::First);
    let mut rng = Rng::seeded(1);
    if closing {
        outbox.close();
    }
    outbox.put("key", 1);
    let (mut count, mut now) = (0, at(0));
    loop {
        while let Some((key, _)) = outbox.next(now) {
            count += 1;
            outbox.finished(key, outcome, now, &mut rng);
        }
        match outbox.wake_at() {
            Some(wake) => now = wake,
            None => return (count, now.since_origin().as_secs()),
        }
    }
}

#[test]
fn ts81_e5_an_unknown_error_is_tried_twelve_times_ten_seconds_apart() {
    let (count, took) = tries(Outcome::TryAgain, false);
    assert_eq!(count, 12);
    assert!((100..110).contains(&took), "{took}");
}

#[test]
fn ts81_e5_what_was_refused_is_tried_once_and_so_is_everything_at_the_end() {
    assert_eq!(tries(Outcome::Settled, false), (1, 0));
    assert_eq!(tries(Outcome::TryAgain, true), (1, 0));
}

#[test]
fn a_newer_write_takes_the_place_of_the_older_one() {
    let mut outbox = Outbox::new(Spread::First);
    let mut rng = Rng::seeded(1);
    outbox.put("a", 1);
    outbox.put("b", 1);
    outbox.put("a", 2);
    assert_eq!(outbox.next(at(0)), Some(("a", 2)));
    // One of a key at a time: what comes meanwhile follows.
    outbox.put("a", 3);
    assert_eq!(outbox.next(at(0)), Some(("b", 1)));
    assert_eq!(outbox.next(at(0)), None);
    assert_eq!(
        outbox.finished("a", Outcome::Settled, at(1), &mut rng),
        Verdict::Done
    );
    assert_eq!(outbox.next(at(1)), Some(("a", 3)));
    assert_eq!(
        outbox.finished("a", Outcome::Settled, at(1), &mut rng),
        Verdict::Done
    );
    outbox.finished("b", Outcome::Settled, at(1), &mut rng);
    assert!(outbox.is_empty());
}

#[test]
fn b30_a_stalled_server_costs_one_entry_a_key() {
    let mut outbox = Outbox::new(Spread::First);
    let mut rng = Rng::seeded(1);
    for write in 0..100_000 {
        outbox.put(write % 7, write);
        while let Some((key, _)) = outbox.next(at(0)) {
            outbox.finished(key, Outcome::TryAgain, at(0), &mut rng);
        }
    }
    assert_eq!(outbox.len(), 7);
    assert!(outbox.waiting.len() <= 7 && outbox.tickets.len() <= 7);
    let mut kept: Vec<_> = std::iter::from_fn(|| outbox.next(at(20)))
        .map(|(_, write)| write)
        .collect();
    kept.sort_unstable();
    assert_eq!(kept, (99_993..100_000).collect::<Vec<_>>());
}
