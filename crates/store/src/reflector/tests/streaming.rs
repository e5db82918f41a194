use super::*;

#[test]
fn client_go_r15_the_server_ends_watches_after_five_to_ten_minutes() {
    let mut seen = Vec::new();
    for seed in 0..200 {
        let options = ReflectorOptions {
            watch_list: false,
            ..ReflectorOptions::default()
        };
        seen.push(first_watch(options, seed).timeout.as_secs());
    }
    assert!(
        seen.iter().all(|seconds| (300..=600).contains(seconds)),
        "{seen:?}"
    );
    assert!(
        seen.iter().min() < Some(&330) && seen.iter().max() > Some(&570),
        "{seen:?}"
    );
}

#[test]
fn client_go_r15_ts23_the_least_watch_timeout_has_a_floor() {
    for (least, range) in [(1, 300..=600), (1800, 1800..=3600)] {
        let options = ReflectorOptions {
            watch_list: false,
            min_watch_timeout: Duration::from_secs(least),
            ..ReflectorOptions::default()
        };
        let timeout = first_watch(options, 3).timeout.as_secs();
        assert!(range.contains(&timeout), "{timeout}");
    }
}

fn first_watch(options: ReflectorOptions, seed: u64) -> WatchRequest {
    let mut machine = Reflector::new(options, Rng::seeded(seed));
    let mut actions = Vec::new();
    machine.handle(Moment::ORIGIN, Input::Start, &mut actions);
    machine.handle(Moment::ORIGIN, page_end("10"), &mut actions);
    actions
        .into_iter()
        .find_map(|action| match action {
            Action::Watch(request) => Some(request),
            _ => None,
        })
        .expect("a watch")
}

#[test]
fn client_go_r16_a_server_that_is_away_or_busy_is_watched_again_without_a_list() {
    let mut harness = Harness::following();
    harness.feed(Input::Broken(lost()));
    for _ in 0..5 {
        assert!(harness.wait().1.starts_with(&["WATCH rv=10".to_owned()]));
        assert!(harness.feed(Input::WatchFailed(refused())).is_empty());
    }
    assert_eq!(harness.wait().1, ["WATCH rv=10"]);
    assert!(harness.feed(Input::WatchFailed(throttled(0))).is_empty());
    assert_eq!(harness.wait().1, ["WATCH rv=10"]);
    harness.feed(Input::Opened);
    assert_eq!(harness.feed(modified("a", "11")), ["*a@11"]);
}

#[test]
fn client_go_r16_every_other_refusal_of_a_watch_relists() {
    for failure in [forbidden(), internal(), too_large(), expired()] {
        let mut harness = Harness::following();
        harness.pass_time(5.0);
        harness.feed(bookmark("12"));
        harness.feed(Input::Closed);
        assert!(harness.feed(Input::WatchFailed(failure)).is_empty());
        let (waited, asked) = harness.wait();
        assert!((0.8..1.6).contains(&waited), "{waited}");
        assert_eq!(asked, ["begin", "LIST rv=12"]);
    }
}

#[test]
fn client_go_r17_an_error_in_the_stream_relists_unless_it_says_slow_down() {
    let mut harness = Harness::following();
    assert_eq!(harness.feed(Input::ErrorEvent(throttled(0))), ["hang up"]);
    assert_eq!(harness.wait().1, ["WATCH rv=10"]);
    for failure in [expired(), internal(), forbidden()] {
        let mut harness = Harness::following();
        assert_eq!(harness.feed(Input::ErrorEvent(failure)), ["hang up"]);
        assert_eq!(harness.wait().1, ["begin", "LIST rv=10"]);
    }
}

#[test]
fn client_go_m5_a_relist_has_the_cause_that_led_to_it() {
    for (failure, cause) in [
        (expired(), "pass: expired"),
        (internal(), "pass: watch_error"),
        (too_large(), "pass: watch_error"),
    ] {
        for input in [
            Input::ErrorEvent(failure.clone()),
            Input::WatchFailed(failure),
        ] {
            let mut harness = Harness::following();
            harness.feed(input);
            harness.take_reports();
            harness.wait();
            assert_eq!(harness.take_reports(), [cause]);
        }
    }
}

