use super::*;

/// How often the contents are asked for in an hour in which `answer` is all that the server has.
fn requests_in_an_hour(mut harness: Harness, mut answer: impl FnMut(&str) -> Vec<Given>) -> usize {
    let start = harness.now;
    let mut asked = Vec::from(["LIST".to_owned()]);
    let mut count = 0;
    while harness.now - start < Duration::from_secs(3600) {
        let request = asked.iter().rfind(|action| {
            ["LIST", "WATCH"]
                .iter()
                .any(|verb| action.starts_with(verb))
        });
        if let Some(request) = request.cloned() {
            count += 1;
            asked.clear();
            for input in answer(&request) {
                asked.extend(harness.feed(input));
            }
        } else {
            asked = harness.wait().1;
        }
    }
    count
}

#[test]
fn client_go_r2_waits_double_from_0_8_s_to_30_s_and_have_jitter() {
    let (mut harness, _) = Harness::listing();
    for step in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0, 30.0] {
        harness.feed(Input::ListFailed(internal()));
        let (waited, asked) = harness.wait();
        assert!(
            (step..2.0 * step).contains(&(waited + 1e-9)),
            "{waited} for {step}"
        );
        assert_eq!(asked, ["begin", "LIST rv=0 limit=500"]);
    }
}

/// kube-rs resets its backoff before each list, and lists 3,002 times an hour.
#[test]
fn kube_rs_d5_a_list_that_always_fails_is_asked_for_125_times_an_hour_at_most() {
    let (harness, _) = Harness::listing();
    let count = requests_in_an_hour(harness, |_| vec![Input::ListFailed(internal())]);
    assert!((60..=125).contains(&count), "{count}");
}

/// A list that works is progress, but not the end of an outage of the watch.
#[test]
fn client_go_b17_a_watch_that_always_says_410_does_not_relist_in_a_tight_loop() {
    let (harness, _) = Harness::listing();
    let count = requests_in_an_hour(harness, |request| {
        if request.starts_with("LIST") {
            vec![page_end("10")]
        } else {
            vec![Input::WatchFailed(expired())]
        }
    });
    assert!(count <= 250, "{count}");
}

#[test]
fn client_go_r3_only_two_quiet_minutes_after_progress_end_an_outage() {
    let (mut harness, _) = Harness::listing();
    for _ in 0..8 {
        harness.feed(Input::ListFailed(internal()));
        harness.wait();
    }
    // An hour without an answer is no quiet hour.
    harness.pass_time(3600.0);
    harness.feed(Input::ListFailed(internal()));
    assert!(harness.wait().0 >= 30.0);
    harness.feed(page_end("10"));
    harness.feed(Input::Opened);
    harness.pass_time(60.0);
    harness.feed(Input::ErrorEvent(internal()));
    assert!(harness.wait().0 >= 30.0, "a minute is not enough");
    harness.feed(page_end("10"));
    harness.feed(Input::Opened);
    harness.feed(bookmark("11"));
    harness.pass_time(121.0);
    harness.feed(Input::ErrorEvent(internal()));
    assert!(harness.wait().0 < 1.6);
}

#[test]
fn client_go_r4_one_backoff_for_lists_watches_and_streams() {
    let mut harness = Harness::following();
    harness.feed(Input::ErrorEvent(throttled(0)));
    assert!((0.8..1.6).contains(&harness.wait().0));
    harness.feed(Input::WatchFailed(refused()));
    assert!((1.6..3.2).contains(&harness.wait().0));
    harness.feed(Input::WatchFailed(forbidden()));
    assert!((3.2..6.4).contains(&harness.wait().0));
    harness.feed(Input::ListFailed(internal()));
    assert!((6.4..12.8).contains(&harness.wait().0));
}

#[test]
fn a_server_that_says_how_long_to_wait_is_obeyed() {
    let (mut harness, _) = Harness::listing();
    harness.feed(Input::ListFailed(throttled(20)));
    let (waited, _) = harness.wait();
    assert!((waited - 20.0).abs() < 1e-6, "{waited}");
}

/// A server restart: every client was cut off, and finds it away for a while.
#[test]
fn client_go_b17_fifty_clients_over_a_restart_list_nothing_and_spread_their_watches() {
    let mut starts = Vec::new();
    for seed in 0..50 {
        let options = ReflectorOptions {
            watch_list: false,
            ..ReflectorOptions::default()
        };
        let mut harness = Harness {
            machine: Reflector::new(options, Rng::seeded(seed)),
            now: Moment::from(Duration::from_secs(1000)),
            reports: Vec::new(),
        };
        harness.feed(Input::Start);
        harness.feed(page_end("10"));
        harness.feed(Input::Opened);
        harness.pass_time(200.0);
        harness.feed(modified("a", "11"));
        let cut = harness.now;
        let mut asked = harness.feed(Input::Broken(lost()));
        while harness.now - cut < Duration::from_secs(3) {
            assert_eq!(asked, ["WATCH rv=11"]);
            asked = harness.feed(Input::WatchFailed(refused()));
            assert!(asked.is_empty());
            asked = harness.wait().1;
        }
        assert_eq!(asked, ["WATCH rv=11"]);
        harness.feed(Input::Opened);
        starts.push((harness.now - cut).as_secs_f64());
    }
    let (first, last) = starts
        .iter()
        .fold((f64::MAX, 0.0_f64), |(a, b), s| (a.min(*s), b.max(*s)));
    assert!(last - first >= 1.0, "{first} {last}");
}

/// kubernetes#115658's like: permissions that come back are noticed.
#[test]
fn incident_16_a_403_is_reported_and_recovers_when_granted() {
    let (mut harness, _) = Harness::listing();
    for _ in 0..3 {
        harness.feed(Input::ListFailed(forbidden()));
        harness.wait();
    }
    let reports = harness.take_reports();
    assert_eq!(
        reports
            .iter()
            .filter(|r| r.starts_with("list failed: pods is forbidden"))
            .count(),
        3
    );
    assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
    assert!(harness.take_reports().contains(&"list works".to_owned()));
}
