//! What an endpoint shows, and to whom.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use evenkeel_client::Client;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::Probe;

async fn start(
    make: impl FnOnce(Endpoint) -> Endpoint,
) -> (SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let endpoint = make(Endpoint::bind(address, None).await.unwrap());
    let address = endpoint.local_addr().unwrap();
    let stop = CancellationToken::new();
    let serving = tokio::spawn(endpoint.serve(stop.clone()));
    (address, stop, serving)
}

/// Status and body of a GET.
async fn get(address: SocketAddr, path: &str, token: Option<&str>) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let token = token.unwrap_or_default();
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{token}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

fn page(text: &'static str) -> impl Fn(&http::Request<()>) -> http::Response<Bytes> {
    move |_| http::Response::new(Bytes::from_static(text.as_bytes()))
}

#[tokio::test]
async fn t7_metrics_and_pages_are_served_nothing_else_is_and_a_stop_ends_them() {
    let (address, stop, serving) = start(|endpoint| {
        let endpoint = endpoint.with_metrics(Registry::new());
        let endpoint = endpoint.with_page("/extra", page("extra")).unwrap();
        endpoint.with_page("/extra/more", page("more")).unwrap()
    })
    .await;
    assert_eq!(
        get(address, "/metrics", None).await,
        (200, "# EOF\n".into())
    );
    assert_eq!(get(address, "/extra", None).await, (200, "extra".into()));
    assert_eq!(
        get(address, "/extra/more", None).await,
        (200, "more".into())
    );
    for other in ["/", "/metrics/", "/healthz", "/readyz", "/extra/", "/x"] {
        let answer = get(address, other, None).await;
        assert_eq!(answer, (404, "404 page not found\n".into()), "{other}");
    }
    let taken = Endpoint::bind(address, None).await.unwrap_err().to_string();
    assert!(taken.starts_with("cannot listen on"), "{taken}");
    stop.cancel();
    serving.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn t7_a_page_overrides_nothing() {
    let bind = async || {
        Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), None)
            .await
            .unwrap()
    };
    for path in [
        "/metrics",
        "/metrics/more",
        "/debug/x",
        "/readyz",
        "/livez/x",
        "/healthz",
        "relative",
    ] {
        let error = bind().await.with_page(path, page("")).unwrap_err();
        assert_eq!(error, PageError::Reserved(path.into()));
    }
    let once = bind().await.with_page("/foo", page("")).unwrap();
    let twice = once.with_page("/foo", page("")).unwrap_err();
    assert_eq!(twice, PageError::Duplicate("/foo".into()));
}

#[tokio::test]
async fn t13_probes_under_their_paths() {
    let probes = Probes::new();
    probes.add(Probe::Ready, "good", || Ok(()));
    probes.add(Probe::Ready, "bad", || Err("it broke".into()));
    let (address, ..) = start(|endpoint| endpoint.with_probes(probes)).await;
    assert_eq!(get(address, "/livez", None).await, (200, "ok".into()));
    assert_eq!(
        get(address, "/readyz/good/", None).await,
        (200, "ok".into())
    );
    assert_eq!(get(address, "/readyz", None).await.0, 500);
    assert_eq!(
        get(address, "/readyz?exclude=bad", None).await,
        (200, "ok".into())
    );
    let broke = "internal server error: it broke\n".to_owned();
    assert_eq!(get(address, "/readyz/bad", None).await, (500, broke));
    assert_eq!(get(address, "/readyz/other", None).await.0, 404);
    assert_eq!(get(address, "/metrics", None).await.0, 404);
}

/// An API server that knows two users, and counts what it is asked. One of them may.
#[derive(Clone, Default)]
struct Reviews {
    tokens: Arc<AtomicUsize>,
    accesses: Arc<AtomicUsize>,
    broken: bool,
}

impl Reviews {
    fn counts(&self) -> (usize, usize) {
        (
            self.tokens.load(Ordering::Relaxed),
            self.accesses.load(Ordering::Relaxed),
        )
    }

