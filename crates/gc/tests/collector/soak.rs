//! Families that are created, re-owned, orphaned and deleted by random programs, while watches are
//! cut, answers are lost and the collector is restarted: in the end nothing is left that should
//! go, and nothing went that should stay.

mod family;
mod trouble;

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_meta::{ApiResource, DynamicObject};
use fastrand::Rng;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, MAPS, Made, NAMESPACES, SECRETS};
use family::{Family, Fate};
use trouble::Trouble;

/// So many families share a namespace, and its keeper.
const FAMILIES_A_NAMESPACE: usize = 50;
/// Dependents of each owner.
const PARTS: usize = 10;

/// `EVENKEEL_GC_SOAK_OWNERS=10000 EVENKEEL_GC_SOAK_SEED=7 cargo test --release -p evenkeel-gc soak`
fn setting(name: &str, default: u64) -> u64 {
    let set = std::env::var(format!("EVENKEEL_GC_SOAK_{name}"));
    set.map_or(default, |text| text.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn soak_nothing_is_left_that_should_go_and_nothing_went_that_should_stay() {
    let seed = setting("SEED", 1);
    let owners = usize::try_from(setting("OWNERS", 120)).unwrap();
    let (expected, actual) = soak(seed, owners, true).await;
    let difference = difference(&expected, &actual);
    assert!(difference.is_empty(), "seed {seed}: {difference:#?}");
}

/// The same check finds a collector that does nothing.
#[tokio::test(start_paused = true)]
async fn soak_a_collector_that_is_not_there_is_found() {
    let (expected, actual) = soak(1, 20, false).await;
    assert!(!difference(&expected, &actual).is_empty());
}

/// Objects by namespace, kind and name, with the UIDs of their owners.
type State = BTreeMap<String, Vec<String>>;

async fn soak(seed: u64, owners: usize, is_collecting: bool) -> (State, State) {
    let mut rng = Rng::with_seed(seed);
    let mut cluster = Cluster::new().await;
    let mut families = Vec::new();
    let mut keepers = Vec::new();
    for space in 0..owners.div_ceil(FAMILIES_A_NAMESPACE) {
        let namespace = format!("soak-{space}");
        let body = json!({"metadata": {"name": namespace}});
        cluster.create(&NAMESPACES, None, body).await;
        let keeper = cluster.map_in(&namespace, "keeper", &[], &[]).await;
        for n in 0..FAMILIES_A_NAMESPACE.min(owners - space * FAMILIES_A_NAMESPACE) {
            let fate = *rng.choice(&Fate::ALL).unwrap();
            families.push(Family::new(&namespace, n, fate, PARTS, &keeper, &mut rng));
        }
        keepers.push(keeper);
    }
    if is_collecting {
        cluster.start_without_waiting();
    }
    let mut trouble = Trouble::default();
    let mut unfinished: Vec<usize> = (0..families.len()).collect();
    while !unfinished.is_empty() {
        let at = rng.usize(..unfinished.len());
        let family = &mut families[unfinished[at]];
        for _ in 0..rng.usize(1..4) {
            if !family.step(&cluster).await {
                unfinished.swap_remove(at);
                break;
            }
        }
        if rng.u8(..4) == 0 {
            sleep(Duration::from_millis(rng.u64(..50))).await;
        }
        if is_collecting && rng.u8(..10) == 0 {
            trouble.change(&mut cluster, &mut rng).await;
        }
    }
    trouble.end(&cluster);
    let mut expected = State::new();
    for keeper in &keepers {
        expected.insert(key(keeper), Vec::new());
    }
    for family in &families {
        family.expect(&mut expected);
    }
    let actual = come_to_rest(&cluster, &expected).await;
    (expected, actual)
}

/// Waits until all is as expected, and then whether it stays so.
async fn come_to_rest(cluster: &Cluster, expected: &State) -> State {
    let start = Instant::now();
    loop {
        let actual = state(cluster).await;
        if actual == *expected || start.elapsed() > Duration::from_secs(1800) {
            break;
        }
        sleep(Duration::from_secs(10)).await;
    }
    sleep(Duration::from_secs(120)).await;
    state(cluster).await
}

async fn state(cluster: &Cluster) -> State {
    let mut state = State::new();
    for resource in [&MAPS, &SECRETS] {
        let list = cluster.api(resource, None).list(&Default::default()).await;
        for object in list.unwrap().items {
            let meta = &object.metadata;
            let namespace = meta.namespace.as_deref().unwrap_or_default();
            if namespace.starts_with("soak-") {
                state.insert(name_of(resource, namespace, &meta.name), owners_of(&object));
            }
        }
    }
    state
}

fn owners_of(object: &DynamicObject) -> Vec<String> {
    let mut owners = crate::cluster::owners(object);
    owners.sort();
    if object.metadata.deletion_timestamp.is_some() {
        owners.push("is being deleted".to_owned());
    }
    owners
}

fn key(made: &Made) -> String {
    let namespace = made.meta.namespace.as_deref().unwrap_or_default();
    name_of(&made.resource, namespace, made.name())
}

fn name_of(resource: &ApiResource, namespace: &str, name: &str) -> String {
    format!("{namespace}/{}/{name}", resource.plural)
}

/// The first few differences, in words.
fn difference(expected: &State, actual: &State) -> Vec<String> {
    let missing = expected
        .iter()
        .filter_map(|(key, owners)| match actual.get(key) {
            None => Some(format!("{key} went and should stay")),
            Some(other) if other != owners => {
                Some(format!("{key} has owners {other:?}, not {owners:?}"))
            }
            Some(_) => None,
        });
    let surplus = actual.keys().filter(|key| !expected.contains_key(*key));
    let surplus = surplus.map(|key| format!("{key} is left and should go"));
    missing.chain(surplus).take(10).collect()
}
