use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use evenkeel_client::{ByteStream, Lane, Transport, TransportError};
use futures_util::future::BoxFuture;
use http::{Method, Request, Response};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A clock that only moves when told to: what a suspended machine's timers see is tokio's.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn clock(&self) -> Clock {
        let hand = Arc::clone(&self.0);
        Clock::from_fn(move || Moment::from(Duration::from_nanos(hand.load(Ordering::SeqCst))))
    }

    fn advance(&self, by: Duration) {
        self.0
            .fetch_add(u64::try_from(by.as_nanos()).unwrap(), Ordering::SeqCst);
    }
}

/// Counts what reaches the network; answers after a wait.
#[derive(Clone, Default)]
struct Network {
    sent: Arc<AtomicUsize>,
    connect: Duration,
    answer: Duration,
}

impl Transport for Network {
    fn send(
        &self,
        _lane: Lane,
        _request: Request<Bytes>,
    ) -> BoxFuture<'static, Result<Response<ByteStream>, TransportError>> {
        let network = self.clone();
        Box::pin(async move {
            tokio::time::sleep(network.connect).await;
            network.sent.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(network.answer).await;
            let body: ByteStream = Box::pin(futures_util::stream::empty());
            Ok(Response::new(body))
        })
    }
}

fn request(method: Method) -> Request<Bytes> {
    let uri = "http://server/api/v1/namespaces/ns/pods";
    Request::builder()
        .method(method)
        .uri(uri)
        .body(Bytes::new())
        .unwrap()
}

fn after(seconds: u64) -> Moment {
    Moment::from(Duration::from_secs(seconds))
}

#[test]
fn a_fence_closes_at_its_time_and_a_renewal_moves_it() {
    let hand = Hand::default();
    let fence = Fence::until(after(12), hand.clock());
    let clone = fence.clone();
    hand.advance(11 * SECOND);
    assert_eq!(clone.check(), Ok(SECOND));
    hand.advance(SECOND);
    assert_eq!(
        clone.check(),
        Err(FenceExpired::Overdue { by: Duration::ZERO })
    );
    fence.extend(after(14));
    assert_eq!(clone.check(), Ok(2 * SECOND));
    fence.extend(after(13));
    assert_eq!(
        clone.check(),
        Ok(2 * SECOND),
        "an older renewal takes nothing back"
    );
}

#[test]
fn a_sealed_fence_stays_closed() {
    let hand = Hand::default();
    let fence = Fence::until(after(12), hand.clock());
    fence.seal();
    fence.extend(after(100));
    assert_eq!(fence.check(), Err(FenceExpired::Ended));
}

#[test]
fn the_horizon_is_known_after_the_term_has_ended() {
    let hand = Hand::default();
    let fence = Fence::until(after(10), hand.clock());
    fence.extend(after(12));
    hand.advance(3 * SECOND);
    fence.seal();
    assert!(fence.check().is_err());
    assert_eq!(fence.horizon(), 9 * SECOND);
    hand.advance(20 * SECOND);
    assert_eq!(fence.horizon(), Duration::ZERO);
}

#[test]
fn a_cell_follows_the_terms() {
    let hand = Hand::default();
    let cell = FenceCell::new();
    assert_eq!(cell.check(), Err(FenceExpired::NoTerm));
    let first = Fence::until(after(12), hand.clock());
    cell.open(&first);
    assert_eq!(cell.check(), Ok(12 * SECOND));
    first.seal();
    assert_eq!(cell.check(), Err(FenceExpired::Ended));
    cell.open(&Fence::until(after(20), hand.clock()));
    assert_eq!(cell.check(), Ok(20 * SECOND));
    assert_eq!(first.check(), Err(FenceExpired::Ended));
    cell.close();
    assert_eq!(cell.check(), Err(FenceExpired::NoTerm));
}

