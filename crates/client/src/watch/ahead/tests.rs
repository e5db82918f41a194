use std::thread::{self, ThreadId};

use evenkeel_meta::{ApiResource, Meta, MetaView, Object, Scope};
use futures_util::StreamExt;

use super::CHUNK;
use crate::WatchOptions;
use crate::testing::{Answer, Scripted, Touchy};
use crate::transport::TransportErrorKind;
use crate::watch::WatchStream;

const THINGS: ApiResource =
    ApiResource::new_static("test.dev", "v1", "Thing", "things", Scope::Namespaced);

/// Knows who decoded it.
#[derive(Clone, Debug, serde::Deserialize)]
struct Thing {
    metadata: Meta,
    #[serde(default)]
    size: u32,
    #[serde(skip, default = "here")]
    by: Option<ThreadId>,
}

#[expect(clippy::unnecessary_wraps, reason = "fields have defaults")]
fn here() -> Option<ThreadId> {
    Some(thread::current().id())
}

impl Object for Thing {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

async fn watch(text: &str, pieces: usize, is_broken: bool) -> WatchStream<Thing> {
    let (text, pieces) = (text.as_bytes().to_vec(), pieces.max(1));
    let server = Scripted::new(move |_, _| {
        let answer = text.chunks(pieces).fold(Answer::new(200), |answer, piece| {
            answer.chunk(piece.to_vec())
        });
        if is_broken {
            answer.broken(TransportErrorKind::Closed)
        } else {
            answer
        }
    });
    let things = server.client().projected::<Thing>(THINGS, None);
    things.watch(&WatchOptions::default()).await.unwrap()
}

/// What comes out, without who decoded it; and who did.
async fn collect(stream: WatchStream<Thing>) -> (Vec<String>, Vec<ThreadId>) {
    let mut by = Vec::new();
    let events = stream
        .map(|event| {
            use crate::WatchEvent::{Added, Deleted, Modified};
            match event {
                Ok(Added(thing) | Modified(thing) | Deleted(thing)) => {
                    by.extend(thing.by);
                    format!("{} {}", thing.metadata.name, thing.size)
                }
                other => format!("{other:?}"),
            }
        })
        .collect()
        .await;
    (events, by)
}

fn usual(number: u32) -> String {
    let name = format!("thing-{number:08}");
    format!(
        "{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"{name}\",\"managedFields\":[{{\"a\":{number}}}]}},\"size\":{number}}}}}\n"
    )
}

/// Events as API servers write them, and now and then one of another form.
fn text(random: &mut fastrand::Rng, oddities: bool) -> String {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < 6 * CHUNK {
        number += 1;
        let usual = usual(number);
        let oddity = if oddities { random.u32(..600) } else { 600 };
        match oddity {
            0 => text.push_str(&usual.replace("\"size\":", "\"size\":\"none\",\"x\":")),
            1 => text.push_str(&usual.replace(',', "\n,\n")),
            2 => text.push_str(&usual.replace("},\"size\"", "}\n,\"size\"")),
            3 => text.push_str(usual.trim_end()),
            4 => text.push_str(&format!("\n\n {usual}")),
            5 => text.push_str(&usual.replace("thing-", &"long".repeat(CHUNK / 2))),
            6 => text.push_str(
                "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n",
            ),
            7 if random.u8(..4) == 0 => text.push_str("nonsense\n"),
            _ => text.push_str(&usual),
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rc11_what_is_decoded_ahead_is_what_is_decoded_in_turn() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let text = text(&mut random, true);
        let pieces = random.usize(1000..3 * CHUNK);
        let is_broken = random.bool();
        let (expected, _) = collect(watch(&text, pieces, is_broken).await).await;
        let ahead = watch(&text, pieces, is_broken).await.decode_ahead();
        let (events, _) = collect(ahead).await;
        assert!(events == expected, "seed {seed}, pieces of {pieces}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_decoded_by_the_threads_of_the_runtime() {
    let text = text(&mut fastrand::Rng::with_seed(1), false);
    let (events, by) = collect(watch(&text, CHUNK / 4, false).await.decode_ahead()).await;
    assert_eq!(events.len(), text.lines().count());
    // The test itself runs on none of them.
    let here = thread::current().id();
    let elsewhere = by.iter().filter(|thread| **thread != here).count();
    assert!(elsewhere > by.len() / 2, "{elsewhere} of {}", by.len());
}

#[tokio::test]
async fn a_runtime_of_one_thread_decodes_in_turn() {
    let text = text(&mut fastrand::Rng::with_seed(1), false);
    let stream = watch(&text, text.len(), false).await.decode_ahead();
    assert!(!stream.ahead.as_ref().unwrap().has_room());
    let (events, _) = collect(stream).await;
    assert_eq!(events.len(), text.lines().count());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_come_one_by_one_are_decoded_where_they_are_waited_for() {
    let text = text(&mut fastrand::Rng::with_seed(1), false);
    let mut stream = watch(&text[..CHUNK - 1], CHUNK, false).await.decode_ahead();
    let event = stream.next().await.unwrap().unwrap();
    let crate::WatchEvent::Added(thing) = event else {
        panic!("{event:?}");
    };
    assert_eq!(thing.by, here());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_whose_decoding_panics_is_reported_and_the_others_come() {
    let event = |number: usize| {
        let size = if number == 3000 { "x" } else { "1" };
        format!(
            "{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"n{number}\"}},\"size\":\"{size}\"}}}}\n"
        )
    };
    let text: String = (0..6000).map(event).collect();
    for ahead in [false, true] {
        let text = text.clone();
        let server = Scripted::new(move |_, _| Answer::ok(text.clone()));
        let api = server.client().projected::<Touchy>(Touchy::RESOURCE, None);
        let mut stream = api.watch(&WatchOptions::default()).await.unwrap();
        if ahead {
            stream = stream.decode_ahead();
        }
        let mut number = 0;
        while let Some(event) = stream.next().await {
            let name = match event.unwrap() {
                crate::WatchEvent::Added(thing) if number != 3000 => thing.metadata.name,
                crate::WatchEvent::Undecodable { metadata, .. } if number == 3000 => {
                    metadata.metadata.name().to_owned()
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(name, format!("n{number}"));
            number += 1;
        }
        assert_eq!(number, 6000);
    }
}
