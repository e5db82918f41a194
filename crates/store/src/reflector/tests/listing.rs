use super::*;

#[test]
fn client_go_r7_lists_take_anything_then_no_older_then_the_newest() {
    let (mut harness, asked) = Harness::listing();
    assert_eq!(asked, ["begin", "LIST rv=0 limit=500"]);
    assert_eq!(harness.feed(Input::Item("a")), ["item a"]);
    assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
    harness.feed(Input::WatchFailed(forbidden()));
    // A relist asks for no older state than the one at hand, unpaged.
    assert_eq!(harness.wait().1, ["begin", "LIST rv=10"]);
    // "Most recent" only once that was refused.
    assert_eq!(
        harness.feed(Input::ListFailed(expired())),
        ["begin", "LIST limit=500"]
    );
    assert_eq!(harness.feed(page_end("30")), ["end 30", "WATCH rv=30"]);
    harness.feed(Input::WatchFailed(forbidden()));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=30"]);
}

#[test]
fn client_go_r8_an_unavailable_version_is_retried_at_once_and_once() {
    for failure in [expired(), too_large()] {
        let mut harness = Harness::following();
        harness.feed(Input::WatchFailed(internal()));
        assert_eq!(harness.wait().1, ["begin", "LIST rv=10"]);
        assert_eq!(
            harness.feed(Input::ListFailed(failure.clone())),
            ["begin", "LIST limit=500"]
        );
        // The retry fails too: the pass ends, and the next list starts from the newest.
        assert_eq!(harness.feed(Input::ListFailed(failure)), ["abort"]);
        assert_eq!(harness.wait().1, ["begin", "LIST limit=500"]);
        assert_eq!(harness.feed(Input::ListFailed(internal())), ["abort"]);
        assert_eq!(harness.wait().1, ["begin", "LIST limit=500"]);
        harness.feed(page_end("40"));
        harness.feed(Input::WatchFailed(internal()));
        assert_eq!(harness.wait().1, ["begin", "LIST rv=40"]);
    }
}

#[test]
fn client_go_r8_a_410_of_the_watch_does_not_ask_for_the_newest() {
    let mut harness = Harness::following();
    harness.feed(Input::ErrorEvent(expired()));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=10"]);
}

#[test]
fn client_go_r9_failures_are_told_apart() {
    let class = |status: Status| Failure::from(status).class;
    assert_eq!(class(Status::expired("x")), FailureClass::Expired);
    let too_large = Status::too_large_resource_version(9, 1, 1);
    assert_eq!(class(too_large), FailureClass::TooLargeVersion);
    let bare = |code| {
        let mut status = Status::internal("");
        (status.code, status.reason) = (code, evenkeel_meta::Reason::Unknown);
        status
    };
    assert_eq!(class(bare(410)), FailureClass::Expired);
    assert_eq!(class(bare(429)), FailureClass::Throttled);
    assert_eq!(class(bare(403)), FailureClass::Refused);
    assert_eq!(class(bare(503)), FailureClass::Other);
}

#[test]
fn client_go_r10_pages_where_the_server_reads_its_database() {
    let (mut harness, _) = Harness::listing();
    harness.feed(Input::Item("a"));
    assert_eq!(
        harness.feed(page_end_to("10", "c1")),
        ["LIST limit=500 continue=c1"]
    );
    harness.feed(Input::Item("b"));
    // The version of a list is that of its first page (P2).
    assert_eq!(harness.feed(page_end("11")), ["end 10", "WATCH rv=10"]);
    // The server has no watch cache: later lists come in pages too.
    harness.feed(Input::WatchFailed(internal()));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=10 limit=500"]);
}

#[test]
fn client_go_r10_remembers_pages_of_the_retry_too() {
    let (mut harness, _) = Harness::listing();
    assert_eq!(
        harness.feed(Input::ListFailed(too_large())),
        ["begin", "LIST limit=500"]
    );
    harness.feed(page_end_to("10", "c1"));
    harness.feed(page_end("10"));
    harness.feed(Input::WatchFailed(internal()));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=10 limit=500"]);
}

#[test]
fn client_go_r10_ts13_a_page_size_that_was_set_always_counts() {
    let (mut harness, asked) = Harness::started(ReflectorOptions {
        watch_list: false,
        page_size: Some(4),
        ..ReflectorOptions::default()
    });
    assert_eq!(asked, ["begin", "LIST rv=0 limit=4"]);
    assert_eq!(
        harness.feed(page_end_to("10", "c1")),
        ["LIST limit=4 continue=c1"]
    );
    harness.feed(page_end("10"));
    harness.feed(Input::WatchFailed(internal()));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=10 limit=4"]);
}

#[test]
fn client_go_r11_the_fallback_to_the_newest_is_paged() {
    let mut harness = Harness::following();
    harness.feed(Input::WatchFailed(internal()));
    assert_eq!(harness.wait().1, ["begin", "LIST rv=10"]);
    assert_eq!(
        harness.feed(Input::ListFailed(too_large())),
        ["begin", "LIST limit=500"]
    );
}

