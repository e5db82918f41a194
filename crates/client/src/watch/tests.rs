use std::time::Duration;

use evenkeel_meta::{ApiResource, MetaView, Metadata, Scope};
use futures_util::StreamExt;
use tokio::time::Instant;

use crate::testing::{Answer, Pod, Scripted};
use crate::transport::TransportErrorKind;
use crate::{Change, WatchError, WatchEvent, WatchOptions};

const EVENTS: &str = concat!(
    r#"{"type":"ADDED","object":{"metadata":{"name":"a","labels":{"x":"}\n\\\""}}}}"#,
    "\n",
    r#"{"type":"MODIFIED","object":{"metadata":{"name":"b"},"spec":{"nodeName":"n"}}}"#,
    "\n",
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}}"#,
    "\n",
    r#"{"type":"DELETED","object":{"metadata":{"name":"a"}}}"#,
    "\n",
);

/// A short text for each event.
async fn watch(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Vec<String> {
    let server = Scripted::new(move |_, _| answer());
    let pods = server.client().all::<Pod>();
    let watch = pods.watch(&WatchOptions::default()).await.unwrap();
    watch.map(|event| describe(&event)).collect().await
}

fn describe(event: &Result<WatchEvent<Pod>, WatchError>) -> String {
    match event {
        Ok(WatchEvent::Added(pod)) => format!("+{}", pod.metadata.name),
        Ok(WatchEvent::Modified(pod)) => format!("~{}", pod.metadata.name),
        Ok(WatchEvent::Deleted(pod)) => format!("-{}", pod.metadata.name),
        Ok(WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
        }) => {
            format!(
                "={resource_version}{}",
                if *initial_events_end { "!" } else { "" }
            )
        }
        Ok(WatchEvent::Error(status)) => format!("E{}", status.code),
        Ok(WatchEvent::Undecodable {
            change, metadata, ..
        }) => {
            format!("?{change:?} {}", metadata.metadata.name())
        }
        Err(error) => format!("! {error}"),
    }
}

#[tokio::test]
async fn rc11_frames_split_at_every_byte() {
    let expected = ["+a", "~b", "=9", "-a"];
    for cut in 0..=EVENTS.len() {
        let (head, tail) = EVENTS.split_at(cut);
        assert_eq!(
            watch(move || Answer::ok(head).chunk(tail)).await,
            expected,
            "cut at {cut}"
        );
    }
    let bytes = || {
        EVENTS
            .bytes()
            .fold(Answer::new(200), |answer, byte| answer.chunk(vec![byte]))
    };
    assert_eq!(watch(bytes).await, expected);
}

#[tokio::test]
async fn rc11_any_sequence_of_json_values_is_a_stream() {
    let joined = EVENTS.replace('\n', "");
    let expected = ["+a", "~b", "=9", "-a"];
    let text = joined.clone();
    assert_eq!(watch(move || Answer::ok(text.clone())).await, expected);
    let two_a_line = EVENTS.replacen("}}}}\n", "}}}}", 1);
    assert_eq!(
        watch(move || Answer::ok(two_a_line.clone())).await,
        expected
    );
    let pretty =
        "\n{\n \"object\" : {\n  \"metadata\": {\"name\": \"p\"}}\n,\n \"type\":\"ADDED\"}\n\n";
    let text = format!("{pretty}{pretty}{}", EVENTS.lines().next().unwrap());
    for cut in 0..=text.len() {
        let (head, tail) = (text[..cut].to_owned(), text[cut..].to_owned());
        let answer = move || Answer::ok(head.clone()).chunk(tail.clone());
        assert_eq!(watch(answer).await, ["+p", "+p", "+a"], "cut at {cut}");
    }
}

#[tokio::test]
async fn rc11_a_cut_last_frame_ends_silently() {
    for kept in 0..EVENTS.find('\n').unwrap() {
        assert!(
            watch(move || Answer::ok(&EVENTS[..kept])).await.is_empty(),
            "{kept}"
        );
    }
}

#[tokio::test]
async fn rc11_a_malformed_frame_is_an_error_and_the_end() {
    for (bad, text) in [
        ("{\"type\":\"ADDED\"}\n", "missing field `object`"),
        (
            "{\"type\":\"NEWS\",\"object\":{}}\n",
            "unknown type \"NEWS\"",
        ),
        (
            "{\"type\":\"BOOKMARK\",\"object\":{}}\n",
            "missing field `metadata`",
        ),
        ("{\"type\":\"ADDED\",\"object\":{]}}\n", "a watch event"),
        ("nonsense\n", "a watch event"),
    ] {
        let events = watch(move || Answer::ok(bad).chunk(EVENTS)).await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(
            events[0].starts_with("! watch pods: cannot decode"),
            "{events:?}"
        );
        assert!(events[0].contains(text), "{events:?}");
    }
}

