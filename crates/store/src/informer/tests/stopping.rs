//! Starting, joining, leaving and stopping, in every order.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::fake_server::{Answer, any};
use crate::status::SyncError;
use crate::transform::Transform;

#[tokio::test(start_paused = true)]
async fn client_go_r24_ts20_stopping_ends_the_watch_at_once_and_quietly() {
    let server = FakeServer::new();
    server.put("a", 1);
    // While it runs, just after it was lost, and while it is being opened.
    for moment in 0..3 {
        let (informers, informer) = running(&server).await;
        pass(Duration::from_secs(60)).await;
        assert_eq!(server.open_streams(), 1);
        if moment > 0 {
            server.cut(false);
        }
        if moment == 2 {
            server.answer_next(any, Answer::Hang);
            settle().await;
        }
        server.requests();
        let start = tokio::time::Instant::now();
        informers.shutdown().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(server.open_streams(), 0);
        pass(Duration::from_secs(600)).await;
        assert!(
            server.requests().is_empty(),
            "nothing is asked after the stop"
        );
        assert!(
            informer.sync_state().failure.is_none(),
            "to stop is no failure"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn client_go_i4_ts54_stopped_is_final() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (informers, informer) = running(&server).await;
    let registration = informer.add_handler(Log::default().handler()).unwrap();
    informers.shutdown().await;
    let refusal = informer.add_handler(Log::default().handler()).unwrap_err();
    assert_eq!(refusal.to_string(), "the informer was stopped");
    assert!(informer.add_slow_handler(|_, _| async {}).is_err());
    assert!(informer.subscribe().is_err());
    assert_eq!(informer.sync_state().phase, SyncPhase::Stopped);
    // Leaving is fine at any time, and what the store has can still be read.
    registration.remove();
    assert_eq!(informer.store().len(), 1);
    server.requests();
    informers.start();
    settle().await;
    assert!(server.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn client_go_i5_shutdown_waits_for_the_call_under_way_and_drops_what_was_not_begun() {
    let server = FakeServer::new();
    for n in 0..10 {
        server.put(&format!("t{n}"), n);
    }
    let (informers, informer) = running(&server).await;
    let (began, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (Arc::clone(&began), Arc::clone(&ended));
    let _slow = informer
        .add_slow_handler(move |_, _| {
            counters.0.fetch_add(1, Ordering::Relaxed);
            let ended = Arc::clone(&counters.1);
            async move {
                tokio::time::sleep(Duration::from_secs(10)).await;
                ended.fetch_add(1, Ordering::Relaxed);
            }
        })
        .unwrap();
    pass(Duration::from_secs(25)).await;
    assert_eq!(began.load(Ordering::Relaxed), 3);
    informers.shutdown().await;
    let counts = (began.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
    assert_eq!(counts, (3, 3));
    pass(Duration::from_secs(60)).await;
    assert_eq!(began.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn client_go_q7_ts38_everyone_who_waits_is_woken_by_the_end_and_takes_what_is_left() {
    let server = FakeServer::new();
    let (informers, informer) = running(&server).await;
    let mut late = informer.subscribe().unwrap();
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let mut subscription = informer.subscribe().unwrap();
            tokio::spawn(async move { subscription.next().await.is_none() })
        })
        .collect();
    settle().await;
    assert!(waiting.iter().all(|task| !task.is_finished()));
    // Those who are woken by an event find it; nothing is left for the end.
    informers.shutdown().await;
    for task in waiting {
        assert!(task.await.unwrap());
    }
    assert!(late.next().await.is_none());

    let (informers, informer) = running(&server).await;
    let mut behind = informer.subscribe().unwrap();
    settle().await;
    server.put("a", 1);
    settle().await;
    informers.shutdown().await;
    assert!(behind.next().await.is_some());
    assert!(behind.next().await.is_none());
}

/// Upstream could block for ever when the first event came before the listeners ran.
#[tokio::test(start_paused = true)]
async fn client_go_i14_b13_ts59_events_before_a_handler_runs_neither_block_nor_get_lost() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = informers(&server);
    let informer = things(&informers);
    let mut nobody_takes = informer.subscribe().unwrap();
    let _stuck = informer
        .add_slow_handler(|_, _| std::future::pending::<()>())
        .unwrap();
    let log = Log::default();
    let inline = informer.add_handler(log.handler()).unwrap();
    informers.start();
    informer
        .synced_within(Duration::from_secs(1))
        .await
        .unwrap();
    inline.synced_within(Duration::from_secs(1)).await.unwrap();
    server.put("b", 1);
    pass(Duration::from_secs(1)).await;
    assert_eq!(log.take(), ["a+1 initial", "b+1"]);
    let mut told = Vec::new();
    while let Some((key, event)) = nobody_takes.try_next() {
        told.push(spell(&key, &event));
    }
    assert_eq!(told, ["a+1 initial", "b+1"]);
}

/// Nobody who was there before the first list may find the informer synced and not have been told.
#[tokio::test(start_paused = true)]
async fn client_go_i8_a_handler_added_before_the_first_list_ends_is_told_before_the_informer_has_synced()
 {
    let server = FakeServer::new();
    server.put("a", 1);
    server.put("b", 1);
    let informers = informers(&server);
    let log = Log::default();
    let late = Arc::new(Mutex::new((None::<Informer<Thing>>, None)));
    let (added, noted) = (Arc::clone(&late), log.clone());
    // While the first contents are decoded, which is as late as can be.
    let transform = Transform::new(move |_: &mut Thing| {
        let (informer, registration) = &mut *added.lock();
        let informer = informer.as_ref().unwrap();
        let add = || informer.add_handler(noted.handler()).unwrap();
        registration.get_or_insert_with(add);
    });
    let informer = informers.transformed(THINGS, InformerOptions::default(), &transform);
    late.lock().0 = Some(informer.clone());
    let early = informer.add_handler(log.handler()).unwrap();
    informers.start();
    informer.synced().await.unwrap();
    // Both with the list, object by object, and not the late one after the informer has synced.
    let told = log.take();
    assert_eq!(told.len(), 4);
    assert_eq!((&told[0], &told[2]), (&told[1], &told[3]), "{told:?}");
    let (_, registration) = &*late.lock();
    assert!(early.has_synced() && registration.as_ref().unwrap().has_synced());
}

/// The error of a handler that waits says how its informer stands.
#[tokio::test(start_paused = true)]
async fn client_go_i8_a_handler_that_waits_in_vain_is_told_why() {
    let server = FakeServer::new();
    let no = Answer::Status(evenkeel_meta::Status::bad_request("not like this"));
    server.answer_next_as(1000, any, &no);
    let informers = informers(&server);
    let informer = things(&informers);
    let registration = informer.add_handler(Log::default().handler()).unwrap();
    let subscription = informer.subscribe().unwrap();
    informers.start();
    let limit = Duration::from_secs(5);
    let error = registration.synced_within(limit).await.unwrap_err();
    assert!(error.to_string().contains("not like this"), "{error}");
    let error = subscription.synced_within(limit).await.unwrap_err();
    assert!(error.to_string().contains("not like this"), "{error}");
    informers.shutdown().await;
    let error = registration.synced().await.unwrap_err();
    assert!(
        matches!(&error, SyncError::Stopped { failure: Some(_) }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_i9_ts60_waiting_for_all_names_who_is_late() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = informers(&server);
    informers.wait_for_sync(Duration::ZERO).await.unwrap();
    let fine = things(&informers);
    let theirs = InformerOptions::default().namespace("theirs");
    let late: Informer<Thing> = informers.projected(THINGS, theirs);
    let no = Answer::Status(evenkeel_meta::Status::bad_request("not you"));
    server.answer_paths("/namespaces/theirs/", no);
    informers.start();
    let error = informers
        .wait_for_sync(Duration::from_secs(9))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("not you"), "{error}");
    assert!(fine.has_synced() && informers.unsynced().len() == 1);
    // What has synced is reported as that, whatever else was cancelled meanwhile.
    late.stop();
    informers.shutdown().await;
    assert!(late.synced().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn client_go_i7_ts57_removal_returns_at_once_and_never_synced_handlers_can_leave() {
    let server = FakeServer::new();
    for name in ["a", "b", "c"] {
        server.put(name, 1);
    }
    let informers = informers(&server);
    let informer = things(&informers);
    let never_started = informer.add_handler(Log::default().handler()).unwrap();
    never_started.remove();
    informers.start();
    informer.synced().await.unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let ended = Arc::clone(&calls);
    let slow = informer
        .add_slow_handler(move |_, _| {
            let ended = Arc::clone(&ended);
            async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                ended.fetch_add(1, Ordering::Relaxed);
            }
        })
        .unwrap();
    pass(Duration::from_secs(1)).await;
    let start = tokio::time::Instant::now();
    slow.remove();
    assert_eq!(start.elapsed(), Duration::ZERO);
    server.put("b", 2);
    pass(Duration::from_secs(60)).await;
    assert_eq!(
        calls.load(Ordering::Relaxed),
        1,
        "the call under way, and no other"
    );
}

/// Handlers come and go from many threads while events pour in.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn client_go_ts55_a_hundred_tasks_add_and_remove_handlers_while_events_come() {
    let server = FakeServer::new();
    let informers = informers(&server);
    let informer = things(&informers);
    informers.start();
    informer.synced().await.unwrap();
    let panics = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..100)
        .map(|_| {
            let (informer, panics) = (informer.clone(), Arc::clone(&panics));
            tokio::spawn(async move {
                for _ in 0..20 {
                    let inline = informer.add_handler(|_: &ObjectKey, _: &Event<Thing>| {});
                    let (inline, slow) = (inline.unwrap(), informer.subscribe().unwrap());
                    tokio::task::yield_now().await;
                    panics.fetch_add(inline.panics() as usize, Ordering::Relaxed);
                    drop(slow);
                    inline.remove();
                }
            })
        })
        .collect();
    for n in 0..10_000 {
        server.put(&format!("t{}", n % 50), n);
        if n % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for worker in workers {
        worker.await.unwrap();
    }
    let written = server.version().into();
    informer.store().wait_for(&written).await.unwrap();
    assert_eq!(contents(&informer), server.contents());
    assert_eq!(panics.load(Ordering::Relaxed), 0);
    informers.shutdown().await;
    assert_eq!(server.open_streams(), 0);
    assert!(informer.add_handler(Log::default().handler()).is_err());
}

/// kube-rs missed events when many controllers came and went on one client.
#[tokio::test(start_paused = true)]
async fn kube_rs_21_informers_that_come_and_go_leave_nothing_behind_and_cost_no_event() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (informers, informer) = running(&server).await;
    for n in 0..100 {
        let options = InformerOptions::default().namespace(format!("n{n}"));
        let passing: Informer<Thing> = informers.projected(THINGS, options);
        informers.start();
        if n % 2 == 0 {
            passing.synced().await.unwrap();
        }
        passing.stop();
    }
    settle().await;
    assert_eq!(server.open_streams(), 1);
    informers.start();
    assert_eq!(informers.sync_states().len(), 1);
    server.put("b", 1);
    settle().await;
    assert_eq!(contents(&informer), server.contents());
}
