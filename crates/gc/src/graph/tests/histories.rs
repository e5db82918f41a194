//! Random histories: whatever the order of events, whatever is lost, doubled or refused, what is
//! left in the end is what the naive collector leaves.

mod run;
mod user;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use parking_lot::Mutex;

use run::{Fault, Run};

/// Runs one history; the error says how it went wrong.
fn history(seed: u64, fault: Fault) -> Result<(), String> {
    let mut run = Run::new(seed, fault);
    for round in 0..3 {
        run.round()
            .map_err(|error| format!("seed {seed}, round {round}: {error}"))?;
    }
    Ok(())
}

/// How many histories are run. CI runs 100,000; more by command: `EVENKEEL_GC_HISTORIES=10000000`.
fn histories() -> u64 {
    let more = std::env::var("EVENKEEL_GC_HISTORIES");
    more.map_or(20_000, |text| text.parse().unwrap())
}

/// The first failures among all histories, which run on all cores.
fn failures(run: impl Fn(u64) -> Result<(), String> + Sync) -> Vec<String> {
    let (next, all) = (AtomicU64::new(0), histories());
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < all
            && failures.lock().len() < 3
        {
            if let Err(error) = run(seed) {
                failures.lock().push(error);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    failures.into_inner()
}

#[test]
fn gc_survivors_are_those_of_the_naive_collector() {
    let failures = failures(|seed| history(seed, Fault::None));
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn gc_nothing_that_is_held_is_deleted_whatever_users_do_meanwhile() {
    let failures = failures(|seed| {
        let outcome = Run::new(seed, Fault::None).meddle();
        outcome.map_err(|error| format!("seed {seed}: {error}"))
    });
    assert!(failures.is_empty(), "{failures:#?}");
}

/// The same check finds collectors that are broken on purpose, however few histories are run.
#[test]
fn broken_collectors_are_found() {
    for fault in [
        Fault::VanishedMeansDeleted,
        Fault::NoPreconditions,
        Fault::UnservedMeansAbsent,
        Fault::LookupsForgotten,
        Fault::AnswersNotTakenOver,
    ] {
        let found = (0..10_000).find(|&seed| history(seed, fault).is_err());
        assert!(found.is_some(), "{fault:?} goes unnoticed");
    }
}