#[tokio::test]
async fn rc11_an_event_over_the_limit_is_an_error_before_it_is_all_there() {
    let large = || {
        let chunk = "x".repeat(1 << 20);
        let head = Answer::ok(EVENTS).chunk(r#"{"type":"ADDED","object":{"a":""#);
        (0..17).fold(head, |answer, _| answer.chunk(chunk.clone()))
    };
    let events = watch(large).await;
    assert_eq!(
        events[4..],
        ["! watch pods: an event is larger than 16777216 bytes"]
    );
    let fits = || {
        let filler = "x".repeat(15 << 20);
        Answer::ok(format!(
            r#"{{"type":"ADDED","object":{{"metadata":{{"name":"big"}},"x":"{filler}"}}}}"#
        ))
    };
    assert_eq!(watch(fits).await, ["+big"]);
}

/// The limit is the event's, without what is around it, and in whatever pieces it comes.
#[tokio::test]
async fn rc11_an_event_over_the_limit_is_an_error_wherever_it_is_cut() {
    let event = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
    for (spaces, end) in [("", ""), ("", "\n"), ("\n ", "\r\n"), ("", event)] {
        let text = format!("{spaces}{event}{end}");
        for piece in 1..=text.len() {
            for (limit, fits) in [(event.len(), true), (event.len() - 1, false)] {
                let text = text.clone();
                let server = Scripted::new(move |_, _| {
                    let pieces = text.as_bytes().chunks(piece);
                    pieces.fold(Answer::new(200), |answer, it| answer.chunk(it.to_vec()))
                });
                let options = crate::ClientOptions {
                    largest_event: limit,
                    ..crate::ClientOptions::default()
                };
                let pods = crate::Client::new(server, options).all::<Pod>();
                let mut watch = pods.watch(&WatchOptions::default()).await.unwrap();
                let first = describe(&watch.next().await.unwrap());
                assert_eq!(first == "+a", fits, "{first}, {limit} in pieces of {piece}");
            }
        }
    }
}

#[tokio::test]
async fn rc11_an_error_of_the_server_does_not_end_the_stream() {
    let error = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410}}\n";
    assert_eq!(
        watch(move || Answer::ok(error).chunk(error)).await,
        ["E410", "E410"]
    );
}

#[tokio::test]
async fn kube_rs_d4_an_undecodable_object_is_reported_and_the_stream_goes_on() {
    let bad = concat!(
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"bad","resourceVersion":"4"},"spec":3}}"#,
        "\n",
        r#"{"type":"DELETED","object":{"metadata":{"name":"bad","labels":7},"spec":3}}"#,
        "\n",
    );
    let events = watch(move || Answer::ok(bad).chunk(EVENTS)).await;
    assert_eq!(
        events,
        ["?Modified bad", "?Deleted bad", "+a", "~b", "=9", "-a"]
    );
}