    fn answer(&self, path: &str, review: &Value) -> (u16, Value) {
        if self.broken {
            self.tokens.fetch_add(1, Ordering::Relaxed);
            let status = json!({"kind": "Status", "status": "Failure", "code": 503, "reason": "ServiceUnavailable"});
            return (503, status);
        }
        let spec = &review["spec"];
        let status = match path {
            "/apis/authentication.k8s.io/v1/tokenreviews" => {
                self.tokens.fetch_add(1, Ordering::Relaxed);
                match spec["token"].as_str().unwrap() {
                    name @ ("alice" | "bob") => {
                        json!({"authenticated": true, "user": {"username": name, "groups": ["g"]}})
                    }
                    _ => json!({"error": "unknown token"}),
                }
            }
            _ => {
                self.accesses.fetch_add(1, Ordering::Relaxed);
                assert_eq!(spec["groups"], json!(["g"]));
                assert_eq!(spec["nonResourceAttributes"]["verb"], "get");
                let path = spec["nonResourceAttributes"]["path"].as_str().unwrap();
                let allowed = spec["user"] == "alice" && path != "/secret";
                json!({"allowed": allowed})
            }
        };
        (201, json!({"status": status}))
    }
}

impl tower_service::Service<http::Request<Full<Bytes>>> for Reviews {
    type Response = http::Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = futures_util::future::BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Full<Bytes>>) -> Self::Future {
        let reviews = self.clone();
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let review = serde_json::from_slice(&body).unwrap();
            let (code, answer) = reviews.answer(&path, &review);
            let response = http::Response::builder()
                .status(code)
                .header("content-type", "application/json");
            Ok(response.body(Full::from(answer.to_string())).unwrap())
        })
    }
}

async fn guarded(reviews: &Reviews) -> SocketAddr {
    let guard = Guard::new(&Client::from_service(reviews.clone()));
    let (address, ..) = start(|endpoint| {
        let endpoint = endpoint
            .with_metrics(Registry::new())
            .with_probes(Probes::new());
        let endpoint = endpoint.with_page("/secret", page("secret")).unwrap();
        let endpoint = endpoint.with_page("/extra", page("extra")).unwrap();
        endpoint.with_guard(guard)
    })
    .await;
    address
}

#[tokio::test]
async fn t18_metrics_are_shown_to_whom_may_see_them() {
    let reviews = Reviews::default();
    let address = guarded(&reviews).await;
    let unauthorized = (401, "Unauthorized\n".to_owned());
    assert_eq!(get(address, "/metrics", None).await, unauthorized);
    assert_eq!(reviews.counts(), (0, 0));
    assert_eq!(
        get(address, "/metrics", Some("mallory")).await,
        unauthorized
    );
    let denied = (403, "Authorization denied for user bob\n".to_owned());
    assert_eq!(get(address, "/metrics", Some("bob")).await, denied);
    assert_eq!(get(address, "/metrics", Some("alice")).await.0, 200);
    assert_eq!(get(address, "/extra", Some("alice")).await.1, "extra");
    assert_eq!(get(address, "/extra", None).await, unauthorized);
    assert_eq!(get(address, "/secret", Some("alice")).await.0, 403);
    // Kubelets have no token.
    assert_eq!(get(address, "/readyz", None).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn t18_answers_are_remembered_for_as_long_as_upstream_does() {
    let reviews = Reviews::default();
    let guard = Guard::new(&Client::from_service(reviews.clone()));
    let ask = async |token: &str| {
        let request =
            http::Request::get("/metrics").header("authorization", format!("bearer {token}"));
        guard.admit(&request.body(()).unwrap()).await.is_ok()
    };
    let wait = async |seconds| tokio::time::sleep(Duration::from_secs(seconds)).await;
    assert!(ask("alice").await && ask("alice").await);
    assert!(!ask("bob").await && !ask("bob").await);
    assert!(!ask("mallory").await && !ask("mallory").await);
    assert_eq!(reviews.counts(), (3, 2));
    wait(31).await;
    assert!(ask("alice").await && !ask("bob").await);
    assert_eq!(reviews.counts(), (3, 3), "a refusal is forgotten first");
    wait(30).await;
    assert!(ask("alice").await && !ask("mallory").await);
    assert_eq!(reviews.counts(), (5, 3), "then whose a token is");
    wait(240).await;
    assert!(ask("alice").await);
    assert_eq!(reviews.counts(), (6, 4), "and a permission at last");
}

#[tokio::test(start_paused = true)]
async fn t18_what_cannot_be_found_out_is_asked_again_and_then_refused() {
    let reviews = Reviews {
        broken: true,
        ..Reviews::default()
    };
    let guard = Guard::new(&Client::from_service(reviews.clone()));
    let request = http::Request::get("/metrics").header("authorization", "Bearer alice");
    let began = tokio::time::Instant::now();
    let refusal = guard.admit(&request.body(()).unwrap()).await.unwrap_err();
    assert!(matches!(
        refusal,
        guard::Refusal::Unknown {
            what: "Authentication"
        }
    ));
    assert_eq!(reviews.counts().0, 5);
    assert!(began.elapsed() <= Duration::from_secs(10));
}
