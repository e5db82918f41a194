//! Servers and Leases that no candidate should have to meet.

use bytes::Bytes;
use evenkeel_client::{ByteStream, Lane, Transport, TransportError};
use futures_util::future::BoxFuture;
use http::{Request, Response};
use parking_lot::Mutex;

use super::*;
use crate::{FenceCell, NotElected};

/// What an answer is instead of the server's.
type Answer = (u16, &'static [(&'static str, &'static str)], String);

/// The way to the server, with somebody on it who answers what he likes.
#[derive(Clone)]
struct Meddled {
    inner: Counting,
    answer: Arc<Mutex<Option<Answer>>>,
}

impl Transport for Meddled {
    fn send(
        &self,
        lane: Lane,
        request: Request<Bytes>,
    ) -> BoxFuture<'static, Result<Response<ByteStream>, TransportError>> {
        let sent = self.inner.send(lane, request);
        let Some((code, headers, body)) = self.answer.lock().clone() else {
            return sent;
        };
        Box::pin(async move {
            let mut answer = Response::builder().status(code);
            for (name, value) in headers {
                answer = answer.header(*name, *value);
            }
            let body: ByteStream = Box::pin(futures_util::stream::iter([Ok(body.into())]));
            Ok(answer.body(body).unwrap())
        })
    }
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const HTML: &[(&str, &str)] = &[("content-type", "text/html")];

fn answers() -> Vec<Answer> {
    let refusal = |code: u16, reason: &str| {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Failure", "message": "no", "reason": reason, "code": code});
        (code, JSON, status.to_string())
    };
    let lease = |spec: Value| {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "demo", "namespace": NAMESPACE, "resourceVersion": "x"},
            "spec": spec});
        (200, JSON, lease.to_string())
    };
    vec![
        (200, JSON, "not json".to_owned()),
        (200, HTML, "<html>Please log in</html>".to_owned()),
        (200, JSON, String::new()),
        (200, JSON, "{}".to_owned()),
        (200, JSON, "[]".to_owned()),
        (200, JSON, "null".to_owned()),
        (
            200,
            JSON,
            r#"{"metadata":{"name":"demo","resourceVersion":"7"}}"#.to_owned(),
        ),
        (
            200,
            JSON,
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}"#.to_owned(),
        ),
        lease(json!("held")),
        lease(json!({"holderIdentity": 7})),
        lease(json!({"holderIdentity": "rival"})),
        lease(json!({"holderIdentity": "rival", "leaseDurationSeconds": -1})),
        lease(json!({"holderIdentity": "", "leaseDurationSeconds": 0})),
        lease(json!({"holderIdentity": "x".repeat(1 << 20), "leaseDurationSeconds": 60})),
        refusal(403, "Forbidden"),
        refusal(404, "NotFound"),
        refusal(409, "Conflict"),
        refusal(409, "AlreadyExists"),
        refusal(410, "Expired"),
        refusal(422, "Invalid"),
        refusal(500, "InternalError"),
        (429, &[("retry-after", "3600")], "slow down".to_owned()),
        (503, &[("retry-after", "never")], String::new()),
        (
            301,
            &[("location", "https://elsewhere.example/")],
            String::new(),
        ),
        (502, HTML, "<html>Bad gateway</html>".to_owned()),
        (204, JSON, String::new()),
    ]
}

#[tokio::test(start_paused = true)]
async fn no_answer_makes_a_leader_of_a_candidate_or_a_storm_of_requests() {
    for answer in answers() {
        let world = World::new();
        let network = Meddled {
            inner: world.network.clone(),
            answer: Arc::new(Mutex::new(Some(answer.clone()))),
        };
        let client = Client::new(network.clone(), ClientOptions::default());
        let elector = Elector::builder(client)
            .lease(NAMESPACE, "demo")
            .identity("A")
            .clock(Clock::tokio())
            .seed(1)
            .build()
            .unwrap();
        let (cancel, work) = (CancellationToken::new(), Work::default());
        let running = run(&elector, &cancel, &work);
        sleep(120 * SECOND).await;
        assert_eq!(work.times_started(), 0, "{answer:?}");
        let sent = world.network.verbs().len() + world.network.watches().len();
        // Two requests an attempt, and a watch, each retry period at most; the client tries again where it may.
        assert!(sent <= 400, "{sent} requests: {answer:?}");

        // Somebody meant well: what was sent meanwhile may have been done.
        *network.answer.lock() = None;
        let led = timeout(500 * SECOND, until(|| work.is_running())).await;
        assert!(led.is_ok(), "{answer:?}");
        *network.answer.lock() = Some(answer.clone());
        let ended = timeout(20 * SECOND, running).await;
        assert!(
            matches!(ended, Ok(Ok(Ended::Lost { .. }))),
            "{ended:?}: {answer:?}"
        );
    }
}

