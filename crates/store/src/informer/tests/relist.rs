//! What a list of everything takes, at first and again: time and memory.

use std::cell::Cell;
use std::collections::VecDeque;

use bytes::Bytes;
use evenkeel_client::{ByteStream, Client, ClientOptions, Lane, Transport, TransportError};
use evenkeel_meta::{Meta, Object, Status};
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::fake_server::{Answer, is_list, is_watch_list};

/// How a server makes a list take longer than its history lasts.
type Slowness = fn(&FakeServer);

/// Each request takes 0.8 s, history lasts two seconds, and there is always something going on.
const SLOW: [(bool, Slowness); 3] = [
    // The version of the first page is forgotten when the last one comes.
    (false, |_| {}),
    // Nor is there a second page.
    (false, |server| {
        let expired = Answer::Status(Status::expired("token"));
        server.answer_next_as(100, |query| query.contains("continue="), &expired);
    }),
    (true, |server| {
        server.delay_next(is_watch_list, Duration::from_secs(5));
    }),
];

/// And a handler that is slower still, which does not matter: nobody waits for it.
#[tokio::test(start_paused = true)]
async fn kube_rs_11_lists_that_take_longer_than_the_history_lasts_come_to_an_end() {
    for (at, (watch_list, slow)) in SLOW.into_iter().enumerate() {
        let server = FakeServer::new();
        server.with_pages();
        for n in 0..100 {
            server.put(&format!("t{n}"), n);
        }
        for _ in 0..1000 {
            server.delay_next(is_list, Duration::from_millis(800));
        }
        slow(&server);
        let options = ReflectorOptions {
            watch_list,
            page_size: Some(20),
            ..ReflectorOptions::default()
        };
        let builder = Informers::builder(server.client()).seed(7);
        let informers = builder.reflector(options).build();
        let informer = things(&informers);
        let slow_handler = |_, _| tokio::time::sleep(Duration::from_secs(1));
        let _registration = informer.add_slow_handler(slow_handler).unwrap();
        let busy = tokio::spawn({
            let server = server.clone();
            async move {
                let mut remembered = VecDeque::new();
                for n in 1000.. {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    remembered.push_back(server.put("busy", n));
                    if remembered.len() > 20 {
                        server.compact_to(remembered.pop_front().unwrap());
                    }
                }
            }
        });
        informers.start();
        informer
            .synced_within(Duration::from_secs(60))
            .await
            .unwrap();
        pass(Duration::from_secs(30)).await;
        server.requests();
        pass(Duration::from_secs(60)).await;
        assert!(
            server.requests().iter().all(|query| !is_list(query)),
            "{at}"
        );
        let written = server.put("t7", 77).into();
        let seen = informer.store().wait_for(&written);
        let seen = tokio::time::timeout(Duration::from_millis(50), seen).await;
        seen.unwrap().unwrap();
        busy.abort();
        settle().await;
        assert_eq!(contents(&informer), server.contents(), "{at}");
    }
}

/// How much of an object there is as text.
const SIZE: usize = 1 << 10;
const OBJECTS: usize = 2_000;

