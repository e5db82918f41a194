//! Random histories: whatever the order of events, whatever is lost, doubled or refused, what is
//! left in the end is what the naive collector leaves.

mod run;
mod user;

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

/// How many histories are run. More of them by command: `EVENKEEL_GC_HISTORIES=10000000`.
fn histories() -> u64 {
    let more = std::env::var("EVENKEEL_GC_HISTORIES");
    more.map_or(2500, |text| text.parse().unwrap())
}

#[test]
fn gc_survivors_are_those_of_the_naive_collector() {
    let failures: Vec<String> = (0..histories())
        .filter_map(|seed| history(seed, Fault::None).err())
        .collect();
    let shown: Vec<&String> = failures.iter().take(3).collect();
    assert!(
        failures.is_empty(),
        "{} histories went wrong: {shown:#?}",
        failures.len()
    );
}

#[test]
fn gc_nothing_that_is_held_is_deleted_whatever_users_do_meanwhile() {
    for seed in 0..histories() {
        let mut run = Run::new(seed, Fault::None);
        if let Err(error) = run.meddle() {
            panic!("seed {seed}: {error}");
        }
    }
}

/// The same check finds collectors that are broken on purpose.
#[test]
fn broken_collectors_are_found() {
    for fault in [
        Fault::VanishedMeansDeleted,
        Fault::NoPreconditions,
        Fault::UnservedMeansAbsent,
        Fault::LookupsForgotten,
        Fault::AnswersNotTakenOver,
    ] {
        let found = (0..histories()).find(|&seed| history(seed, fault).is_err());
        assert!(found.is_some(), "{fault:?} goes unnoticed");
    }
}
