use evenkeel_apiserver::{Fault, Server, Verb, When};
use evenkeel_client::ListOptions;
use tokio::time::sleep;

use super::*;
use crate::SeriesEvent;

const SECOND: Duration = Duration::from_secs(1);

fn stage() -> (Server, Client, SeriesRecorder) {
    let server = Server::new();
    let client = Client::from_service(server.clone());
    let recorder = SeriesRecorder::new(client.clone(), "example.com/tester", "host");
    (server, client, recorder)
}

fn report(recorder: &SeriesRecorder, name: &str) {
    let pod = ObjectReference {
        api_version: "v1".into(),
        kind: "Pod".into(),
        namespace: "default".into(),
        name: name.into(),
        ..ObjectReference::default()
    };
    recorder.event(&pod, None, EventType::Normal, "Tested", "Testing", "passed");
}

async fn events(client: &Client) -> Vec<SeriesEvent> {
    let api = client.namespaced::<SeriesEvent>("default");
    api.list(&ListOptions::default()).await.unwrap().items
}

#[tokio::test(start_paused = true)]
async fn ts83_e6_an_event_is_posted_and_its_series_patched() {
    let (_server, client, recorder) = stage();
    report(&recorder, "web");
    sleep(SECOND).await;
    let [event] = &events(&client).await[..] else {
        panic!("one event expected");
    };
    assert_eq!(event.series, None);
    assert!(event.event_time.is_some());
    assert_eq!(event.reporting_controller, "example.com/tester");
    assert_eq!(event.reporting_instance, "example.com/tester-host");
    assert_eq!((&*event.action, &*event.note), ("Testing", "passed"));
    for _ in 0..4 {
        report(&recorder, "web");
        sleep(SECOND).await;
    }
    let count = async || events(&client).await[0].series.unwrap().count;
    assert_eq!(count().await, 2, "the rest is counted here");
    assert_eq!(recorder.stats().written, 2);
    sleep(13 * 60 * SECOND).await;
    assert_eq!(count().await, 5, "written when it was over");
}

#[tokio::test(start_paused = true)]
async fn e6_a_failure_is_tried_twelve_times_and_a_refusal_once() {
    let (server, client, recorder) = stage();
    let when = || When::verb(Verb::Create).on("events");
    server
        .faults()
        .inject(when().times(11), Fault::internal_error());
    report(&recorder, "web");
    sleep(109 * SECOND).await;
    assert!(
        events(&client).await.is_empty(),
        "11 pauses of 10 s to 12.5 s"
    );
    sleep(30 * SECOND).await;
    assert_eq!(events(&client).await.len(), 1);
    server.faults().inject(when().times(1), Fault::forbidden());
    report(&recorder, "db");
    sleep(300 * SECOND).await;
    assert_eq!(events(&client).await.len(), 1);
    assert_eq!(recorder.stats().failed, 1);
}

/// The answer to the POST was lost, and meanwhile the event has become a series.
#[tokio::test(start_paused = true)]
async fn e6_a_series_whose_event_exists_already_is_tried_again() {
    let (server, client, recorder) = stage();
    let first = When::verb(Verb::Create).on("events").times(1);
    server.faults().inject(first, Fault::Delay(SECOND));
    report(&recorder, "web");
    sleep(SECOND / 2).await;
    report(&recorder, "web");
    sleep(30 * SECOND).await;
    let [event] = &events(&client).await[..] else {
        panic!("one event expected");
    };
    assert_eq!(event.series.unwrap().count, 2);
}

#[tokio::test(start_paused = true)]
async fn e6_a_stalled_server_drops_events_in_bounds_and_counts_them() {
    let (server, _client, recorder) = stage();
    let when = When::verb(Verb::Create).on("events");
    server.faults().inject(when, Fault::Hang);
    for index in 0..10_000 {
        report(&recorder, &format!("pod-{index}"));
        if index % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let dropped = recorder.stats().dropped;
    assert!((7_000..=8_500).contains(&dropped), "{dropped}");
    assert_eq!(recorder.shutdown(SECOND).await, Err(Unwritten));
}
