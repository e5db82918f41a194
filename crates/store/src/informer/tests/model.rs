use std::collections::BTreeMap;

use evenkeel_meta::Status;
use evenkeel_pace::Rng;

use super::*;
use crate::event::Deletion;
use crate::fake_server::{Answer, any};
use crate::subscription::Subscription;

/// What a handler makes of what it is told. It refuses events that do not follow from the ones
/// before: an addition of what is there, an update of another state, another UID.
#[derive(Clone, Default)]
pub(super) struct View(Arc<Mutex<BTreeMap<String, Arc<Thing>>>>);

impl View {
    pub(super) fn apply(&self, key: &ObjectKey, event: &Event<Thing>) {
        let mut view = self.0.lock();
        let name = key.name().to_owned();
        match event {
            Event::Added { object, .. } => {
                let there = view.insert(name, Arc::clone(object));
                assert!(there.is_none(), "{key} was there");
            }
            Event::Updated { old, new } => {
                assert_eq!(old.metadata.uid, new.metadata.uid);
                let there = view.insert(name, Arc::clone(new));
                assert!(
                    there.is_some_and(|there| Arc::ptr_eq(&there, old)),
                    "{key} skipped a state"
                );
            }
            Event::Deleted(Deletion::Final(last)) => {
                if let Some(there) = view.remove(&name) {
                    assert_eq!(there.metadata.uid, last.metadata.uid);
                }
            }
            Event::Deleted(Deletion::Unknown { .. }) => {
                view.remove(&name);
            }
        }
    }

    pub(super) fn contents(&self) -> BTreeMap<String, u64> {
        let view = self.0.lock();
        view.iter()
            .map(|(name, thing)| (name.clone(), u64::from(thing.size)))
            .collect()
    }

    pub(super) fn take_some(&self, subscription: &mut Subscription<Thing>, most: usize) {
        for _ in 0..most {
            let Some((key, event)) = subscription.try_next() else {
                break;
            };
            self.apply(&key, &event);
        }
    }
}

fn misbehave(server: &FakeServer, rng: &mut Rng) {
    let answers = [
        Answer::Status(Status::internal("boom")),
        Answer::Status(Status::expired("too old")),
        Answer::Status(Status::too_large_resource_version(9, 1, 1)),
        Answer::Refuse,
        Answer::Hang,
    ];
    match rng.below(8) {
        0 => server.cut(true),
        1 => server.cut(false),
        2 => {
            server.cut(rng.chance(0.5));
            server.compact();
        }
        3 => server.send_error(&Status::expired("too old")),
        4 => server.send_error(&Status::internal("boom")),
        5 => server.bookmark(),
        _ => {
            let answer = &answers[rng.below(answers.len() as u64) as usize];
            server.answer_next(any, answer.clone());
        }
    }
}

fn change(server: &FakeServer, rng: &mut Rng) {
    let name = format!("t{}", rng.below(30));
    match rng.below(20) {
        0..5 => server.delete(&name),
        5 => {
            server.delete(&name);
            server.put(&name, 1000);
        }
        _ => {
            server.put(&name, rng.below(1000) as u32);
        }
    }
}

async fn run(seed: u64, steps: usize) {
    let mut rng = Rng::seeded(seed);
    let server = FakeServer::new();
    if rng.chance(0.3) {
        server.with_pages();
    }
    if rng.chance(0.2) {
        server.without_markers();
    }
    let informers = if rng.chance(0.5) {
        informers(&server)
    } else {
        listing(&server)
    };
    let informer = things(&informers);
    let mut registrations = Vec::new();
    let mut inline = vec![View::default()];
    let mut slow: Vec<(View, Subscription<Thing>)> = Vec::new();
    let view = inline[0].clone();
    let handler = move |key: &ObjectKey, event: &Event<Thing>| view.apply(key, event);
    registrations.push(informer.add_handler(handler).unwrap());
    slow.push((View::default(), informer.subscribe().unwrap()));
    informers.start();
    for _ in 0..steps {
        match rng.below(100) {
            0..70 => change(&server, &mut rng),
            70..78 => misbehave(&server, &mut rng),
            78..88 => pass(rng.between(Duration::ZERO..Duration::from_secs(3))).await,
            88..94 => {
                let at = rng.below(slow.len() as u64) as usize;
                let (view, subscription) = &mut slow[at];
                view.take_some(subscription, rng.below(20) as usize);
            }
            94 if inline.len() < 4 => {
                inline.push(View::default());
                let view = inline[inline.len() - 1].clone();
                let handler = move |key: &ObjectKey, event: &Event<Thing>| view.apply(key, event);
                registrations.push(informer.add_handler(handler).unwrap());
            }
            95 if slow.len() < 4 => slow.push((View::default(), informer.subscribe().unwrap())),
            96 if slow.len() > 1 => drop(slow.remove(0)),
            _ => tokio::task::yield_now().await,
        }
    }
    // Requests that hang do so until their time limit.
    pass(Duration::from_secs(600)).await;
    server.cut(false);
    pass(Duration::from_secs(300)).await;
    let truth = server.contents();
    assert_eq!(contents(&informer), truth, "seed {seed}: store");
    assert_eq!(
        informer.store().snapshot().in_namespace("ns").len(),
        truth.len()
    );
    for view in &inline {
        assert_eq!(view.contents(), truth, "seed {seed}: inline handler");
    }
    for (view, mut subscription) in slow {
        view.take_some(&mut subscription, usize::MAX);
        assert_eq!(view.contents(), truth, "seed {seed}: subscription");
        assert!(subscription.has_synced());
    }
    for registration in &registrations {
        assert_eq!(
            registration.panics(),
            0,
            "seed {seed}: an event did not follow from the last"
        );
        assert!(registration.has_synced());
    }
    informers.shutdown().await;
    assert_eq!(server.open_streams(), 0, "seed {seed}: a stream leaked");
}

/// Random changes, cuts, relists, errors and lagging consumers: in the end the store equals the
/// server, and each handler's view equals the store. A failing seed replays by itself.
#[tokio::test(start_paused = true)]
async fn model_the_store_equals_the_server_and_every_view_equals_the_store() {
    for seed in 0..40 {
        run(seed, 400).await;
    }
}
