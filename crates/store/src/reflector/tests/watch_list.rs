use super::*;

#[test]
fn client_go_wl2_the_first_contents_are_asked_for_as_a_stream() {
    let (mut harness, asked) = Harness::watch_listing();
    assert_eq!(asked, ["begin", "WATCHLIST rv="]);
    harness.feed(Input::Opened);
    harness.feed(marker("10"));
    harness.feed(Input::ErrorEvent(expired()));
    // A relist asks for no older state than the one at hand.
    assert_eq!(harness.wait().1, ["begin", "WATCHLIST rv=10"]);
}

#[test]
fn client_go_wl3_wl5_events_before_the_marker_make_the_snapshot_and_the_stream_goes_on() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::Opened);
    // No version: a snapshot has no position before it is whole.
    assert_eq!(harness.feed(added("a", "5")), ["+a"]);
    assert_eq!(harness.feed(added("b", "3")), ["+b"]);
    assert_eq!(harness.feed(modified("a", "8")), ["*a"]);
    assert_eq!(harness.feed(deleted("b", "9")), ["-b"]);
    assert_eq!(harness.feed(marker("10")), ["end 10"]);
    assert_eq!(harness.feed(modified("a", "11")), ["*a@11"]);
    assert_eq!(harness.machine.deadline(), None);
    harness.pass_time(30.0);
    // TS8: a stream that is lost afterwards is watched, not listed.
    assert_eq!(harness.feed(Input::Closed), ["WATCH rv=11"]);
}

#[test]
fn client_go_wl4_only_the_marker_ends_the_initial_events() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::Opened);
    harness.feed(added("a", "5"));
    assert!(harness.feed(bookmark("9")).is_empty());
    assert_eq!(harness.machine.resource_version(), None);
    assert_eq!(harness.feed(marker("10")), ["end 10"]);
}

#[test]
fn client_go_wl6_a_busy_server_is_asked_again_after_the_backoff() {
    let (mut harness, _) = Harness::watch_listing();
    for failure in [throttled(0), refused()] {
        assert_eq!(
            harness.feed(Input::WatchFailed(failure)),
            ["hang up", "abort"]
        );
        assert_eq!(harness.wait().1, ["begin", "WATCHLIST rv="]);
    }
    harness.feed(Input::Opened);
    harness.feed(added("a", "5"));
    assert_eq!(
        harness.feed(Input::ErrorEvent(throttled(0))),
        ["hang up", "abort"]
    );
    assert_eq!(harness.wait().1, ["begin", "WATCHLIST rv="]);
    harness.feed(Input::Opened);
    assert_eq!(harness.feed(marker("10")), ["end 10"]);
}

#[test]
fn client_go_wl6_an_unavailable_version_is_retried_at_the_newest_at_once_then_with_a_wait() {
    for failure in [expired(), too_large()] {
        let (mut harness, _) = Harness::watch_listing();
        harness.feed(Input::Opened);
        harness.feed(marker("10"));
        harness.feed(Input::ErrorEvent(internal()));
        assert_eq!(harness.wait().1, ["begin", "WATCHLIST rv=10"]);
        assert_eq!(
            harness.feed(Input::ErrorEvent(failure.clone())),
            ["hang up", "begin", "WATCHLIST rv="]
        );
        // Ours: a server that answers 410 to that as well is not asked in a hot loop.
        assert_eq!(
            harness.feed(Input::WatchFailed(failure)),
            ["hang up", "abort"]
        );
        assert!(harness.wait().0 >= 0.8);
    }
}

#[test]
fn client_go_wl6_any_other_error_falls_back_to_a_list_for_this_pass() {
    let (mut harness, _) = Harness::watch_listing();
    assert_eq!(
        harness.feed(Input::WatchFailed(internal())),
        ["hang up", "begin", "LIST rv=0 limit=500"]
    );
    assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
    harness.feed(Input::ErrorEvent(expired()));
    assert_eq!(harness.wait().1, ["begin", "WATCHLIST rv=10"]);
}

#[test]
fn client_go_wl7_waits_are_deadlines_that_anybody_can_give_up() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::WatchFailed(throttled(0)));
    assert!(harness.machine.deadline().is_some());
}

#[test]
fn kube_rs_d2_a_refused_watch_list_falls_back_and_is_remembered() {
    let (mut harness, _) = Harness::watch_listing();
    assert_eq!(
        harness.feed(Input::WatchFailed(forbidden())),
        ["hang up", "begin", "LIST rv=0 limit=500"]
    );
    assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
    let reports = harness.take_reports();
    assert!(
        reports
            .iter()
            .any(|report| report.starts_with("no watch-list:")),
        "{reports:?}"
    );
    harness.feed(Input::ErrorEvent(expired()));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=10"]);
    assert!(!harness.machine.uses_watch_list());
}

/// What is forbidden altogether says nothing about watch-lists.
#[test]
fn kube_rs_d2_a_refusal_of_list_and_watch_is_not_held_against_watch_lists() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::WatchFailed(forbidden()));
    assert_eq!(harness.feed(Input::ListFailed(forbidden())), ["abort"]);
    assert_eq!(harness.wait().1, ["begin", "WATCHLIST rv="]);
    // Permission is there now; a hiccup of the stream has nothing to do with the refusal before.
    harness.feed(Input::WatchFailed(internal()));
    assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
    assert!(harness.machine.uses_watch_list());
}