#[test]
fn client_go_b16_after_an_unknown_error_the_watch_is_not_resumed() {
    let mut harness = Harness::following();
    harness.feed(modified("a", "11"));
    harness.feed(Input::ErrorEvent(internal()));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=11"]);
    // The same for a stream that holds something that is no event.
    let mut harness = Harness::following();
    harness.feed(modified("a", "11"));
    harness.feed(Input::Broken(Failure::new(FailureClass::Other, "no event")));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=11"]);
}

#[test]
fn client_go_r18_a_server_that_ends_each_watch_after_an_event_is_asked_once_a_second() {
    let mut harness = Harness::following();
    let start = harness.now;
    let mut watches = 0;
    while harness.now - start < Duration::from_secs(60) {
        harness.pass_time(0.001);
        harness.feed(bookmark("10"));
        harness.feed(Input::Closed);
        assert_eq!(harness.wait().1, ["WATCH rv=10"]);
        watches += 1;
    }
    assert!(watches <= 61, "{watches}");
}

#[test]
fn client_go_r18_a_watch_that_lived_is_taken_up_at_once() {
    let mut harness = Harness::following();
    harness.pass_time(400.0);
    harness.feed(modified("a", "11"));
    assert_eq!(harness.feed(Input::Closed), ["WATCH rv=11"]);
}

#[test]
fn client_go_r19_a_watch_of_a_second_is_not_too_short() {
    let mut harness = Harness::following();
    harness.pass_time(1.0);
    assert_eq!(harness.feed(Input::Closed), ["WATCH rv=10"]);
}

#[test]
fn client_go_r19_a_watch_without_an_event_in_a_second_relists_after_the_backoff() {
    let mut harness = Harness::following();
    harness.pass_time(0.9);
    assert!(harness.feed(Input::Closed).is_empty());
    let (waited, asked) = harness.wait();
    assert!((0.8..1.6).contains(&waited), "{waited}");
    assert_eq!(asked, ["begin", "LIST rv=10"]);
    assert!(
        harness
            .take_reports()
            .contains(&"pass: short_watch".to_owned())
    );
}

#[test]
fn client_go_r22_bookmarks_move_the_position() {
    let mut harness = Harness::following();
    harness.pass_time(30.0);
    assert_eq!(harness.feed(bookmark("30")), ["at 30"]);
    assert_eq!(harness.feed(Input::Closed), ["WATCH rv=30"]);
}

#[test]
fn client_go_ts19_every_event_moves_the_position() {
    let mut harness = Harness::following();
    harness.pass_time(30.0);
    assert_eq!(harness.feed(added("a", "11")), ["+a@11"]);
    assert_eq!(harness.feed(modified("a", "20")), ["*a@20"]);
    assert_eq!(harness.feed(bookmark("30")), ["at 30"]);
    assert_eq!(harness.feed(deleted("a", "40")), ["-a@40"]);
    assert_eq!(harness.feed(Input::Closed), ["WATCH rv=40"]);
}

/// Versions of the unordered beginning of a watch from "anything" are no position.
#[test]
fn client_go_r23_b15_a_watch_from_nowhere_has_no_position_before_its_first_real_change() {
    for nowhere in ["0", ""] {
        let (mut harness, _) = Harness::listing();
        harness.feed(page_end(nowhere));
        harness.pass_time(30.0);
        assert_eq!(harness.feed(added("a", "10")), ["+a"]);
        assert_eq!(harness.feed(added("b", "9")), ["+b"]);
        assert_eq!(harness.feed(Input::Closed), [format!("WATCH rv={nowhere}")]);
        harness.pass_time(30.0);
        harness.feed(added("a", "10"));
        assert_eq!(harness.feed(modified("b", "12")), ["*b@12"]);
        assert_eq!(harness.feed(added("c", "13")), ["+c@13"]);
        assert_eq!(harness.feed(Input::Closed), ["WATCH rv=13"]);
    }
}

