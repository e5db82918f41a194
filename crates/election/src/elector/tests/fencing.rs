use std::sync::atomic::AtomicU64;

use super::*;
use crate::{FenceCell, FenceExpired, FencedTransport};

fn config_map(name: &str) -> http::Request<bytes::Bytes> {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    http::Request::post("/api/v1/namespaces/default/configmaps")
        .header("content-type", "application/json")
        .body(body.to_string().into())
        .unwrap()
}

/// One client for all terms: it writes in each term, and never between them.
#[tokio::test(start_paused = true)]
async fn incident_3_a_fenced_client_writes_only_in_its_terms() {
    let world = World::new();
    let cell = FenceCell::new();
    let fenced = FencedTransport::new(world.network.clone(), cell.clone());
    let fenced = Client::new(fenced, ClientOptions::default());
    let elector = world.builder("A").fence(cell).build().unwrap();
    let never = CancellationToken::new();

    let error = fenced.raw(config_map("early")).await.unwrap_err();
    assert_eq!(FenceExpired::find(&error), Some(FenceExpired::NoTerm));
    assert!(error.is_fenced() && !error.is_retryable());

    let leader = elector.campaign(&never).await.unwrap();
    fenced.raw(config_map("first")).await.unwrap();
    world.usurp("rival").await;
    leader.lost().await;
    let error = fenced.raw(config_map("between")).await.unwrap_err();
    assert!(FenceExpired::find(&error).is_some());
    leader.release().await;

    let leader = elector.campaign(&never).await.unwrap();
    fenced.raw(config_map("second")).await.unwrap();
    leader.release().await;
    let error = fenced.raw(config_map("late")).await.unwrap_err();
    assert_eq!(FenceExpired::find(&error), Some(FenceExpired::NoTerm));
}

/// SIGSTOP, or a laptop that sleeps: all timers stand still, only the boot clock runs.
#[tokio::test(start_paused = true)]
async fn after_a_suspend_the_fence_is_closed_before_any_timer_fires() {
    let world = World::new();
    let slept = Arc::new(AtomicU64::new(0));
    let (tokio, reading) = (Clock::tokio(), Arc::clone(&slept));
    let clock =
        Clock::from_fn(move || tokio.now() + Duration::from_secs(reading.load(Ordering::SeqCst)));
    let elector = world.builder("A").clock(clock).build().unwrap();
    let never = CancellationToken::new();
    let leader = elector.campaign(&never).await.unwrap();
    sleep(5 * SECOND).await;
    assert!(leader.fence().check().is_ok());
    slept.store(30, Ordering::SeqCst);
    let closed = leader.fence().check();
    assert!(matches!(closed, Err(FenceExpired::Overdue { .. })));
    let cause = timeout(3 * SECOND, leader.lost()).await.unwrap();
    assert!(matches!(cause, LossCause::NotRenewed { .. }), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn the_fence_closes_before_a_rival_may_lead() {
    let world = World::new();
    let leader = world.lead("A").await;
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let _standby = run(&world.elector("B"), &cancel, &work);
    sleep(31 * SECOND).await;
    let fault = world.hang();
    until(|| leader.fence().check().is_err()).await;
    assert!(!work.is_running());
    fault.lift();
    let took = until(|| work.is_running()).await;
    assert!(took > 2 * SECOND, "the margin: {took:?}");
}
