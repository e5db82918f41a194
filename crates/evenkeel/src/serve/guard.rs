//! Who may read the metrics: TokenReview says who asks, SubjectAccessReview whether they may.

mod cache;
mod review;

use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::{Client, RetryPolicy};
use evenkeel_pace::{Backoff, Rng};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, header};
use parking_lot::Mutex;
use tokio::time::Instant;

use cache::Cache;
use review::{Access, User};

/// How long the two reviews of a request may take together, retries included.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often a review is sent before it is given up.
const ATTEMPTS: u32 = 5;
/// How long it is known whose token it is, or that it is nobody's.
const TOKEN_LIFE: Duration = Duration::from_secs(60);
/// How long a permission holds.
const ALLOWED_LIFE: Duration = Duration::from_secs(5 * 60);
/// How long a refusal holds: shorter, so that a new role counts soon.
const REFUSED_LIFE: Duration = Duration::from_secs(30);
/// How many tokens, and how many decisions, are remembered.
const CAPACITY: usize = 1024;

/// Lets through whom the API server knows by the bearer token, and who may `get` the path as a
/// non-resource URL, as kube-rbac-proxy and controller-runtime's filter do.
///
/// The client's own account needs to create `tokenreviews.authentication.k8s.io` and
/// `subjectaccessreviews.authorization.k8s.io` (the ClusterRole `system:auth-delegator`). Give it a
/// client that is not fenced ([`Manager::unfenced_client`](crate::Manager::unfenced_client)): standbys are
/// scraped too. Tokens belong on TLS only.
///
/// Without a token, or with one that nobody has, the answer is 401; for a user who may not it is 403
/// and names the user; if the API server cannot be asked within ten seconds, it is 500. Tokens are
/// remembered for a minute, permissions for five, refusals for thirty seconds: at most 1,024 of each.
///
/// Cheap to clone; all clones share what they remember.
#[derive(Clone)]
pub struct Guard(Arc<Inner>);

struct Inner {
    client: Client,
    tokens: Mutex<Cache<String, Option<Arc<User>>>>,
    decisions: Mutex<Cache<Access, bool>>,
    rng: Mutex<Rng>,
}

/// Why a request is not let through.
#[derive(Debug)]
pub(super) enum Refusal {
    Unauthenticated,
    Forbidden { user: String },
    Unknown { what: &'static str },
}

impl Guard {
    /// Asks through `client`.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        Self(Arc::new(Inner {
            // A request for metrics has ten seconds; the client's own retries would take minutes.
            client: client.with_retry(RetryPolicy::never()),
            tokens: Mutex::new(Cache::new(CAPACITY)),
            decisions: Mutex::new(Cache::new(CAPACITY)),
            rng: Mutex::new(Rng::seeded(0)),
        }))
    }

    /// Whether the request may be answered.
    pub(super) async fn admit(&self, request: &Request<()>) -> Result<(), Refusal> {
        let Some(token) = bearer(request.headers()) else {
            return Err(Refusal::Unauthenticated);
        };
        let deadline = Instant::now() + TIMEOUT;
        let user = self.user(token, deadline).await?;
        let Some(user) = user else {
            return Err(Refusal::Unauthenticated);
        };
        let access = Access {
            user: Arc::clone(&user),
            verb: request.method().as_str().to_ascii_lowercase(),
            path: request.uri().path().to_owned(),
        };
        if self.may(access, deadline).await? {
            return Ok(());
        }
        Err(Refusal::Forbidden {
            user: user.username.clone(),
        })
    }

    async fn user(&self, token: &str, deadline: Instant) -> Result<Option<Arc<User>>, Refusal> {
        let known = self.0.tokens.lock().get(token, Instant::now());
        if let Some(known) = known {
            return Ok(known);
        }
        let ask = || review::token(&self.0.client, token).boxed();
        let user = self.retried("Authentication", deadline, ask).await?;
        let user = user.map(Arc::new);
        let until = Instant::now() + TOKEN_LIFE;
        let mut tokens = self.0.tokens.lock();
        tokens.put(token.to_owned(), user.clone(), until);
        Ok(user)
    }

    async fn may(&self, access: Access, deadline: Instant) -> Result<bool, Refusal> {
        let known = self.0.decisions.lock().get(&access, Instant::now());
        if let Some(known) = known {
            return Ok(known);
        }
        let ask = || review::access(&self.0.client, &access).boxed();
        let allowed = self.retried("Authorization", deadline, ask).await?;
        let life = if allowed { ALLOWED_LIFE } else { REFUSED_LIFE };
        let until = Instant::now() + life;
        self.0.decisions.lock().put(access, allowed, until);
        Ok(allowed)
    }

    async fn retried<'a, T>(
        &self,
        what: &'static str,
        deadline: Instant,
        ask: impl Fn() -> BoxFuture<'a, Result<T, evenkeel_client::Error>>,
    ) -> Result<T, Refusal> {
        let mut backoff = Backoff::new(Duration::from_millis(500), TIMEOUT)
            .factor(1.5)
            .jitter(0.2);
        for attempt in 1..=ATTEMPTS {
            let error = match tokio::time::timeout_at(deadline, ask()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => error,
                Err(_) => break,
            };
            let is_last = attempt == ATTEMPTS || !error.is_retryable();
            tracing::warn!(%error, "{what} of a request for metrics failed");
            if is_last {
                break;
            }
            let pause = backoff.next(&mut self.0.rng.lock());
            tokio::time::sleep(pause).await;
        }
        Err(Refusal::Unknown { what })
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}
