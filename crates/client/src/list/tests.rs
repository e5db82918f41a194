use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_meta::{ApiResource, MetaView, Metadata, Scope};
use futures_core::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};

use super::decoder::{Decoder, Step};
use crate::testing::{Answer, Pod, Scripted, Touchy};
use crate::transport::{ByteStream, Lane, Transport, TransportError, TransportErrorKind};
use crate::{Client, ClientOptions, Error, List, ListOptions, PageItem, Undecodable};

/// A list as Go writes custom resources: the metadata comes last.
const SORTED: &str = r#"{"apiVersion":"v1","items":[{"metadata":{"name":"a"}},
  {"metadata":{"name":"b","labels":{"x":"}],\"items\":["}}}],"kind":"PodList",
  "metadata":{"continue":"","resourceVersion":"7","remainingItemCount":3}}"#;

async fn list(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Result<List<Pod>, Error> {
    let server = Scripted::new(move |_, _| answer());
    server
        .client()
        .all::<Pod>()
        .list(&ListOptions::default())
        .await
}

fn names(list: &List<Pod>) -> Vec<&str> {
    list.into_iter().map(|pod| &*pod.metadata.name).collect()
}

fn page(version: u64, token: &str, names: &[&str]) -> Answer {
    let items: Vec<_> = names
        .iter()
        .map(|name| serde_json::json!({"metadata": {"name": name}}))
        .collect();
    let list = serde_json::json!({
        "kind": "PodList", "items": items,
        "metadata": {"resourceVersion": version.to_string(), "continue": token},
    });
    Answer::ok(list.to_string())
}

fn expired() -> Answer {
    Answer::new(410).chunk(r#"{"kind":"Status","status":"Failure","reason":"Expired","code":410}"#)
}

#[tokio::test]
async fn items_are_found_wherever_the_bytes_are_cut() {
    for cut in 0..=SORTED.len() {
        let (head, tail) = SORTED.split_at(cut);
        let list = list(move || Answer::ok(head).chunk(tail)).await.unwrap();
        assert_eq!(names(&list), ["a", "b"], "cut at {cut}");
        assert_eq!(list.resource_version, 7.into());
    }
    let list = list(|| {
        SORTED
            .bytes()
            .fold(Answer::new(200), |answer, byte| answer.chunk(vec![byte]))
    });
    assert_eq!(names(&list.await.unwrap()), ["a", "b"]);
}

/// A server whose answers go on with these chunks behind the list; it counts how many were taken,
/// the end included.
struct Talkative(Vec<&'static [u8]>, Arc<AtomicUsize>);

impl Transport for Talkative {
    fn send(
        &self,
        _: Lane,
        _: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let taken = Arc::clone(&self.1);
        let mut rest = self.0.clone().into_iter().map(Bytes::from_static);
        let rest = stream::poll_fn(move |_| {
            taken.fetch_add(1, Ordering::Relaxed);
            Poll::Ready(rest.next().map(Ok))
        });
        let list = stream::iter([Ok(Bytes::from_static(SORTED.as_bytes()))]);
        let body: ByteStream = list.chain(rest).boxed();
        std::future::ready(Ok(http::Response::new(body))).boxed()
    }
}

#[tokio::test]
async fn an_answer_is_read_to_its_end_but_not_for_ever() {
    const LONG: &[u8] = &[b' '; 3000];
    for (rest, expected) in [
        (vec![], 1),
        // As Go's encoder ends.
        (vec![b"\n".as_slice()], 2),
        (vec![LONG; 9], 2),
    ] {
        let taken = Arc::new(AtomicUsize::new(0));
        let server = Talkative(rest, Arc::clone(&taken));
        let client = Client::new(server, ClientOptions::default());
        let pods = client.all::<Pod>();
        let list = pods.list(&ListOptions::default()).await.unwrap();
        assert_eq!(names(&list), ["a", "b"]);
        assert_eq!(taken.load(Ordering::Relaxed), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_end_costs_a_second() {
    let begin = tokio::time::Instant::now();
    let list = list(|| Answer::ok(SORTED).then_silent()).await.unwrap();
    assert_eq!(names(&list), ["a", "b"]);
    assert_eq!(begin.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn an_item_is_there_before_the_rest_has_arrived() {
    let server = Scripted::new(|_, _| Answer::ok(&SORTED[..70]).then_silent());
    let pods = server.client().all::<Pod>();
    let mut page = pods.stream_page(&ListOptions::default()).await.unwrap();
    let Some(Ok(PageItem::Object(pod))) = page.next().await else {
        panic!("no object")
    };
    assert_eq!(pod.metadata.name, "a");
}

#[tokio::test]
async fn no_items_are_an_empty_list_and_other_answers_none() {
    for body in [
        r#"{"kind":"PodList","items":null}"#,
        r#"{"items":[]}"#,
        r#"{"metadata":null,"items":[]}"#,
    ] {
        assert!(
            list(move || Answer::ok(body))
                .await
                .unwrap()
                .items
                .is_empty()
        );
    }
    for (body, found) in [
        (
            r#"{"kind":"Table","rows":[{"cells":["a"]}]}"#,
            "expected a list, got Table",
        ),
        (
            r#"{"kind":"Pod","metadata":{"name":"a"}}"#,
            "expected a list, got Pod",
        ),
        ("{}", "expected a list, got no list"),
        (r#"{"items":{"a":1}}"#, "its items are no array"),
        (r#"{"items":"none"}"#, "its items are no array"),
        (r#"{"items":0}"#, "its items are no array"),
        (r#"{"items":}}"#, "its items are no array"),
        ("[]", "it does not begin with '{'"),
        ("<html>", "it does not begin with '{'"),
    ] {
        let error = list(move || Answer::ok(body)).await.unwrap_err();
        assert!(matches!(error, Error::Decode(_)), "{body}");
        assert!(error.to_string().contains(found), "{error}");
    }
}

#[tokio::test]
async fn kube_rs_d4_one_undecodable_object_does_not_hold_up_the_list() {
    let body = r#"{"items":[{"metadata":{"name":"a"}},
        {"metadata":{"name":"bad","namespace":"ns","resourceVersion":"4"},"spec":{"nodeName":[]}},
        3, {"metadata":{"name":"c"}}],"metadata":{"resourceVersion":"7"}}"#;
    let list = list(move || Answer::ok(body)).await.unwrap();
    assert_eq!(names(&list), ["a", "c"]);
    assert_eq!(list.resource_version, 7.into());
    let bad = &list.undecodable[0];
    assert_eq!(bad.metadata.metadata.resource_version(), Some(4.into()));
    assert_eq!(bad.error.what(), r#"pods "ns/bad""#);
    assert_eq!(list.undecodable.len(), 2);
}

#[tokio::test]
async fn an_object_whose_decoding_panics_does_not_hold_up_the_list() {
    for exact in [false, true] {
        let body = r#"{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"bad"},"size":"x"},
            {"metadata":{"name":"c"},"size":"1"}],"metadata":{"resourceVersion":"7"}}"#;
        let mut things = Scripted::new(move |_, _| Answer::ok(body))
            .client()
            .projected::<Touchy>(Touchy::RESOURCE, None);
        if exact {
            things = things.with_exact_capacities();
        }
        let list = things.list(&ListOptions::default()).await.unwrap();
        let names: Vec<_> = list.items.iter().map(|it| &*it.metadata.name).collect();
        assert_eq!(names, ["a", "c"]);
        let error = list.undecodable[0].error.to_string();
        assert!(
            error.contains("things.test.dev \"bad\": panicked: "),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_list_that_breaks_off_is_an_error() {
    for broken in [
        || Answer::ok(&SORTED[..90]),
        || Answer::ok(&SORTED[..90]).broken(TransportErrorKind::Closed),
    ] {
        let error = list(broken).await.unwrap_err();
        assert!(matches!(&error, Error::Transport(e) if e.kind() == TransportErrorKind::Closed));
        assert!(error.to_string().starts_with("list pods: "), "{error}");
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn p2_kube_rs_13_pages_are_joined_in_the_state_of_the_first() {
    let server = Scripted::new(|nth, _| match nth {
        0 => page(7, "t1", &["a", "b"]),
        1 => page(8, "t2", &["c"]),
        _ => page(9, "", &["d"]),
    });
    let options = ListOptions::default().page_size(2).at(3.into());
    let list = server.client().all::<Pod>().list(&options).await.unwrap();
    assert_eq!(names(&list), ["a", "b", "c", "d"]);
    assert_eq!((list.resource_version, list.paged), (7.into(), true));
    assert_eq!(
        server.targets(),
        [
            "/api/v1/pods?limit=2&resourceVersion=3",
            "/api/v1/pods?limit=2&continue=t1",
            "/api/v1/pods?limit=2&continue=t2",
        ]
    );
}

#[tokio::test]
async fn p3_kube_rs_d3_an_expired_token_ends_in_one_full_list() {
    let server = Scripted::new(|nth, _| match nth {
        0 => page(7, "t1", &["a", "gone"]),
        1 => expired(),
        _ => page(9, "", &["a", "d"]),
    });
    let options = ListOptions::default().page_size(2).at(3.into());
    let list = server.client().all::<Pod>().list(&options).await.unwrap();
    assert_eq!(
        names(&list),
        ["a", "d"],
        "nothing of the first pages is kept"
    );
    assert_eq!((list.resource_version, list.paged), (9.into(), true));
    assert_eq!(server.targets()[2], "/api/v1/pods?resourceVersion=3");
}

#[tokio::test]
async fn p3_expired_on_the_first_page_is_the_callers() {
    let server = Scripted::new(|_, _| expired());
    let error = server
        .client()
        .all::<Pod>()
        .list(&ListOptions::default())
        .await;
    assert!(error.unwrap_err().is_expired());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn p4_a_list_that_never_answers_can_be_dropped() {
    let server = Scripted::new(|_, _| Answer::no_head());
    let pods = server.client().all::<Pod>();
    let limit = Duration::from_millis(1);
    let outcome = tokio::time::timeout(limit, pods.list(&ListOptions::default())).await;
    assert!(outcome.is_err());
}

#[tokio::test]
async fn what_is_not_wanted_is_not_decoded() {
    let body = r#"{"items":[{"metadata":{"name":"a","resourceVersion":"1"}},
        {"metadata":{"name":"b","resourceVersion":"2"},"spec":"would not decode"},
        {"metadata":{"name":"c","resourceVersion":"3"}}, 3],"metadata":{}}"#;
    let server = Scripted::new(move |_, _| Answer::ok(body));
    let pods = server.client().all::<Pod>();
    let page = pods.stream_page(&ListOptions::default()).await.unwrap();
    let page = page.keep_if(|identity| identity.resource_version != Some("2"));
    let page = page.collect_page().await.unwrap();
    let names: Vec<_> = page.items.iter().map(|pod| &*pod.metadata.name).collect();
    assert_eq!(names, ["a", "c"]);
    assert_eq!(page.undecodable.len(), 1, "only the one without identity");
}

#[test]
fn kube_rs_d4_the_identity_survives_broken_metadata() {
    let read = |text: &str| {
        let pods = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
        let error = serde_json::from_str::<u8>("{}").unwrap_err();
        Undecodable::new(text.as_bytes(), &pods, &error)
    };
    let broken = read(
        r#"{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7","labels":[1]},"spec":3}"#,
    );
    assert_eq!(broken.metadata.metadata.resource_version(), Some(7.into()));
    let text = broken.error.to_string();
    assert!(text.starts_with(r#"cannot decode pods "ns/a": "#), "{text}");
    let labelled = read(r#"{"metadata":{"name":"a","labels":{"x":"y"}},"spec":3}"#);
    assert_eq!(labelled.metadata.metadata.label("x"), Some("y"));
    assert_eq!(*read("3").metadata, Metadata::default());
}

#[tokio::test]
async fn decoding_a_large_page_lets_other_tasks_run() {
    let items = vec![r#"{"metadata":{"name":"a"}}"#; 10_000].join(",");
    let server = Scripted::new(move |_, _| Answer::ok(format!("{{\"items\":[{items}]}}")));
    let turns = Arc::new(AtomicUsize::new(0));
    let counter = turns.clone();
    let other = tokio::spawn(async move {
        loop {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let pods = server.client().all::<Pod>();
    let page = pods.list_page(&ListOptions::default()).await.unwrap();
    other.abort();
    assert_eq!(page.items.len(), 10_000);
    assert!(turns.load(Ordering::Relaxed) > 50, "{turns:?}");
}

/// Pages of one object, without end.
fn many_pages() -> Scripted {
    Scripted::new(|nth, _| {
        let (token, name) = (format!("t{nth}"), format!("n{nth}"));
        page(7 + nth as u64, &token, &[&name])
    })
}

#[tokio::test(start_paused = true)]
async fn p1_ts30_twelve_pages_are_fetched_while_the_first_one_is_handled() {
    assert_eq!(ListOptions::default().limit, Some(500));
    let server = many_pages();
    let pods = server.client().all::<Pod>();
    let options = ListOptions::default();
    let blocked = pods.each_page(&options, 10, |_| {
        std::future::pending::<Result<(), Error>>()
    });
    let hour = Duration::from_secs(3600);
    assert!(tokio::time::timeout(hour, blocked).await.is_err());
    assert_eq!(
        server.seen().len(),
        12,
        "one in use, ten ahead, one waiting"
    );
    let blocked = pods.each_page(&options, 0, |_| std::future::pending::<Result<(), Error>>());
    assert!(tokio::time::timeout(hour, blocked).await.is_err());
    assert_eq!(server.seen().len(), 12 + 3, "one ahead at the least");
}

#[tokio::test(start_paused = true)]
async fn any_number_of_pages_may_be_allowed_ahead() {
    let server = Scripted::new(|_, _| page(7, "", &["a"]));
    let pods = server.client().all::<Pod>();
    let mut handled = 0;
    let options = ListOptions::default();
    let outcome = pods.each_page(&options, usize::MAX, |_| {
        handled += 1;
        async { Ok::<(), Error>(()) }
    });
    assert!(outcome.await.is_ok());
    assert_eq!(handled, 1);
}

#[tokio::test(start_paused = true)]
async fn p4_ts30_an_error_of_the_handler_stops_everything() {
    let server =
        Scripted::new(|nth, _| page(7, &format!("t{nth}"), &["a"]).late(Duration::from_millis(10)));
    let pods = server.client().all::<Pod>();
    let mut handled = 0;
    let options = ListOptions::default();
    let outcome = pods.each_page(&options, 1, |_| {
        handled += 1;
        let outcome = match handled {
            3 => Err(Error::from(evenkeel_meta::Status::internal("enough"))),
            _ => Ok(()),
        };
        async move { outcome }
    });
    let error = outcome.await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 500);
    assert_eq!(handled, 3);
    let asked = server.seen().len();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(server.seen().len(), asked, "nothing goes on");
    assert!(asked <= 4, "{asked}");
}

#[tokio::test(start_paused = true)]
async fn p2_ts28_pages_are_handed_over_in_order_and_the_first_ones_version_counts() {
    for (size, pages) in [(0, 1), (9, 1), (10, 1), (11, 2), (21, 3)] {
        let server = Scripted::new(move |nth, _| {
            let rest = size - nth * 10;
            let names = vec!["a"; rest.min(10)];
            page(7 + nth as u64, if rest > 10 { "t" } else { "" }, &names)
        });
        let pods = server.client().all::<Pod>();
        let options = ListOptions::default().page_size(10);
        let mut sizes = Vec::new();
        let outcome = pods.each_page(&options, 1, |page| {
            sizes.push(page.items.len());
            async { Ok::<_, Error>(()) }
        });
        assert_eq!(outcome.await.unwrap(), 7.into());
        assert_eq!((sizes.iter().sum(), sizes.len()), (size, pages));
    }
}

#[tokio::test(start_paused = true)]
async fn p3_ts29_pages_that_were_handed_over_are_not_listed_again() {
    let server = Scripted::new(|nth, _| match nth {
        0 => page(7, "t1", &["a"]),
        _ => expired(),
    });
    let pods = server.client().all::<Pod>();
    let mut handled = 0;
    let options = ListOptions::default();
    let outcome = pods.each_page(&options, 10, |_| {
        handled += 1;
        async { Ok::<_, Error>(()) }
    });
    assert!(outcome.await.unwrap_err().is_expired());
    assert_eq!((handled, server.seen().len()), (1, 2));
}

#[test]
fn b8_no_more_of_a_list_is_held_than_an_object_and_a_chunk() {
    const CHUNK: usize = 64 << 10;
    let pod = format!(
        r#"{{"metadata":{{"name":"a"}},"x":"{}"}}"#,
        "y".repeat(100_000)
    );
    let items = vec![pod.as_str(); 200].join(",");
    let list = format!("{{\"items\":[{items}],\"metadata\":{{}}}}");
    let mut decoder = Decoder::new();
    let (mut found, mut most) = (0, 0);
    for chunk in list.as_bytes().chunks(CHUNK) {
        decoder.push(chunk);
        most = most.max(decoder.bytes().len());
        while let Step::Item(end) = decoder.step().unwrap() {
            decoder.consume(end);
            found += 1;
        }
    }
    assert_eq!(found, 200);
    assert!(most < pod.len() + 2 * CHUNK, "{most} of {}", list.len());
}

#[test]
fn an_object_that_never_ends_is_an_error_and_not_all_of_memory() {
    let mut decoder = Decoder::new();
    decoder.push(br#"{"items":[{"x":""#);
    let chunk = vec![b'y'; 1 << 20];
    let failed = (0..32).find(|_| {
        decoder.push(&chunk);
        decoder.step().is_err()
    });
    assert_eq!(failed, Some(15), "past 16 MiB");
    // Nor is it less of one if it ends in the piece in which it got too large.
    let mut decoder = Decoder::new();
    decoder.push(br#"{"items":[{"x":""#);
    (0..16).for_each(|_| decoder.push(&chunk));
    decoder.push(br#""}]}"#);
    assert!(decoder.step().is_err());
}