#[test]
fn client_go_r23_a_bookmark_is_a_position_for_a_watch_from_nowhere_too() {
    let (mut harness, _) = Harness::listing();
    harness.feed(page_end("0"));
    assert_eq!(harness.feed(added("a", "10")), ["+a"]);
    assert_eq!(harness.feed(bookmark("20")), ["at 20"]);
    assert_eq!(harness.feed(added("b", "21")), ["+b@21"]);
}

#[test]
fn client_go_b6_a_bookmark_that_goes_backwards_begins_a_new_history() {
    let mut harness = Harness::following();
    harness.feed(modified("a", "1200"));
    assert_eq!(harness.feed(bookmark("1000")), ["hang up"]);
    assert_eq!(harness.wait().1, ["begin", "LIST limit=500"]);
    assert_eq!(
        harness.feed(page_end("1001")),
        ["end 1001 rewound", "WATCH rv=1001"]
    );
}

/// A server accepts a watch from a version that it has yet to reach, and is silent.
#[test]
fn client_go_b6_a_silent_watch_is_followed_by_a_cheap_check() {
    let mut harness = Harness::following();
    harness.pass_time(400.0);
    assert_eq!(harness.feed(Input::Closed), ["LIST limit=1"]);
    assert!(harness.feed(Input::Item("a")).is_empty());
    assert_eq!(harness.feed(page_end("10")), ["WATCH rv=10"]);

    harness.pass_time(400.0);
    harness.feed(Input::Closed);
    assert!(harness.feed(page_end("5")).is_empty());
    assert_eq!(harness.wait().1, ["begin", "LIST limit=500"]);
    assert_eq!(harness.feed(page_end("5"))[0], "end 5 rewound");
}

#[test]
fn client_go_b6_a_check_that_fails_is_no_reason_to_relist() {
    let mut harness = Harness::following();
    harness.pass_time(400.0);
    assert_eq!(harness.feed(Input::Closed), ["LIST limit=1"]);
    assert!(harness.feed(Input::ListFailed(internal())).is_empty());
    let (waited, asked) = harness.wait();
    assert!((0.8..1.6).contains(&waited), "{waited}");
    assert_eq!(asked, ["WATCH rv=10"]);
}

#[test]
fn client_go_b6_a_watch_with_bookmarks_is_not_checked() {
    let mut harness = Harness::following();
    for n in 0..6 {
        harness.pass_time(60.0);
        harness.feed(bookmark(&format!("{}", 20 + n)));
    }
    assert_eq!(harness.feed(Input::Closed), ["WATCH rv=25"]);
}

#[test]
fn kube_rs_d1_a_410_at_the_opening_relists() {
    let mut harness = Harness::following();
    harness.pass_time(30.0);
    harness.feed(bookmark("11"));
    assert_eq!(harness.feed(Input::Closed), ["WATCH rv=11"]);
    assert!(harness.feed(Input::WatchFailed(expired())).is_empty());
    assert_eq!(harness.wait().1, ["begin", "LIST rv=11"]);
    // Which is nothing that anybody must look at.
    let reports = harness.take_reports();
    assert!(
        !reports.iter().any(|report| report.contains("watch failed")),
        "{reports:?}"
    );
    assert!(reports.contains(&"pass: expired".to_owned()));
}

#[test]
fn inputs_that_do_not_fit_are_ignored() {
    let mut harness = Harness::following();
    assert!(harness.feed(Input::Start).is_empty());
    assert!(harness.feed(Input::Item("a")).is_empty());
    assert!(harness.feed(page_end("99")).is_empty());
    assert!(harness.feed(Input::ListFailed(expired())).is_empty());
    assert!(harness.feed(Input::Elapsed).is_empty());
    assert_eq!(harness.machine.resource_version(), Some(&version("10")));
    assert_eq!(harness.machine.deadline(), None);
}
