use super::*;

#[tokio::test(start_paused = true)]
async fn client_go_i6_ts52_kube_rs_4_a_late_handler_is_told_of_what_is_there_then_of_changes_without_a_gap()
 {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    let (early, late) = (Log::default(), Log::default());
    let _early = informer.add_handler(early.handler()).unwrap();
    settle().await;
    server.put("b", 1);
    settle().await;
    let registration = informer.add_handler(late.handler()).unwrap();
    server.put("a", 2);
    registration.synced().await.unwrap();
    settle().await;
    assert_eq!(early.take(), ["a+1 initial", "b+1", "a 1>2"]);
    let told = late.take();
    // Whether the change falls before the taking in or after: each object once, then its changes.
    assert!(
        told == ["a+2 initial", "b+1 initial"]
            || told == ["b+1 initial", "a+2 initial"]
            || told == ["a+1 initial", "b+1 initial", "a 1>2"]
            || told == ["b+1 initial", "a+1 initial", "a 1>2"],
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_q11_only_the_first_list_is_initial() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = informers(&server);
    let informer = things(&informers);
    let log = Log::default();
    let _registration = informer.add_handler(log.handler()).unwrap();
    informers.start();
    informer.synced().await.unwrap();
    assert_eq!(log.take(), ["a+1 initial"]);
    // A change during a gap, found by a relist.
    server.cut(false);
    server.put("b", 1);
    server.compact();
    pass(Duration::from_secs(5)).await;
    assert_eq!(log.take(), ["b+1"]);
}

#[tokio::test(start_paused = true)]
async fn client_go_i7_a_removed_handler_is_not_called_again() {
    let server = FakeServer::new();
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let registration = informer.add_handler(log.handler()).unwrap();
    server.put("a", 1);
    settle().await;
    assert_eq!(log.take(), ["a+1"]);
    registration.remove();
    server.put("b", 1);
    settle().await;
    assert!(log.take().is_empty());
    // The informer has let go of it, too.
    assert_eq!(Arc::strong_count(&log.0), 1);
}

#[tokio::test(start_paused = true)]
async fn client_go_i8_b10_a_handler_has_synced_when_its_last_initial_call_has_returned() {
    let server = FakeServer::new();
    for n in 0..10 {
        server.put(&format!("t{n}"), n);
    }
    let (_informers, informer) = running(&server).await;
    let registration = informer
        .add_slow_handler(|_, _| tokio::time::sleep(Duration::from_secs(1)))
        .unwrap();
    pass(Duration::from_millis(9_500)).await;
    assert!(!registration.has_synced());
    pass(Duration::from_millis(1_000)).await;
    assert!(registration.has_synced());
    assert!(informer.has_synced());
}

#[tokio::test(start_paused = true)]
async fn client_go_i8_an_empty_collection_syncs_handlers_of_every_sort() {
    let server = FakeServer::new();
    let (_informers, informer) = running(&server).await;
    let inline = informer.add_handler(Log::default().handler()).unwrap();
    let slow = informer.add_slow_handler(|_, _| async {}).unwrap();
    inline.synced().await.unwrap();
    slow.synced().await.unwrap();
    let mut subscription = informer.subscribe().unwrap();
    settle().await;
    assert!(subscription.try_next().is_none());
    assert!(subscription.has_synced());
}

#[tokio::test(start_paused = true)]
async fn client_go_i13_a_panic_is_contained_and_the_handler_syncs_all_the_same() {
    let server = FakeServer::new();
    server.put("a", 1);
    server.put("b", 1);
    let (_informers, informer) = running(&server).await;
    let (log, calm) = (Log::default(), Log::default());
    let noted = log.clone();
    let wild = move |key: &ObjectKey, event: &Event<Thing>| {
        noted.note(key, event);
        assert!(key.name() != "a", "a is too much");
    };
    let wild = informer.add_handler(wild).unwrap();
    let calm_registration = informer.add_handler(calm.handler()).unwrap();
    let noted = log.clone();
    let slow = informer
        .add_slow_handler(move |key, event| {
            assert!(key.name() != "b", "b is too much");
            noted.note(&key, &event);
            async {}
        })
        .unwrap();
    wild.synced().await.unwrap();
    slow.synced().await.unwrap();
    server.put("c", 1);
    settle().await;
    assert_eq!(
        (wild.panics(), slow.panics(), calm_registration.panics()),
        (1, 1, 0)
    );
    assert_eq!(calm.take().len(), 3);
    let told = log.take();
    assert_eq!(told.iter().filter(|line| *line == "c+1").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn client_go_i2_a_slow_handler_holds_up_nobody_and_is_told_in_order() {
    let server = FakeServer::new();
    let (_informers, informer) = running(&server).await;
    let (fast, slow) = (Log::default(), Log::default());
    let _fast = informer.add_handler(fast.handler()).unwrap();
    let noted = slow.clone();
    let _slow = informer
        .add_slow_handler(move |key, event| {
            noted.note(&key, &event);
            tokio::time::sleep(Duration::from_secs(60))
        })
        .unwrap();
    settle().await;
    for n in 1..=5 {
        server.put("a", n);
        settle().await;
    }
    assert_eq!(fast.take(), ["a+1", "a 1>2", "a 2>3", "a 3>4", "a 4>5"]);
    pass(Duration::from_secs(61)).await;
    assert_eq!(slow.take(), ["a+1", "a 1>5"]);
}

#[tokio::test(start_paused = true)]
async fn client_go_b9_a_stalled_subscription_holds_one_entry_an_object() {
    let server = FakeServer::new();
    for n in 0..100 {
        server.put(&format!("t{n}"), 0);
    }
    let (_informers, informer) = running(&server).await;
    let mut subscription = informer.subscribe().unwrap();
    settle().await;
    while subscription.try_next().is_some() {}
    for round in 1..=100 {
        for n in 0..100 {
            server.put(&format!("t{n}"), round);
        }
        settle().await;
    }
    assert_eq!(subscription.pending(), 100);
    let (_, event) = subscription.next().await.unwrap();
    let Event::Updated { old, new } = event else {
        panic!("{event:?}")
    };
    assert_eq!((old.size, new.size), (0, 100));
}

/// kube-rs's shared subscriber falls asleep on a deleted object, with more behind it.
#[tokio::test(start_paused = true)]
async fn kube_rs_d8_a_deleted_object_does_not_put_a_subscriber_to_sleep() {
    let server = FakeServer::new();
    for name in ["x", "y"] {
        server.put(name, 1);
    }
    let (_informers, informer) = running(&server).await;
    let mut subscription = informer.subscribe().unwrap();
    settle().await;
    while subscription.try_next().is_some() {}
    server.put("x", 2);
    server.put("y", 2);
    server.delete("x");
    settle().await;
    let mut told = Vec::new();
    for _ in 0..2 {
        let (key, event) = subscription.next().await.unwrap();
        told.push(spell(&key, &event));
    }
    assert_eq!(told, ["x-2", "y 1>2"]);
    // One that waits is woken by a deletion, too.
    let waiting = tokio::spawn(async move { subscription.next().await });
    settle().await;
    server.delete("y");
    let (key, event) = waiting.await.unwrap().unwrap();
    assert_eq!(spell(&key, &event), "y-2");
}

#[tokio::test(start_paused = true)]
async fn client_go_b4_a_recreation_while_the_consumer_stalls_is_a_deletion_and_an_addition() {
    let server = FakeServer::new();
    server.put("x", 1);
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let _inline = informer.add_handler(log.handler()).unwrap();
    let mut stalled = informer.subscribe().unwrap();
    settle().await;
    assert_eq!(log.take(), ["x+1 initial"]);
    assert!(stalled.try_next().is_some() && stalled.try_next().is_none());
    // Deleted and created again while the watch is away, so that only a relist shows it.
    server.cut(false);
    server.delete("x");
    server.put("x", 2);
    server.compact();
    pass(Duration::from_secs(5)).await;
    assert_eq!(log.take(), ["x~1", "x+2"]);
    let mut told = Vec::new();
    while let Some((key, event)) = stalled.try_next() {
        told.push(spell(&key, &event));
    }
    assert_eq!(told, ["x~1", "x+2"]);
}

#[tokio::test(start_paused = true)]
async fn client_go_q4_ts42_a_relist_tells_of_deletions_first_and_the_store_shows_the_new_world() {
    let server = FakeServer::new();
    for name in ["a", "b", "c"] {
        server.put(name, 1);
    }
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let store = informer.store().clone();
    let noted = log.clone();
    let _registration = informer
        .add_handler(move |key: &ObjectKey, event: &Event<Thing>| {
            if !event.is_initial() {
                assert_eq!(store.len(), 3);
                assert!(store.contains(&self::key("d")) && !store.contains(&self::key("a")));
            }
            noted.note(key, event);
        })
        .unwrap();
    settle().await;
    log.take();
    server.cut(false);
    server.put("d", 1);
    server.put("b", 2);
    server.delete("a");
    server.compact();
    pass(Duration::from_secs(5)).await;
    let told = log.take();
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[0], "a~1");
    assert!(told.contains(&"d+1".to_owned()) && told.contains(&"b 1>2".to_owned()));
}

/// Ours: upstream tells every handler of every object.
#[tokio::test(start_paused = true)]
async fn client_go_i11_a_relist_that_changes_nothing_is_not_told_and_keeps_every_allocation() {
    type Make = fn(&FakeServer) -> Informers;
    let ways: [(Make, usize); 2] = [(informers, 1), (listing, 2)];
    for (make, requests) in ways {
        let server = FakeServer::new();
        for n in 0..300 {
            server.put(&format!("t{n}"), n);
        }
        let informers = make(&server);
        let informer = things(&informers);
        let log = Log::default();
        let _registration = informer.add_handler(log.handler()).unwrap();
        informers.start();
        informer.synced().await.unwrap();
        log.take();
        let before = informer.store().snapshot();
        server.compact();
        server.send_error(&evenkeel_meta::Status::expired("compacted"));
        server.requests();
        pass(Duration::from_secs(5)).await;
        assert_eq!(server.requests().len(), requests);
        assert!(log.take().is_empty());
        let after = informer.store().snapshot();
        assert!(
            before
                .iter()
                .all(|(key, object)| Arc::ptr_eq(object, after.get(key).unwrap()))
        );
    }
}
