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
fn kube_rs_20_a_server_that_says_how_long_to_wait_is_obeyed() {
    let (mut harness, _) = Harness::listing();
    harness.feed(Input::ListFailed(throttled(20)));
    let (waited, _) = harness.wait();
    assert!((20.0..=25.0).contains(&waited), "{waited}");
}

/// A hundred clients that are told to wait for as long do not come back at once.
#[test]
fn incident_14_waits_that_the_server_asked_for_are_kept_and_spread() {
    let mut waits: Vec<f64> = (0..100)
        .map(|seed| {
            let mut harness = Harness {
                machine: Reflector::new(ReflectorOptions::default(), Rng::seeded(seed)),
                ..Harness::new(ReflectorOptions::default())
            };
            harness.feed(Input::Start);
            harness.feed(Input::WatchFailed(throttled(10)));
            harness.wait().0
        })
        .collect();
    waits.sort_by(f64::total_cmp);
    assert!(waits[0] >= 10.0 && waits[99] <= 12.5, "{waits:?}");
    let most_at_once = waits.windows(20).all(|some| some[19] - some[0] > 0.1);
    assert!(most_at_once && waits[99] - waits[0] > 2.0, "{waits:?}");
}

/// TS14 and TS16: neither costs a list, whether at the opening or in the stream.
#[test]
fn client_go_ts14_ts16_r16_refused_and_busy_watches_wait_longer_each_time_and_list_nothing() {
    for failure in [refused(), throttled(0)] {
        let mut harness = Harness::following();
        harness.pass_time(30.0);
        let (mut waits, mut last) = (Vec::new(), harness.feed(Input::ErrorEvent(throttled(0))));
        assert_eq!(last, ["hang up"]);
        for _ in 0..40 {
            let (waited, asked) = harness.wait();
            waits.push(waited);
            assert_eq!(asked, ["WATCH rv=10"]);
            last = harness.feed(Input::WatchFailed(failure.clone()));
            assert!(last.is_empty(), "{last:?}");
        }
        assert!(waits[1] > waits[0] && waits[2] > waits[1], "{waits:?}");
        // At the cap from the seventh on.
        assert!(
            waits[7..].iter().all(|w| (30.0..60.0).contains(w)),
            "{waits:?}"
        );
    }
}

#[test]
fn client_go_ts15_a_backoff_of_ones_own_is_kept_to() {
    let (from, to) = (Duration::from_millis(10), Duration::from_millis(100));
    let mut harness = Harness::started(ReflectorOptions {
        watch_list: false,
        backoff: evenkeel_pace::Backoff::new(from, to),
        ..ReflectorOptions::default()
    })
    .0;
    harness.feed(page_end("10"));
    let mut waited = 0.0;
    for _ in 0..5 {
        harness.feed(Input::WatchFailed(refused()));
        waited += harness.wait().0;
    }
    // 10, 20, 40, 80, 100 ms.
    assert!((waited - 0.250).abs() < 1e-6, "{waited}");
}

#[test]
fn client_go_r1_the_first_pass_is_at_once_and_every_later_one_waits() {
    let (mut harness, asked) = Harness::listing();
    assert_eq!(asked, ["begin", "LIST rv=0 limit=500"]);
    // After a pass that failed, and after passes that ended well.
    let ends: [fn() -> Given; 3] = [
        || Input::WatchFailed(internal()),
        || Input::ErrorEvent(expired()),
        || Input::Closed,
    ];
    harness.feed(page_end("10"));
    for end in ends {
        assert!(harness.feed(end()).iter().all(|action| action == "hang up"));
        let (waited, asked) = harness.wait();
        assert!(waited >= 0.8, "{waited}");
        assert_eq!(asked, ["begin", "LIST rv=10"]);
        harness.feed(page_end("10"));
    }
}

/// An error in a stream is no failure to get one: it is followed up, and nobody is alarmed.
#[test]
fn client_go_r5_only_what_keeps_a_watch_from_running_is_reported_as_failing() {
    let failing = |harness: &mut Harness| {
        let reports = harness.take_reports();
        reports
            .iter()
            .filter(|report| report.contains(" failed: "))
            .count()
            - reports
                .iter()
                .filter(|report| report.starts_with("stream failed"))
                .count()
    };
    for in_stream in [expired(), internal(), throttled(0)] {
        let mut harness = Harness::following();
        harness.feed(Input::ErrorEvent(in_stream));
        assert_eq!(failing(&mut harness), 0);
    }
    let mut harness = Harness::following();
    harness.feed(Input::WatchFailed(forbidden()));
    assert_eq!(failing(&mut harness), 1);
    harness.wait();
    harness.feed(Input::ListFailed(internal()));
    assert_eq!(failing(&mut harness), 1);
}

#[test]
fn client_go_ts12_too_large_a_version_in_each_spelling_is_asked_for_anew_without_it() {
    let cause = Status::too_large_resource_version(20, 10, 1);
    let mut old = cause.clone();
    old.details
        .as_mut()
        .unwrap()
        .causes
        .iter_mut()
        .for_each(|cause| {
            cause.reason = String::new();
            cause.message = "Too large resource version".into();
        });
    let mut oldest = cause.clone();
    oldest.details.as_mut().unwrap().causes.clear();
    oldest.message = "Too large resource version: 20, current: 10".into();
    for status in [cause, old, oldest] {
        let mut harness = Harness::following();
        harness.feed(Input::WatchFailed(internal()));
        assert_eq!(harness.wait().1, ["begin", "LIST rv=10"]);
        let failure = Failure::from(status);
        assert_eq!(
            harness.feed(Input::ListFailed(failure)),
            ["begin", "LIST limit=500"]
        );
    }
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
