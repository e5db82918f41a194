//! Against the embedded server, in virtual time.

use evenkeel_apiserver::{Fault, Server, Verb, When};
use evenkeel_client::ListOptions;
use evenkeel_meta::DeleteOptions;

use super::*;
use crate::Event;

const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(3600);

fn recorder(server: &Server) -> (Client, Recorder) {
    let client = Client::from_service(server.clone());
    let recorder = Recorder::new(client.clone(), "tester", "");
    (client, recorder)
}

fn pod(name: &str) -> ObjectReference {
    ObjectReference {
        kind: "Pod".into(),
        api_version: "v1".into(),
        namespace: "default".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
        ..ObjectReference::default()
    }
}

fn report(recorder: &Recorder, name: &str, message: &str) {
    recorder.event(&pod(name), EventType::Normal, "Tested", message);
}

async fn events(client: &Client) -> Vec<Event> {
    let api = client.namespaced::<Event>("default");
    let list = api.list(&ListOptions::default()).await.unwrap();
    list.items
}

/// Lets everything happen that takes no time.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn kcm_c5_a_report_is_posted_and_its_repetition_patched() {
    let server = Server::new();
    let (client, recorder) = recorder(&server);
    report(&recorder, "web", "passed");
    settle().await;
    let [event] = &events(&client).await[..] else {
        panic!("one event expected");
    };
    let (object, digits) = event.metadata.name.rsplit_once('.').unwrap();
    assert_eq!((object, digits.len()), ("web", 16));
    assert_eq!((event.reason.as_str(), event.count), ("Tested", 1));
    assert_eq!(event.source.component, "tester");
    assert_eq!(event.reporting_component, "tester");

    report(&recorder, "web", "passed");
    settle().await;
    report(&recorder.component("another"), "web", "passed");
    settle().await;
    let mut counts: Vec<_> = events(&client)
        .await
        .into_iter()
        .map(|event| (event.source.component, event.count))
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [("another".into(), 1), ("tester".into(), 2)]);
    assert_eq!(recorder.stats().written, 3);
}