/// Leases that somebody made by hand.
#[tokio::test(start_paused = true)]
async fn no_lease_is_too_odd_to_be_waited_for_or_taken() {
    let far = "9999-12-30T22:00:00.999999Z";
    let past = "0001-01-01T00:00:00.000000Z";
    for (spec, taken) in [
        (json!(null), true),
        (json!({}), true),
        (json!({"holderIdentity": ""}), true),
        (
            json!({"holderIdentity": "B", "renewTime": past, "leaseDurationSeconds": 15}),
            true,
        ),
        (
            json!({"holderIdentity": "B", "renewTime": far, "acquireTime": far, "leaseDurationSeconds": 15}),
            true,
        ),
        (json!({"holderIdentity": "B"}), true),
        (
            json!({"holderIdentity": "B", "leaseDurationSeconds": i32::MAX}),
            false,
        ),
        (
            json!({"holderIdentity": "", "leaseTransitions": i32::MAX}),
            true,
        ),
        (
            json!({"holderIdentity": "\u{1f6a2} \u{202e}B\n\u{0}", "leaseDurationSeconds": 1}),
            true,
        ),
        (
            json!({"holderIdentity": "x".repeat(1 << 20), "leaseDurationSeconds": 1}),
            true,
        ),
    ] {
        let world = World::new();
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "demo", "finalizers": ["example.com/stay"]}, "spec": spec});
        let lease = serde_json::from_value(lease).unwrap();
        let leases = world.leases();
        leases.create(&lease, &Default::default()).await.unwrap();
        // It stays, marked for deletion.
        leases.delete("demo", &Default::default()).await.unwrap();
        let (cancel, work) = (CancellationToken::new(), Work::default());
        let running = run(&world.elector("A"), &cancel, &work);
        sleep(120 * SECOND).await;
        assert_eq!(work.is_running(), taken, "{spec}");
        cancel.cancel();
        let ended = running.await.unwrap();
        let expected = if taken {
            Ended::Released
        } else {
            Ended::NeverLed
        };
        assert_eq!(ended, expected, "{spec}");
    }
}

/// Work that panics takes the term with it, and the next campaign begins as if nothing had been.
#[tokio::test(start_paused = true)]
async fn a_term_ends_with_work_or_an_announcement_that_panics() {
    let world = World::new();
    let elector = world.elector("A");
    let cell = FenceCell::new();
    let announced = world
        .builder("B")
        .fence(cell.clone())
        .announce(|_| panic!("cannot announce"))
        .build()
        .unwrap();
    for candidate in [&elector, &announced] {
        let panicking = tokio::spawn({
            let candidate = candidate.clone();
            async move {
                let never = CancellationToken::new();
                candidate.run(&never, async |_| panic!("work")).await
            }
        });
        assert!(panicking.await.is_err());
        assert!(!candidate.is_leading());
        assert!(cell.check().is_err());
        let again = timeout(SECOND, candidate.campaign(&CancellationToken::new())).await;
        assert!(!matches!(again, Ok(Err(NotElected::Busy))), "{again:?}");
        drop(again);
        sleep(60 * SECOND).await;
    }
}

#[tokio::test(start_paused = true)]
async fn campaigns_that_are_dropped_at_any_moment_leave_nothing_behind() {
    let world = World::new();
    let elector = world.elector("A");
    let never = CancellationToken::new();
    for polls in 0..200 {
        let mut campaign = Box::pin(elector.campaign(&never));
        let mut dropped = false;
        for _ in 0..polls {
            if futures_util::poll!(campaign.as_mut()).is_ready() {
                dropped = true;
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(campaign);
        assert!(!elector.is_leading(), "{polls}, {dropped}");
    }
    sleep(60 * SECOND).await;
    assert!(elector.campaign(&never).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_candidates_have_one_leader_at_a_time() {
    let world = World::new();
    let (leading, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..300 {
        let elector = world.builder(&format!("c{number}")).seed(number).build();
        let elector = elector.unwrap();
        let (leading, most) = (Arc::clone(&leading), Arc::clone(&most));
        runs.spawn(async move {
            let never = CancellationToken::new();
            let work = async |_: Term| {
                let now = leading.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                sleep(Duration::from_millis(10)).await;
                leading.fetch_sub(1, Ordering::SeqCst);
            };
            elector.run(&never, work).await
        });
    }
    while let Some(ended) = timeout(3600 * SECOND, runs.join_next()).await.unwrap() {
        assert_eq!(ended.unwrap(), Ended::Released);
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
}