#[test]
fn client_go_p3_an_expired_token_leads_to_one_whole_list_at_the_asked_version() {
    let mut harness = Harness::started(ReflectorOptions {
        watch_list: false,
        page_size: Some(2),
        ..ReflectorOptions::default()
    })
    .0;
    harness.feed(Input::Item("a"));
    harness.feed(page_end_to("10", "c1"));
    assert_eq!(
        harness.feed(Input::ListFailed(expired())),
        ["begin", "LIST rv=0"]
    );
    // That one may be too old in turn (TS11: 0, continue, 0, newest).
    assert_eq!(
        harness.feed(Input::ListFailed(expired())),
        ["begin", "LIST limit=2"]
    );
    assert_eq!(harness.feed(page_end("20")), ["end 20", "WATCH rv=20"]);
}

/// kube-rs starts from page one for ever.
#[test]
fn kube_rs_d3_a_token_that_always_expires_does_not_keep_the_list_from_ending() {
    let (mut harness, _) = Harness::listing();
    harness.feed(page_end_to("10", "c1"));
    harness.feed(Input::ListFailed(expired()));
    assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
}

/// kube-rs lists in pages for ever where the last one comes too late. One whole answer, from a cache if
/// there is one, is the newest that can be had; once it is followed, pages are as good as ever.
#[test]
fn kube_rs_11_a_list_of_pages_that_its_watch_finds_too_old_is_asked_for_whole() {
    type Refuse = fn(&mut Harness);
    let refusals: [Refuse; 2] = [
        |harness| drop(harness.feed(Input::WatchFailed(expired()))),
        |harness| {
            harness.feed(Input::Opened);
            harness.feed(Input::ErrorEvent(expired()));
        },
    ];
    for refuse in refusals {
        let (mut harness, _) = Harness::listing();
        harness.feed(page_end_to("10", "c1"));
        assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
        refuse(&mut harness);
        assert_eq!(harness.wait().1, ["begin", "LIST rv=10"]);
        assert_eq!(harness.feed(page_end("20")), ["end 20", "WATCH rv=20"]);
        // Not in pages, and too old all the same: as ever.
        refuse(&mut harness);
        assert_eq!(harness.wait().1, ["begin", "LIST rv=20 limit=500"]);
        harness.feed(page_end_to("30", "c1"));
        harness.feed(page_end("30"));
        harness.feed(Input::Opened);
        harness.feed(modified("a", "31"));
        refuse(&mut harness);
        assert_eq!(harness.wait().1, ["begin", "LIST rv=31 limit=500"]);
        harness.feed(page_end_to("40", "c1"));
        harness.feed(page_end("40"));
        harness.feed(Input::Opened);
        harness.feed(bookmark("41"));
        refuse(&mut harness);
        assert_eq!(harness.wait().1, ["begin", "LIST rv=41 limit=500"]);
    }
}

#[test]
fn incident_8_an_expired_token_keeps_no_half_state() {
    let (mut harness, _) = Harness::listing();
    assert_eq!(
        harness.feed(Input::Item("gone meanwhile")),
        ["item gone meanwhile"]
    );
    harness.feed(page_end_to("10", "c1"));
    assert_eq!(harness.feed(Input::ListFailed(expired()))[0], "begin");
    assert_eq!(harness.feed(Input::Item("b")), ["item b"]);
}

#[test]
fn incident_8_nothing_is_synced_before_the_last_page() {
    let (mut harness, _) = Harness::listing();
    for token in ["c1", "c2"] {
        for _ in 0..500 {
            assert_eq!(harness.feed(Input::Item("a")), ["item a"]);
        }
        let asked = harness.feed(page_end_to("10", token));
        assert_eq!(asked, [format!("LIST limit=500 continue={token}")]);
        assert_eq!(harness.machine.resource_version(), None);
    }
    assert_eq!(harness.feed(page_end("10"))[0], "end 10");
}

#[test]
fn client_go_b5_a_lagging_replica_costs_exactly_two_lists() {
    let mut harness = Harness::following();
    harness.feed(Input::WatchFailed(internal()));
    let mut lists: Vec<_> = harness.wait().1;
    lists.extend(harness.feed(Input::ListFailed(too_large())));
    lists.extend(harness.feed(page_end("12")));
    assert_eq!(
        lists,
        [
            "begin",
            "LIST rv=10",
            "begin",
            "LIST limit=500",
            "end 12",
            "WATCH rv=12"
        ]
    );
}

#[test]
fn client_go_b6_a_list_below_what_was_reached_begins_a_new_history() {
    let mut harness = Harness::following();
    harness.feed(modified("a", "1200"));
    harness.feed(Input::ErrorEvent(internal()));
    harness.wait();
    harness.feed(Input::ListFailed(too_large()));
    harness.take_reports();
    assert_eq!(
        harness.feed(page_end("1000")),
        ["end 1000 rewound", "WATCH rv=1000"]
    );
    assert_eq!(harness.take_reports()[0], "rewound: 1200 to 1000");
    // The next list is of the same history.
    harness.feed(Input::WatchFailed(internal()));
    harness.wait();
    assert_eq!(harness.feed(page_end("1000"))[0], "end 1000");
}
