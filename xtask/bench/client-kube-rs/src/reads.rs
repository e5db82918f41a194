//! Reads by key from two threads, while a third one writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::metadata::PartialObjectMeta;
use kube_runtime::reflector::{self, ObjectRef};
use kube_runtime::watcher::Event;

type Object = PartialObjectMeta<Pod>;

const OBJECTS: usize = 100_000;
const READERS: usize = 2;
const FOR: Duration = Duration::from_secs(3);
/// Writes come in batches, as they do from a watch.
const BATCH: usize = 50;
const BATCHES_A_SECOND: u32 = 1000;

pub fn run() {
    let (store, mut writer) = reflector::store::<Object>();
    let keys: Vec<_> = (0..OBJECTS)
        .map(|n| ObjectRef::from_obj(&object(n, 1)))
        .collect();
    for n in 0..OBJECTS {
        writer.apply_watcher_event(&Event::Apply(object(n, 1)));
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|seed| {
                let (store, keys, stop) = (store.clone(), &keys, &stop);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed as u64);
                    let mut reads = 0_u64;
                    while !stop.load(Ordering::Relaxed) {
                        for _ in 0..1000 {
                            let key = &keys[random.usize(..keys.len())];
                            assert!(store.get(key).is_some(), "an object that was always there");
                        }
                        reads += 1000;
                    }
                    reads
                })
            })
            .collect();
        let start = Instant::now();
        let mut written = 0;
        while start.elapsed() < FOR {
            for _ in 0..BATCH {
                let event = Event::Apply(object(written * 7919 % OBJECTS, written));
                writer.apply_watcher_event(&event);
                written += 1;
            }
            let batches = (written / BATCH) as u32;
            let due = start + Duration::from_secs(1) * batches / BATCHES_A_SECOND;
            if let Some(wait) = due.checked_duration_since(Instant::now()) {
                thread::sleep(wait);
            }
        }
        let took = start.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let reads: u64 = readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .sum();
        println!("reads {:.3}", reads as f64 / took / 1e6);
        println!("writes {:.3}", written as f64 / took / 1e3);
    });
}

fn object(n: usize, version: usize) -> Object {
    PartialObjectMeta {
        types: None,
        metadata: ObjectMeta {
            namespace: Some(format!("team-{}", n % 200)),
            name: Some(format!("pod-{n:06}")),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        },
        _phantom: std::marker::PhantomData,
    }
}