#[test]
fn client_go_wl8_b1_a_stream_without_its_marker_is_tried_twice() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::Opened);
    for name in ["a", "b", "c"] {
        harness.feed(added(name, "5"));
    }
    harness.pass_time(2.0);
    // TS3: the same request once more.
    assert_eq!(
        harness.feed(Input::Closed),
        ["abort", "begin", "WATCHLIST rv="]
    );
    harness.feed(Input::Opened);
    harness.feed(added("a", "5"));
    harness.pass_time(2.0);
    assert_eq!(
        harness.feed(Input::Closed),
        ["begin", "LIST rv=0 limit=500"]
    );
    assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
    assert_eq!(
        harness
            .take_reports()
            .iter()
            .filter(|r| r.starts_with("no watch-list"))
            .count(),
        1
    );
    // From now on it lists.
    harness.feed(Input::ErrorEvent(expired()));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=10"]);
}

#[test]
fn client_go_wl8_a_stream_that_ends_at_once_falls_back_at_once() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::Opened);
    harness.pass_time(0.5);
    assert_eq!(
        harness.feed(Input::Closed),
        ["begin", "LIST rv=0 limit=500"]
    );
}

#[test]
fn client_go_wl8_restarts_are_spaced() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::Opened);
    harness.feed(added("a", "5"));
    harness.pass_time(0.1);
    assert_eq!(harness.feed(Input::Broken(lost())), ["abort"]);
    let (waited, asked) = harness.wait();
    assert!((waited - 0.9).abs() < 1e-6, "{waited}");
    assert_eq!(asked, ["begin", "WATCHLIST rv="]);
}

#[test]
fn client_go_wl8_a_marker_clears_the_record() {
    let (mut harness, _) = Harness::watch_listing();
    for round in 0..5 {
        harness.feed(Input::Opened);
        harness.feed(added("a", "5"));
        harness.pass_time(2.0);
        assert_eq!(harness.feed(Input::Closed)[0], "abort", "round {round}");
        harness.feed(Input::Opened);
        assert_eq!(harness.feed(marker("10")), ["end 10"]);
        harness.feed(Input::ErrorEvent(expired()));
        harness.wait();
    }
}

#[test]
fn incident_13_a_marker_that_never_comes_is_waited_for_ten_seconds_then_listed_and_remembered() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::Opened);
    harness.pass_time(4.0);
    harness.feed(added("a", "5"));
    // Bookmarks without the annotation are no progress.
    harness.pass_time(6.0);
    harness.feed(bookmark("6"));
    let (waited, asked) = harness.wait();
    assert!((waited - 4.0).abs() < 1e-6, "{waited}");
    assert_eq!(asked, ["hang up", "begin", "LIST rv=0 limit=500"]);
    assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
    let warnings = harness.take_reports();
    assert_eq!(
        warnings
            .iter()
            .filter(|r| r.starts_with("no watch-list"))
            .count(),
        1
    );
    assert!(!harness.machine.uses_watch_list());
}

#[test]
fn client_go_wl9_a_long_snapshot_is_no_missing_marker() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::Opened);
    for _ in 0..100 {
        harness.pass_time(9.0);
        assert_eq!(harness.feed(added("a", "5")), ["+a"]);
        assert!(harness.feed(Input::Elapsed).is_empty());
    }
    assert_eq!(harness.feed(marker("10")), ["end 10"]);
}

#[test]
fn a_head_that_never_comes_is_not_held_against_watch_lists() {
    let (mut harness, _) = Harness::watch_listing();
    let (_, asked) = harness.wait();
    assert_eq!(asked, ["hang up", "begin", "LIST rv=0 limit=500"]);
    harness.feed(page_end("10"));
    assert!(harness.machine.uses_watch_list());
}

#[test]
fn client_go_r19_counts_from_the_marker() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::Opened);
    harness.pass_time(20.0);
    harness.feed(added("a", "5"));
    harness.feed(marker("10"));
    harness.pass_time(0.5);
    assert!(harness.feed(Input::Closed).is_empty());
    assert_eq!(harness.wait().1, ["begin", "WATCHLIST rv=10"]);
}

#[test]
fn client_go_b6_a_snapshot_of_another_history_is_told() {
    let (mut harness, _) = Harness::watch_listing();
    harness.feed(Input::Opened);
    harness.feed(marker("1200"));
    harness.feed(Input::ErrorEvent(internal()));
    harness.wait();
    harness.feed(Input::ErrorEvent(too_large()));
    harness.feed(Input::Opened);
    assert_eq!(harness.feed(marker("1000")), ["end 1000 rewound"]);
}

#[test]
fn what_another_informer_found_out_counts() {
    let mut harness = Harness::new(ReflectorOptions::default());
    harness.machine.avoid_watch_list();
    assert_eq!(harness.feed(Input::Start), ["begin", "LIST rv=0 limit=500"]);
}