#[tokio::test(start_paused = true)]
async fn writes_are_refused_outside_a_term_and_reads_are_not() {
    let network = Network::default();
    let cell = FenceCell::new();
    let transport = FencedTransport::new(network.clone(), cell.clone());
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let Err(error) = transport.send(Lane::Write, request(method)).await else {
            panic!("written without a term");
        };
        assert!(!error.is_retryable());
        assert_eq!(FenceExpired::find(&error), Some(FenceExpired::NoTerm));
    }
    // A command in a pod is asked for by GET.
    let upgrade = transport.send(Lane::Upgrade, request(Method::GET)).await;
    assert!(upgrade.is_err(), "run without a term");
    assert_eq!(network.sent.load(Ordering::SeqCst), 0);
    assert!(
        transport
            .send(Lane::List, request(Method::GET))
            .await
            .is_ok()
    );

    cell.open(&Fence::until(after(1), Hand::default().clock()));
    assert!(
        transport
            .send(Lane::Write, request(Method::PUT))
            .await
            .is_ok()
    );
    assert_eq!(network.sent.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_write_is_given_up_when_the_fence_closes() {
    let network = Network {
        answer: 60 * SECOND,
        ..Network::default()
    };
    let clock = Clock::tokio();
    let fence = Fence::until(clock.now() + 5 * SECOND, clock.clone());
    let transport = FencedTransport::new(network, fence.clone());
    let start = tokio::time::Instant::now();
    let write = tokio::spawn(transport.send(Lane::Write, request(Method::POST)));
    tokio::time::sleep(3 * SECOND).await;
    fence.extend(clock.now() + 5 * SECOND);
    let Err(error) = write.await.unwrap() else {
        panic!("outlived its fence");
    };
    assert!(matches!(
        FenceExpired::find(&error),
        Some(FenceExpired::Overdue { .. })
    ));
    // The renewal at 3 s moved the end to 8 s.
    let took = start.elapsed();
    assert!(took >= 8 * SECOND && took < 9 * SECOND, "{took:?}");
}

/// Whoever waits for a write in a term that was lost must not hold up its end.
#[tokio::test(start_paused = true)]
async fn a_write_is_given_up_as_soon_as_the_term_is_lost() {
    let network = Network {
        answer: 60 * SECOND,
        ..Network::default()
    };
    let fence = Fence::until(after(12), Hand::default().clock());
    let transport = FencedTransport::new(network, fence.clone());
    let start = tokio::time::Instant::now();
    let write = tokio::spawn(transport.send(Lane::Write, request(Method::POST)));
    tokio::time::sleep(3 * SECOND).await;
    fence.seal();
    let Err(error) = write.await.unwrap() else {
        panic!("outlived its term");
    };
    assert_eq!(FenceExpired::find(&error), Some(FenceExpired::Ended));
    assert_eq!(start.elapsed(), 3 * SECOND);
}

/// The process is stopped while a write waits for its connection, and goes on after the term.
#[tokio::test(start_paused = true)]
async fn a_write_that_waited_through_a_stop_is_not_sent() {
    let hand = Hand::default();
    let network = Network {
        connect: SECOND,
        ..Network::default()
    };
    let transport = FencedTransport::new(network.clone(), Fence::until(after(12), hand.clock()));
    let write = tokio::spawn(transport.send(Lane::Write, request(Method::POST)));
    tokio::time::sleep(SECOND / 2).await;
    // Only the clock that runs through suspend has moved; no timer has fired yet.
    hand.advance(30 * SECOND);
    assert!(write.await.unwrap().is_err());
    assert_eq!(network.sent.load(Ordering::SeqCst), 0);
}

/// A write begun in one term must not be carried by the next term's fence.
#[tokio::test(start_paused = true)]
async fn a_write_belongs_to_the_term_that_it_was_asked_for_in() {
    let hand = Hand::default();
    let network = Network {
        connect: SECOND,
        ..Network::default()
    };
    let first = Fence::until(after(12), hand.clock());
    let cell = FenceCell::from(first.clone());
    let transport = FencedTransport::new(network.clone(), cell.clone());
    let write = tokio::spawn(transport.send(Lane::Write, request(Method::POST)));
    tokio::time::sleep(SECOND / 2).await;
    first.seal();
    cell.open(&Fence::until(after(60), hand.clock()));
    assert!(write.await.unwrap().is_err());
    assert_eq!(network.sent.load(Ordering::SeqCst), 0);
}
