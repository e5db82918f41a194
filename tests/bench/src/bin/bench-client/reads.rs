//! Reads by key from two threads, while a third one writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_meta::{Meta, Metadata, ObjectKey, ResourceVersion};
use evenkeel_store::{Store, Writer};

const OBJECTS: usize = 100_000;
const READERS: usize = 2;
const FOR: Duration = Duration::from_secs(3);
/// Writes come in batches, as they do from a watch.
const BATCH: usize = 50;
const BATCHES_A_SECOND: u32 = 1000;

/// How often readers look whether they are to stop.
const TURN: usize = 1000;

/// How an object is read.
#[derive(Clone, Copy)]
enum Way {
    /// Each from the store as it is at that moment, to keep.
    Store,
    /// A thousand from one snapshot, to look at.
    Snapshot,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let (mut writer, store) = Writer::<Metadata>::new();
    let keys: Vec<_> = (0..OBJECTS)
        .map(|n| ObjectKey::namespaced(&format!("team-{}", n % 200), &format!("pod-{n:06}")))
        .collect();
    for key in &keys {
        writer.put(object(key, 1))?;
    }
    writer.publish();
    // As programs have them: those that handlers and queues give out are the store's own.
    let snapshot = store.snapshot();
    let keys: Vec<_> = snapshot.iter().map(|(key, _)| key.clone()).collect();
    drop(snapshot);
    let [(reads, writes), (looks, _)] =
        [Way::Store, Way::Snapshot].map(|way| read(way, &mut writer, &store, &keys));
    println!("reads {reads:.3}");
    println!("looks {looks:.3}");
    println!("writes {writes:.3}");
    Ok(())
}

/// Millions of reads a second, and thousands of writes.
fn read(
    way: Way,
    writer: &mut Writer<Metadata>,
    store: &Store<Metadata>,
    keys: &[ObjectKey],
) -> (f64, f64) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|seed| {
                let (store, stop) = (store.clone(), &stop);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed as u64);
                    let (mut reads, mut found) = (0, 0);
                    while !stop.load(Ordering::Relaxed) {
                        let mut key = || &keys[random.usize(..keys.len())];
                        found += match way {
                            Way::Store => (0..TURN).filter(|_| store.get(key()).is_some()).count(),
                            Way::Snapshot => {
                                let snapshot = store.snapshot();
                                (0..TURN).filter(|_| snapshot.get(key()).is_some()).count()
                            }
                        };
                        reads += TURN;
                    }
                    assert_eq!(found, reads, "an object that was always there");
                    reads
                })
            })
            .collect();
        let start = Instant::now();
        let mut written = 0;
        while start.elapsed() < FOR {
            for _ in 0..BATCH {
                let key = &keys[written * 7919 % OBJECTS];
                // Nothing refuses it: there is no index.
                let _ = writer.put(object(key, written as u64));
                written += 1;
            }
            writer.publish();
            let batches = (written / BATCH) as u32;
            let due = start + Duration::from_secs(1) * batches / BATCHES_A_SECOND;
            if let Some(wait) = due.checked_duration_since(Instant::now()) {
                thread::sleep(wait);
            }
        }
        let took = start.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let reads: usize = readers
            .into_iter()
            .filter_map(|reader| reader.join().ok())
            .sum();
        (reads as f64 / took / 1e6, written as f64 / took / 1e3)
    })
}

fn object(key: &ObjectKey, version: u64) -> Arc<Metadata> {
    Arc::new(Metadata::from(Meta {
        name: key.name().to_owned(),
        namespace: key.namespace().map(str::to_owned),
        resource_version: Some(ResourceVersion::parse(&version.to_string())),
        ..Meta::default()
    }))
}
