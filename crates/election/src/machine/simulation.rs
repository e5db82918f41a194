//! Candidates in virtual time, on clocks that run at different rates, over a network that
//! loses, delays and doubles requests and answers, with stops of whole processes, crashes,
//! restarts and outages. Each schedule follows from its seed.

mod node;
mod server;
mod world;

use self::world::{Schedule, World};

/// How many schedules a test run tries; `EVENKEEL_ELECTION_SCHEDULES` asks for more.
fn schedules(default: u64) -> u64 {
    std::env::var("EVENKEEL_ELECTION_SCHEDULES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// The first seed whose schedule has a write outside its holder's term.
fn first_violation(schedule: Schedule, seeds: u64) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| {
        let mut world = World::new(schedule, seed);
        world.run();
        world.violation().map(|what| (seed, what.to_owned()))
    })
}

/// Runs all schedules; each must be safe, and end with a leader.
fn survive(schedule: Schedule, seeds: u64) {
    let mut writes = 0;
    let mut terms = 0;
    for seed in 0..seeds {
        let mut world = World::new(schedule, seed);
        world.run();
        if let Some(what) = world.violation() {
            panic!("seed {seed}: {what}\n{}", world.log());
        }
        assert!(
            world.recovered(),
            "seed {seed}: nobody leads after the faults\n{}",
            world.log()
        );
        writes += world.writes();
        terms += world.terms();
    }
    // The schedules must be worth something: leaders write, and leadership moves.
    assert!(writes > 40 * seeds, "{writes} writes");
    assert!(terms > 2 * seeds, "{terms} terms");
}

#[test]
fn no_fenced_write_starts_outside_its_holders_term() {
    survive(Schedule::SAFE, schedules(2_000));
}

#[test]
fn no_fenced_write_starts_outside_its_holders_term_without_any_margin() {
    survive(Schedule::SHARP, schedules(2_000));
}

/// The positive control: with the fence off, a leader that was stopped goes on writing.
#[test]
fn without_the_fence_the_same_schedules_find_two_leaders() {
    let control = Schedule {
        fence: false,
        ..Schedule::SAFE
    };
    let found = first_violation(control, 4_000);
    assert!(found.is_some_and(|(seed, _)| seed < 1_000));
}

/// The positive control for the release: deciding from what was last observed blanks a
/// rival's Lease, and a third candidate takes it while the rival still leads.
#[test]
fn l14_an_unchecked_release_is_found_by_the_same_schedules() {
    let control = Schedule {
        check_release: false,
        ..Schedule::SAFE
    };
    let found = first_violation(control, 10_000);
    assert!(found.is_some());
}

/// Clocks that differ in rate by more than the margin allows for are found as well.
#[test]
fn a_clock_rate_drift_beyond_the_margin_is_not_survived() {
    let control = Schedule {
        drift: 0.4,
        ..Schedule::SAFE
    };
    assert!(first_violation(control, 4_000).is_some());
}
