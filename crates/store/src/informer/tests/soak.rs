//! Twenty resources with everything that can go wrong, in virtual time.

use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::{ByteStream, Client, ClientOptions, Lane, Transport, TransportError};
use evenkeel_meta::{ApiResource, Reason, Scope, Status};
use evenkeel_pace::Rng;
use futures_util::future::BoxFuture;

use super::model::View;
use super::*;
use crate::fake_server::{Answer, any};
use crate::handler::Registration;
use crate::subscription::Subscription;

const RESOURCES: usize = 20;
const NAMES: u64 = 40;

/// One server for each resource, behind one address.
#[derive(Clone)]
struct Fleet(Arc<Vec<FakeServer>>);

impl Transport for Fleet {
    fn send(
        &self,
        lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let plural = request.uri().path().rsplit('/').next().unwrap_or_default();
        let at: usize = plural.trim_start_matches("things").parse().unwrap();
        self.0[at].send(lane, request)
    }
}

fn resource(n: usize) -> ApiResource {
    ApiResource {
        plural: format!("things{n}").into(),
        kind: format!("Thing{n}").into(),
        scope: Scope::Namespaced,
        ..THINGS
    }
}

/// An informer with one handler of each sort, and what they made of what they were told.
struct Followed {
    informer: Informer<Thing>,
    inline: (View, Registration),
    slow: (View, Subscription<Thing>),
}

impl Followed {
    fn new(informer: Informer<Thing>) -> Self {
        let view = View::default();
        let told = view.clone();
        let handler = move |key: &ObjectKey, event: &Event<Thing>| told.apply(key, event);
        let registration = informer.add_handler(handler).unwrap();
        let slow = (View::default(), informer.subscribe().unwrap());
        Self {
            inline: (view, registration),
            slow,
            informer,
        }
    }

    fn check(&mut self, server: &FakeServer, what: &str) {
        let truth = server.contents();
        assert_eq!(contents(&self.informer), truth, "{what}: store");
        let set_aside = self.informer.store().snapshot().set_aside().count();
        assert_eq!(set_aside, 0, "{what}: set aside");
        assert_eq!(self.inline.0.contents(), truth, "{what}: inline handler");
        assert_eq!(self.inline.1.panics(), 0, "{what}: an event did not follow");
        assert!(self.inline.1.has_synced(), "{what}: handler not synced");
        let (view, subscription) = &mut self.slow;
        view.take_some(subscription, usize::MAX);
        assert_eq!(view.contents(), truth, "{what}: subscription");
        assert!(self.informer.freshness().watching, "{what}: no watch");
    }
}

fn change(server: &FakeServer, rng: &mut Rng) -> u64 {
    let name = format!("t{}", rng.below(NAMES));
    match rng.below(20) {
        0..4 => server.delete(&name),
        4 => {
            server.delete(&name);
            server.put(&name, 1_000_000);
            return 2;
        }
        _ => drop(server.put(&name, rng.below(1000) as u32)),
    }
    1
}

fn misbehave(server: &FakeServer, rng: &mut Rng) {
    let busy = Status {
        code: 429,
        reason: Reason::TooManyRequests,
        ..Status::internal("busy")
    };
    match rng.below(14) {
        0 => server.cut(true),
        1 => server.cut(false),
        2 => {
            server.cut(rng.chance(0.5));
            server.compact();
        }
        3 => server.send_error(&Status::expired("too old")),
        4 => server.send_error(&Status::internal("boom")),
        5 => server.send_error(&busy),
        6 => server.bookmark(),
        7 => server.half_open(),
        8 => server.remember(),
        9 => server.lag(1 + rng.below(3) as usize),
        10 => {
            let by = rng.between(Duration::ZERO..Duration::from_secs(20));
            server.delay_next(any, by);
        }
        n => {
            let answer = match n {
                11 => Answer::Status(busy),
                12 => Answer::Status(Status::expired("too old")),
                _ => Answer::Refuse,
            };
            server.answer_next(any, answer);
        }
    }
}

async fn soak(seed: u64, events: u64) {
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();
    let mut rng = Rng::seeded(seed);
    let fleet: Vec<_> = (0..RESOURCES).map(|_| FakeServer::new()).collect();
    let fleet = Fleet(Arc::new(fleet));
    for server in fleet.0.iter() {
        if rng.chance(0.2) {
            server.with_pages();
        }
        if rng.chance(0.1) {
            server.without_markers();
        }
    }
    let client = Client::new(fleet.clone(), ClientOptions::default());
    let informers = Informers::builder(client).seed(seed).build();
    let mut all: Vec<_> = (0..RESOURCES)
        .map(|n| {
            let informer = informers.projected(resource(n), InformerOptions::default());
            Followed::new(informer)
        })
        .collect();
    informers.start();
    let mut made = 0;
    while made < events {
        let at = rng.below(RESOURCES as u64) as usize;
        let server = &fleet.0[at];
        match rng.below(1000) {
            0..960 => made += change(server, &mut rng),
            960..970 => misbehave(server, &mut rng),
            970..985 => {
                let (view, subscription) = &mut all[at].slow;
                view.take_some(subscription, rng.below(60) as usize);
            }
            985..990 => tokio::task::yield_now().await,
            _ => pass(rng.between(Duration::ZERO..Duration::from_secs(2))).await,
        }
    }
    // Requests that hang do so until their time limit.
    pass(Duration::from_secs(700)).await;
    fleet.0.iter().for_each(|server| server.cut(false));
    pass(Duration::from_secs(300)).await;
    for (n, followed) in all.iter_mut().enumerate() {
        followed.check(&fleet.0[n], &format!("seed {seed}, resource {n}"));
    }
    informers.shutdown().await;
    drop((all, informers));
    settle().await;
    let open: usize = fleet.0.iter().map(FakeServer::open_streams).sum();
    assert_eq!(open, 0, "seed {seed}: a stream leaked");
    assert_eq!(tasks(), before, "seed {seed}: a task leaked");
}

/// In the end each store equals its server, each handler's view equals the store, and nothing is
/// left running. `EVENKEEL_STORE_EVENTS=1000000` makes it long; a failure names its seed, and
/// `EVENKEEL_STORE_SEED` replays it.
#[tokio::test(start_paused = true)]
async fn soak_with_cuts_silence_lost_history_and_lagging_replicas() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let events = number("EVENKEEL_STORE_EVENTS").unwrap_or(10_000);
    let seed = number("EVENKEEL_STORE_SEED").unwrap_or(events);
    soak(seed, events).await;
}