thread_local! {
    /// Objects that there are.
    static ALIVE: Cell<usize> = const { Cell::new(0) };
    /// Objects that have been decoded since the list began.
    static DECODED: Cell<usize> = const { Cell::new(0) };
    /// Text that has come since the list began.
    static READ: Cell<usize> = const { Cell::new(0) };
    /// The most that there was of both.
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn note_peak() {
    let waiting = READ.get().saturating_sub(DECODED.get() * SIZE);
    PEAK.set(PEAK.get().max(ALIVE.get() * SIZE + waiting));
}

/// Counts the objects that there are.
struct Alive;

impl Default for Alive {
    fn default() -> Self {
        ALIVE.set(ALIVE.get() + 1);
        DECODED.set(DECODED.get() + 1);
        note_peak();
        Self
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

#[derive(serde::Deserialize)]
struct Bulky {
    metadata: Meta,
    #[serde(skip)]
    _alive: Alive,
}

impl Object for Bulky {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

/// Sends everything in pieces that are read one by one. A watch ends with 410 when it is told to.
#[derive(Clone)]
struct Bulk {
    versions: Arc<Mutex<Vec<u64>>>,
    expire: Arc<Notify>,
}

impl Bulk {
    fn texts(&self) -> Vec<String> {
        let versions = self.versions.lock();
        let text = |(n, version): (usize, &u64)| {
            let metadata = json!({"name": format!("o{n}"), "namespace": "ns", "uid": format!("u{n}"),
                "resourceVersion": version.to_string()});
            let mut object = json!({"metadata": metadata, "text": ""}).to_string();
            let fill = "x".repeat(SIZE - object.len());
            object.insert_str(object.len() - 2, &fill);
            object
        };
        versions.iter().enumerate().map(text).collect()
    }

    fn body(&self, query: &str) -> ByteStream {
        let newest = self
            .versions
            .lock()
            .iter()
            .max()
            .copied()
            .unwrap_or_default();
        let metadata = json!({"resourceVersion": newest.to_string()});
        let event = |kind: &str, object: &Value| {
            let text = json!({"type": kind, "object": object}).to_string();
            Bytes::from(text + "\n")
        };
        let mut expired = serde_json::to_value(Status::expired("too old")).unwrap();
        expired["kind"] = json!("Status");
        let expire = Arc::clone(&self.expire);
        let expired = event("ERROR", &expired);
        let end = stream::once(async move {
            expire.notified().await;
            expired
        });
        if is_list(query) {
            let text = format!(
                r#"{{"kind":"ThingList","metadata":{metadata},"items":[{}]}}"#,
                self.texts().join(",")
            );
            return pieces(text);
        }
        if !is_watch_list(query) {
            return end.map(Ok).boxed();
        }
        let mut text = String::new();
        for object in self.texts() {
            text += &format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n");
        }
        let mut marker = json!({"metadata": metadata});
        marker["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        let marker = event("BOOKMARK", &marker);
        let tail = stream::once(async { marker }).chain(end).map(Ok);
        pieces(text).chain(tail).boxed()
    }
}

fn pieces(text: String) -> ByteStream {
    let text = Bytes::from(text);
    let starts = (0..text.len()).step_by(4 << 10);
    let pieces: Vec<_> = starts
        .map(|start| text.slice(start..text.len().min(start + (4 << 10))))
        .collect();
    let read = stream::iter(pieces).map(|piece| {
        READ.set(READ.get() + piece.len());
        note_peak();
        Ok(piece)
    });
    read.boxed()
}

impl Transport for Bulk {
    fn send(
        &self,
        _: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let body = self.body(request.uri().query().unwrap_or_default());
        async { Ok(http::Response::new(body)) }.boxed()
    }
}

/// Where little has changed, neither the old and the new contents nor a list's text are in memory at
/// once: text is read as it is decoded, and what is unchanged is dropped as it is found so.
#[tokio::test(start_paused = true)]
async fn kube_rs_15_a_relist_takes_a_fifth_more_memory_at_most() {
    for watch_list in [true, false] {
        let server = Bulk {
            versions: Arc::new(Mutex::new((1..=OBJECTS as u64).collect())),
            expire: Arc::default(),
        };
        let client = Client::new(server.clone(), ClientOptions::default());
        let options = ReflectorOptions {
            watch_list,
            ..ReflectorOptions::default()
        };
        let informers = Informers::builder(client).reflector(options).build();
        let informer: Informer<Bulky> = informers.projected(THINGS, InformerOptions::default());
        informers.start();
        informer.synced().await.unwrap();
        let steady = OBJECTS * SIZE;
        assert_eq!(ALIVE.get() * SIZE, steady);
        for changed in [0, OBJECTS / 10, 0] {
            let mut version = 10 * OBJECTS as u64;
            for old in server.versions.lock().iter_mut().take(changed) {
                version += 1;
                *old = version;
            }
            for counter in [&DECODED, &READ, &PEAK] {
                counter.set(0);
            }
            server.expire.notify_one();
            pass(Duration::from_secs(10)).await;
            assert_eq!(DECODED.get(), OBJECTS, "everything came again");
            let ratio = PEAK.get() as f64 / steady as f64;
            assert!(ratio < 1.2, "{ratio}: {changed} changed");
            assert_eq!(ALIVE.get() * SIZE, steady);
        }
        drop((informer, informers));
        settle().await;
        assert_eq!(ALIVE.get(), 0);
    }
}
