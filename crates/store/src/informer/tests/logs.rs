//! What is logged and measured.

use std::fmt::Write as _;

use evenkeel_meta::{GroupResource, Status};
use evenkeel_observe::{MemorySink, Metrics};
use tracing::field::{Field, Visit};
use tracing::span;

use super::*;
use crate::fake_server::{Answer, any};

/// Keeps this thread's log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Spell<'a>(&'a mut String);

impl Visit for Spell<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("evenkeel_store")
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut Spell(&mut line));
        self.0.lock().push(line);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

impl Lines {
    fn take(&self, level: &str) -> Vec<String> {
        let mut lines = std::mem::take(&mut *self.0.lock());
        lines.retain(|line| line.starts_with(level));
        lines
    }
}

#[tokio::test(start_paused = true)]
async fn client_go_r6_ts27_what_is_normal_is_quiet_and_a_failure_is_named_at_once() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let server = FakeServer::new();
    server.put("a", 1);
    let (informers, _informer) = running(&server).await;
    // Ends, breaks and a lost history.
    pass(Duration::from_secs(60)).await;
    server.bookmark();
    server.cut(false);
    pass(Duration::from_secs(60)).await;
    server.bookmark();
    server.cut(true);
    pass(Duration::from_secs(60)).await;
    server.send_error(&Status::expired("too old"));
    pass(Duration::from_secs(60)).await;
    let loud: Vec<_> = lines
        .0
        .lock()
        .drain(..)
        .filter(|line| !line.starts_with("DEBUG"))
        .collect();
    assert!(loud.is_empty(), "{loud:?}");
    let things = GroupResource {
        group: "test.dev".into(),
        resource: "things".into(),
    };
    let denied = Answer::Status(Status::forbidden(&things, "", "Access Denied"));
    server.answer_next_as(100, any, &denied);
    server.send_error(&Status::expired("too old"));
    pass(Duration::from_secs(3)).await;
    let warned = lines.take("WARN");
    assert!(!warned.is_empty());
    for part in ["things.test.dev", "list", "Access Denied"] {
        assert!(warned[0].contains(part), "{part}: {}", warned[0]);
    }
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn client_go_r14_a_slow_list_is_told_of() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let server = FakeServer::new();
    server.put("a", 1);
    server.delay_next(any, Duration::from_secs(9));
    let (_informers, _informer) = running(&server).await;
    assert!(lines.take("WARN").is_empty());
    server.delay_next(any, Duration::from_millis(9_500));
    server.send_error(&Status::expired("x"));
    pass(Duration::from_secs(60)).await;
    let informers = listing(&server);
    let informer = things(&informers);
    server.delay_next(any, Duration::from_secs(11));
    informers.start();
    informer.synced().await.unwrap();
    let warned = lines.take("WARN");
    assert!(
        warned
            .iter()
            .any(|line| line.contains("a slow list") && line.contains("seconds=11")),
        "{warned:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_m6_lists_and_watches_are_measured() {
    let sink = MemorySink::new();
    let server = FakeServer::new();
    server.put("a", 1);
    server.put("b", 1);
    let builder = Informers::builder(server.client()).seed(7);
    let informers = builder.metrics(Metrics::new(sink.clone())).build();
    let informer = things(&informers);
    let (mut near, mut far) = (informer.subscribe().unwrap(), informer.subscribe().unwrap());
    server.delay_next(any, Duration::from_secs(3));
    informers.start();
    informer.synced().await.unwrap();
    let labels = ["things.test.dev", "test.dev", "v1", "things"];
    let value = |name: &str| sink.value(name, &labels).unwrap_or_default();
    let sum = |name: &str| {
        let snapshot = sink.histogram_snapshot(name, &labels).unwrap();
        (snapshot.count, snapshot.sum)
    };
    let lists = sum("reflector_list_duration_seconds");
    assert!(lists.0 == 1 && lists.1 >= 3.0, "{lists:?}");
    assert_eq!(sum("reflector_items_per_list"), (1, 2.0));
    // One that brought three events and lived a minute; then one that was over at once.
    for n in 2..5 {
        server.put("a", n);
    }
    pass(Duration::from_secs(60)).await;
    server.cut(false);
    settle().await;
    server.cut(false);
    pass(Duration::from_secs(10)).await;
    let watches = sum("reflector_watch_duration_seconds");
    assert!(
        watches.0 == 2 && (60.0..62.0).contains(&watches.1),
        "{watches:?}"
    );
    assert_eq!(
        sum("reflector_items_per_watch").1,
        5.0,
        "two initial, three changes"
    );
    assert_eq!(value("reflector_short_watches_total"), 1.0);
    assert_eq!(value("reflector_events_total"), 7.0);
    // How far behind the slowest is, and all together.
    while near.try_next().is_some() {}
    server.put("a", 9);
    settle().await;
    let queued = (
        value("informer_queued_items"),
        value("informer_pending_notifications"),
    );
    assert_eq!(queued, (3.0, 2.0));
    while far.try_next().is_some() {}
    assert_eq!(value("informer_pending_notifications"), 1.0);
    assert_eq!(
        value("informer_store_resource_version"),
        server.version() as f64
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_i18_no_two_informers_share_their_metrics_and_a_stopped_ones_end() {
    let sink = MemorySink::new();
    let server = FakeServer::new();
    server.put("a", 1);
    server.put_in("other", "b", 1);
    let builder = Informers::builder(server.client()).seed(7);
    let informers = builder.metrics(Metrics::new(sink.clone())).build();
    let all = things(&informers);
    let one: Informer<Thing> =
        informers.projected(THINGS, InformerOptions::default().namespace("ns"));
    informers.start();
    informers.synced().await.unwrap();
    let objects = |name: &str| sink.value("informer_objects", &[name, "test.dev", "v1", "things"]);
    assert_eq!(objects("things.test.dev"), Some(2.0));
    assert_eq!(objects("things.test.dev-2"), Some(1.0));
    one.stop();
    drop(one);
    informers.start();
    settle().await;
    server.put("c", 1);
    settle().await;
    assert_eq!(objects("things.test.dev"), Some(3.0));
    assert_ne!(
        objects("things.test.dev-2"),
        Some(2.0),
        "what was stopped counts nothing more"
    );
    // Its name is free again.
    let again: Informer<Thing> =
        informers.projected(THINGS, InformerOptions::default().namespace("ns"));
    informers.start();
    again.synced().await.unwrap();
    assert_eq!(objects("things.test.dev-2"), Some(2.0));
    drop(all);
}