#[tokio::test]
async fn wl4_only_the_exact_annotation_ends_the_initial_events() {
    let bookmark = |annotations: &str| {
        format!(
            "{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"9\"{annotations}}}}}}}\n"
        )
    };
    for (annotations, expected) in [
        (
            r#","annotations":{"k8s.io/initial-events-end":"true"}"#,
            "=9!",
        ),
        (
            r#","annotations":{"k8s.io/initial-events-end":"True"}"#,
            "=9",
        ),
        (r#","annotations":{"other":"true"}"#, "=9"),
        (r#","annotations":null"#, "=9"),
        ("", "=9"),
    ] {
        let text = bookmark(annotations);
        assert_eq!(watch(move || Answer::ok(text.clone())).await, [expected]);
    }
}

#[tokio::test]
async fn tr1_a_lost_connection_is_told_apart() {
    let server = Scripted::new(|_, _| Answer::ok(EVENTS).broken(TransportErrorKind::Closed));
    let pods = server.client().all::<Pod>();
    let mut watch = pods.watch(&WatchOptions::default()).await.unwrap().skip(4);
    let error = watch.next().await.unwrap().unwrap_err();
    assert!(error.is_connection_lost());
    assert_eq!(error.to_string(), "watch pods: scripted");
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn b2_kube_rs_d6_a_silent_watch_is_given_up_after_its_time() {
    let server = Scripted::new(|_, _| Answer::ok(EVENTS).then_silent());
    let pods = server.client().all::<Pod>();
    let options = WatchOptions::default().timeout(Duration::from_secs(100));
    let start = Instant::now();
    let mut watch = pods.watch(&options).await.unwrap().skip(4);
    let error = watch.next().await.unwrap().unwrap_err();
    assert!(error.is_connection_lost());
    assert_eq!(start.elapsed(), Duration::from_secs(130));
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn metadata_of_any_object() {
    let server = Scripted::new(|_, _| Answer::ok(EVENTS));
    let pods = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
    let api = server.client().metadata(pods, None);
    let watch = api.watch(&WatchOptions::default()).await.unwrap();
    let names: Vec<_> = watch
        .filter_map(async |event| match event.unwrap() {
            WatchEvent::Added(Metadata { metadata })
            | WatchEvent::Modified(Metadata { metadata })
            | WatchEvent::Deleted(Metadata { metadata }) => Some(metadata.name().to_owned()),
            _ => None,
        })
        .collect()
        .await;
    assert_eq!(names, ["a", "b", "a"]);
    assert_ne!(Change::Added, Change::Deleted);
}

#[tokio::test]
async fn what_is_not_wanted_is_not_decoded() {
    let bad = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"no\"},\"spec\":3}}\n";
    let text = format!("{bad}{EVENTS}{bad}");
    for cut in 0..=text.len() {
        let (head, tail) = (text[..cut].to_owned(), text[cut..].to_owned());
        let server = Scripted::new(move |_, _| Answer::ok(head.clone()).chunk(tail.clone()));
        let pods = server.client().all::<Pod>();
        let watch = pods.watch(&WatchOptions::default()).await.unwrap();
        let watch = watch.keep_if(|change, identity| {
            identity.name != "no" && (change, identity.name) != (Change::Deleted, "a")
        });
        let events: Vec<_> = watch.map(|event| describe(&event)).collect().await;
        assert_eq!(events, ["+a", "~b", "=9"], "cut at {cut}");
    }
}

/// What cutting them costs is no excuse for another answer: in any pieces, in odd forms too.
#[tokio::test]
async fn managed_fields_are_cut_out_on_request() {
    let lines = concat!(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a","managedFields":[{"manager":"m\"}"}],"uid":"u"}}}"#,
        "\n",
        r#"{ "object": {"metadata": {"managedFields": [{}], "name": "b"}}, "type": "MODIFIED" }"#,
        "\n",
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"c","managedFields":[{}]},"spec":3}}"#,
        "\n",
        // The comma that goes with them is on another line.
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"managedFields\":[{}]\n,\"name\":\"d\"}}}\n",
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","managedFields":[{}]}}}"#,
        "\n",
    );
    let pods = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
    for cut in 0..=lines.len() {
        let (head, tail) = lines.split_at(cut);
        let server = Scripted::new(move |_, _| Answer::ok(head).chunk(tail));
        let api = server.client().dynamic(pods.clone(), None);
        for (api, kept) in [(api.without_managed_fields(), 1), (api, 4)] {
            let watch = api.watch(&WatchOptions::default()).await.unwrap();
            let events: Vec<_> = watch.map(Result::unwrap).collect().await;
            let found = events.iter().filter_map(|event| match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => Some(object),
                _ => None,
            });
            let found: Vec<_> = found.collect();
            let names: Vec<_> = found
                .iter()
                .map(|object| object.metadata.name.as_str())
                .collect();
            assert_eq!(names, ["a", "b", "c", "d"], "cut at {cut}");
            assert_eq!(
                found[0]
                    .metadata
                    .uid
                    .as_ref()
                    .map(evenkeel_meta::Uid::as_str),
                Some("u")
            );
            // The one of an odd form, which decodes the exact way, keeps them.
            let with = found
                .iter()
                .filter(|object| object.managed_fields.is_some());
            assert_eq!(with.count(), kept, "cut at {cut}");
            assert!(matches!(events.last(), Some(WatchEvent::Bookmark { .. })));
        }
    }
}

#[tokio::test]
async fn exact_capacities_are_for_lists_and_watches() {
    #[derive(serde::Deserialize)]
    struct Listing {
        metadata: evenkeel_meta::Meta,
        names: Vec<String>,
    }
    impl evenkeel_meta::Object for Listing {
        type Meta = evenkeel_meta::Meta;
        fn metadata(&self) -> &evenkeel_meta::Meta {
            &self.metadata
        }
    }
    let object = r#"{"metadata":{"name":"a"},"names":["x"]}"#;
    let event = format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n");
    let list = format!("{{\"metadata\":{{}},\"items\":[{object}]}}");
    let server = Scripted::new(move |_, seen| match seen.target.contains("watch") {
        true => Answer::ok(event.clone()),
        false => Answer::ok(list.clone()),
    });
    let resource =
        ApiResource::new_static("test.dev", "v1", "Listing", "listings", Scope::Namespaced);
    let api = server.client().projected::<Listing>(resource, None);
    let exact = api.with_exact_capacities();
    // A vector that grows begins with room for four.
    for (api, capacity) in [(&api, 4), (&exact, 1)] {
        let mut watch = api.watch(&WatchOptions::default()).await.unwrap();
        let Some(Ok(WatchEvent::Added(watched))) = watch.next().await else {
            panic!("no event");
        };
        let mut page = api
            .stream_page(&crate::ListOptions::default())
            .await
            .unwrap();
        let Some(Ok(crate::PageItem::Object(listed))) = page.next().await else {
            panic!("no item");
        };
        for listing in [watched, listed] {
            assert_eq!(listing.names.capacity(), capacity);
        }
    }
}

mod retry;