#[tokio::test(start_paused = true)]
async fn ts81_e5_a_refused_event_is_tried_once() {
    let server = Server::new();
    let (_client, recorder) = recorder(&server);
    server
        .faults()
        .inject(When::verb(Verb::Create).on("events"), Fault::forbidden());
    report(&recorder, "web", "passed");
    settle().await;
    assert_eq!(recorder.stats().failed, 1);
    server.faults().clear();
    tokio::time::sleep(LONG).await;
    assert_eq!((recorder.stats().written, recorder.stats().failed), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn ts81_e5_an_unknown_failure_is_tried_twelve_times() {
    let server = Server::new();
    let (client, recorder) = recorder(&server);
    let when = || When::verb(Verb::Create).on("events");
    server
        .faults()
        .inject(when().times(11), Fault::internal_error());
    report(&recorder, "web", "passed");
    tokio::time::sleep(150 * SECOND).await;
    assert_eq!(events(&client).await.len(), 1, "the twelfth try");

    server
        .faults()
        .inject(when().times(12), Fault::internal_error());
    report(&recorder, "db", "passed");
    tokio::time::sleep(LONG).await;
    assert_eq!(events(&client).await.len(), 1);
    assert_eq!(recorder.stats().failed, 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_whose_answer_was_lost_is_written_once() {
    let server = Server::new();
    let (client, recorder) = recorder(&server);
    let when = When::verb(Verb::Create).on("events").times(1);
    server.faults().inject(when, Fault::LoseAnswer);
    report(&recorder, "web", "passed");
    tokio::time::sleep(LONG).await;
    assert_eq!(events(&client).await.len(), 1);
    assert_eq!((recorder.stats().written, recorder.stats().failed), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn ts81_e4_a_count_for_an_event_that_is_gone_creates_it_again() {
    let server = Server::new();
    let (client, recorder) = recorder(&server);
    report(&recorder, "web", "passed");
    settle().await;
    let api = client.namespaced::<Event>("default");
    let name = events(&client).await[0].metadata.name.clone();
    api.delete(&name, &DeleteOptions::default()).await.unwrap();
    report(&recorder, "web", "passed");
    settle().await;
    let event = api.get(&name).await.unwrap();
    assert_eq!(event.count, 2);
}

#[tokio::test(start_paused = true)]
async fn ts82_a_thousand_events_that_fail_four_times_each_all_arrive() {
    let server = Server::new();
    let (client, recorder) = recorder(&server);
    let when = When::verb(Verb::Create).on("events").times(4_000);
    server.faults().inject(when, Fault::internal_error());
    for index in 0..1_000 {
        report(&recorder, &format!("pod-{index}"), "passed");
    }
    tokio::time::sleep(LONG).await;
    assert_eq!(events(&client).await.len(), 1_000);
    let stats = recorder.stats();
    assert_eq!((stats.written, stats.dropped, stats.failed), (1_000, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn ts82_a_shutdown_writes_what_was_reported_and_may_be_called_again() {
    let server = Server::new();
    let (client, recorder) = recorder(&server);
    for index in 0..500 {
        report(&recorder, &format!("pod-{index}"), "passed");
    }
    let (first, second) = tokio::join!(recorder.shutdown(SECOND), recorder.shutdown(SECOND));
    assert_eq!((first, second), (Ok(()), Ok(())));
    assert_eq!(events(&client).await.len(), 500);
    report(&recorder, "late", "too late");
    assert_eq!(recorder.shutdown(SECOND).await, Ok(()));
    assert_eq!(events(&client).await.len(), 500);
    assert_eq!(recorder.stats().dropped, 1);
}

#[tokio::test(start_paused = true)]
async fn e5_at_the_end_what_fails_is_tried_once_more() {
    let server = Server::new();
    let (_client, recorder) = recorder(&server);
    server.faults().inject(
        When::verb(Verb::Create).on("events"),
        Fault::internal_error(),
    );
    report(&recorder, "web", "passed");
    settle().await;
    assert_eq!(recorder.stats().failed, 0, "waiting for its second try");
    assert_eq!(recorder.shutdown(SECOND).await, Ok(()));
    assert_eq!(recorder.stats().failed, 1);
}

#[tokio::test(start_paused = true)]
async fn e1_b30_a_stalled_server_drops_events_in_bounds_and_counts_them() {
    let server = Server::new();
    let (_client, recorder) = recorder(&server);
    server
        .faults()
        .inject(When::verb(Verb::Create).on("events"), Fault::Hang);
    for index in 0..100_000 {
        report(&recorder, &format!("pod-{index}"), "passed");
        if index % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let dropped = recorder.stats().dropped;
    // A queue of 1,000 and an outbox of 1,000.
    assert!((97_000..=98_500).contains(&dropped), "{dropped}");
    assert_eq!(recorder.shutdown(SECOND).await, Err(Unwritten));
    assert_eq!(recorder.shutdown(SECOND).await, Ok(()), "its task is gone");
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_ends_the_task() {
    let server = Server::new();
    let (_client, recorder) = recorder(&server);
    let other = recorder.component("another");
    let task = recorder.shared.abort_handle();
    drop(recorder);
    settle().await;
    assert!(!task.is_finished());
    drop(other);
    settle().await;
    assert!(task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_message_too_long_for_a_request_is_cut_and_not_refused() {
    let server = Server::new();
    let (client, recorder) = recorder(&server);
    report(&recorder, "web", &"\u{1f6a2}".repeat(2_000_000));
    report(
        &recorder,
        "web",
        &format!("x{}", "\u{1f6a2}".repeat(2_000_000)),
    );
    recorder.shutdown(LONG).await.unwrap();
    let lengths = events(&client)
        .await
        .into_iter()
        .map(|event| event.message.len());
    let mut lengths: Vec<_> = lengths.collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [LONGEST_MESSAGE - 3, LONGEST_MESSAGE]);
}

#[tokio::test(start_paused = true)]
async fn a_flood_while_the_server_hangs_is_dropped_and_the_end_is_in_time() {
    let server = Server::new();
    let (_, recorder) = recorder(&server);
    server
        .faults()
        .inject(When::any().on("events"), Fault::Hang);
    for number in 0..200_000 {
        report(
            &recorder,
            &format!("pod-{}", number % 50_000),
            &number.to_string(),
        );
        if number % 5_000 == 0 {
            settle().await;
        }
    }
    assert!(recorder.stats().dropped > 190_000, "{:?}", recorder.stats());
    let start = tokio::time::Instant::now();
    assert_eq!(recorder.shutdown(5 * SECOND).await, Err(Unwritten));
    assert_eq!(start.elapsed(), 5 * SECOND);
    report(&recorder, "late", "late");
}

#[tokio::test(start_paused = true)]
async fn any_length_of_the_queue_is_one() {
    for queue in [0, usize::MAX] {
        let server = Server::new();
        let client = Client::from_service(server.clone());
        let options = RecorderOptions {
            queue,
            ..RecorderOptions::default()
        };
        let recorder = Recorder::with_options(client.clone(), "tester", "", options);
        report(&recorder, "web", "passed");
        recorder.shutdown(LONG).await.unwrap();
        assert_eq!(events(&client).await.len(), 1);
    }
}
