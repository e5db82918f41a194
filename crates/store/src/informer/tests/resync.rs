use super::*;

/// The names in a handler's log, which must be resyncs all.
fn names(log: &Log) -> Vec<String> {
    let mut names: Vec<_> = log
        .take()
        .into_iter()
        .map(|line| {
            let (name, states) = line.split_once(' ').expect("an update");
            let (old, new) = states.split_once('>').expect("an update");
            assert_eq!(old, new, "{line}");
            name.to_owned()
        })
        .collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn client_go_r25_q5_a_resync_tells_of_everything_again_and_asks_the_server_nothing() {
    let server = FakeServer::new();
    server.put("a", 1);
    server.put("b", 2);
    let (_informers, informer) = running(&server).await;
    let (log, other) = (Log::default(), Log::default());
    let noted = log.clone();
    let handler = move |key: &ObjectKey, event: &Event<Thing>| {
        assert!(event.is_initial() || event.is_resync());
        noted.note(key, event);
    };
    let registration = informer.add_handler(handler).unwrap();
    let registration = registration.resync_every(Duration::from_secs(30));
    let _other = informer.add_handler(other.handler()).unwrap();
    settle().await;
    assert_eq!((log.take().len(), other.take().len()), (2, 2));
    server.requests();
    pass(Duration::from_secs(29)).await;
    assert!(log.take().is_empty());
    for _ in 0..3 {
        pass(Duration::from_secs(1)).await;
        assert_eq!(names(&log), ["a", "b"]);
        pass(Duration::from_secs(29)).await;
        assert!(log.take().is_empty());
    }
    assert!(other.take().is_empty(), "who did not ask is not told");
    assert!(server.requests().is_empty());
    assert_eq!(registration.panics(), 0);
}

/// Upstream's timer begins anew with every relist.
#[tokio::test(start_paused = true)]
async fn client_go_r25_relists_do_not_put_a_resync_off() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let registration = informer.add_handler(log.handler()).unwrap();
    let _registration = registration.resync_every(Duration::from_secs(60));
    settle().await;
    log.take();
    for _ in 0..12 {
        pass(Duration::from_secs(10)).await;
        server.send_error(&evenkeel_meta::Status::expired("compacted"));
    }
    assert_eq!(names(&log), ["a", "a"]);
}

#[tokio::test(start_paused = true)]
async fn client_go_i10_ts50_each_handler_has_its_own_period_of_a_second_at_least() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    let logs = [(); 4].map(|()| Log::default());
    let periods = [None, Some(0), Some(2500), Some(7000)];
    let mut registrations = Vec::new();
    for (log, period) in logs.iter().zip(periods) {
        let registration = informer.add_handler(log.handler()).unwrap();
        registrations.push(match period {
            Some(period) => registration.resync_every(Duration::from_millis(period)),
            None => registration,
        });
    }
    settle().await;
    logs.iter().for_each(|log| drop(log.take()));
    // In steps, since a timer that is late by a step may skip what was due meanwhile.
    for _ in 0..100 {
        pass(Duration::from_millis(100)).await;
    }
    let counts = logs.each_ref().map(|log| names(log).len());
    assert_eq!(counts[0], 0);
    assert!((9..=10).contains(&counts[1]), "{counts:?}");
    assert!((3..=4).contains(&counts[2]), "{counts:?}");
    assert_eq!(counts[3], 1);
    // A period can be changed at any time.
    let fast = registrations.remove(0).resync_every(Duration::from_secs(1));
    for _ in 0..30 {
        pass(Duration::from_millis(100)).await;
    }
    assert!(names(&logs[0]).len() >= 2);
    drop(fast);
}

#[tokio::test(start_paused = true)]
async fn client_go_ts49_a_handler_is_resynced_in_its_own_time() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    let logs = [(); 3].map(|()| Log::default());
    let mut registrations = Vec::new();
    for (log, seconds) in logs.iter().zip([0, 2, 3]) {
        let registration = informer.add_handler(log.handler()).unwrap();
        registrations.push(match seconds {
            0 => registration,
            seconds => registration.resync_every(Duration::from_secs(seconds)),
        });
    }
    settle().await;
    logs.iter().for_each(|log| drop(log.take()));
    let told = || logs.each_ref().map(|log| names(log).len());
    pass(Duration::from_millis(1900)).await;
    assert_eq!(told(), [0, 0, 0]);
    pass(Duration::from_millis(200)).await;
    assert_eq!(told(), [0, 1, 0]);
    pass(Duration::from_millis(1000)).await;
    assert_eq!(told(), [0, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_is_resynced_too_and_holds_one_entry_an_object() {
    let server = FakeServer::new();
    for n in 0..10 {
        server.put(&format!("t{n}"), n);
    }
    let (_informers, informer) = running(&server).await;
    let subscription = informer.subscribe().unwrap();
    let mut subscription = subscription.resync_every(Duration::from_secs(10));
    settle().await;
    // Its initial contents come first, however late it is.
    pass(Duration::from_secs(25)).await;
    assert_eq!(subscription.pending(), 10);
    let mut initial = 0;
    while let Some((_, event)) = subscription.try_next() {
        initial += usize::from(event.is_initial());
    }
    assert_eq!(initial, 10);
    pass(Duration::from_secs(60)).await;
    assert_eq!(subscription.pending(), 10);
    server.put("t0", 100);
    settle().await;
    let mut resynced = 0;
    while let Some((key, event)) = subscription.try_next() {
        assert_eq!(event.is_resync(), key.name() != "t0", "{key}");
        resynced += 1;
    }
    assert_eq!(resynced, 10);
}

/// A period that nobody asked for must not keep an informer awake.
#[tokio::test(start_paused = true)]
async fn no_resync_means_no_timer() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let registration = informer.add_handler(log.handler()).unwrap();
    let registration = registration.resync_every(Duration::from_secs(5));
    settle().await;
    registration.remove();
    log.take();
    pass(Duration::from_secs(60)).await;
    assert!(log.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_period_without_end_is_no_resync_and_nothing_else() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let registration = informer.add_handler(log.handler()).unwrap();
    let _registration = registration.resync_every(Duration::MAX);
    pass(Duration::from_secs(100_000)).await;
    server.put("b", 1);
    settle().await;
    assert_eq!(log.take(), ["a+1 initial", "b+1"]);
}
