use std::time::Duration;

use evenkeel_observe::Metrics;
use http::Uri;

use super::{OverloadBackoff, RetryPolicy, WarningHandler, user_agent};
use crate::config::{Config, ConnectError};
use crate::credentials::{Credentials, Impersonation};
use crate::options::FieldValidation;

/// Everything about a [`Client`](crate::Client) that is not its transport.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Scheme, host and, behind a proxy, a path prefix.
    pub server: Uri,
    /// Who is asking.
    pub credentials: Credentials,
    /// Whom to act as.
    pub impersonation: Option<Impersonation>,
    /// The namespace for callers that name none.
    pub default_namespace: String,
    /// Sent with every request. Default: the program's name, the platform, and this crate.
    pub user_agent: String,
    /// The only namespace whose objects may be asked for or written; `None` is no limit.
    pub only_namespace: Option<String>,
    /// Who writes, unless the write says otherwise.
    pub field_manager: Option<String>,
    /// What writes do with unknown fields, unless they say otherwise.
    pub field_validation: Option<FieldValidation>,
    /// Whether no write is stored.
    pub dry_run: bool,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// When to try again.
    pub retry: RetryPolicy,
    /// Whether all requests slow down while the server is overloaded.
    pub overload: Option<OverloadBackoff>,
    /// Where the server's warnings go.
    pub warnings: WarningHandler,
    /// Where requests are counted.
    pub metrics: Metrics,
    /// The largest event that a watch takes, in bytes. Default 16 MiB.
    pub largest_event: usize,
    /// Seeds the jitter of retries.
    pub seed: u64,
}

/// How long to wait for an answer. Head and body are bounded each on their own, so nothing
/// hangs for ever and nothing that makes progress is cut (kube-rs D6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// From sending the request to the response head. Default 65 s: kube-apiserver itself
    /// gives up after 60 s.
    pub head: Duration,
    /// The same for a watch, which the server answers at once. Default 30 s.
    pub watch_head: Duration,
    /// Between two chunks of a body. Default 30 s.
    pub body_idle: Duration,
    /// How much longer than its own timeout a watch may be silent. Default 30 s.
    pub watch_grace: Duration,
    /// A bound for one request with all its tries and waits. Watches are exempt, and a list
    /// only has to begin within it. Default: none.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(65),
            watch_head: Duration::from_secs(30),
            body_idle: Duration::from_secs(30),
            watch_grace: Duration::from_secs(30),
            total: None,
        }
    }
}

impl Timeouts {
    /// With a bound for one request with all its tries and waits.
    #[must_use]
    pub fn total(mut self, limit: Duration) -> Self {
        self.total = Some(limit);
        self
    }

    /// With this bound for the response head, of watches too.
    #[must_use]
    pub fn head(mut self, limit: Duration) -> Self {
        self.head = limit;
        self.watch_head = limit;
        self
    }
}

/// A server in the same process: no credentials, namespace `default`.
impl Default for ClientOptions {
    fn default() -> Self {
        Self::new(Uri::from_static("http://in-process/"))
    }
}

impl ClientOptions {
    /// The defaults for a server at `server`.
    #[must_use]
    pub fn new(server: Uri) -> Self {
        Self {
            server,
            credentials: Credentials::none(),
            impersonation: None,
            default_namespace: "default".into(),
            user_agent: user_agent::default(),
            only_namespace: None,
            field_manager: None,
            field_validation: None,
            dry_run: false,
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
            overload: None,
            warnings: WarningHandler::default(),
            metrics: Metrics::none(),
            largest_event: 16 << 20,
            seed: 0,
        }
    }

    /// What `config` says.
    ///
    /// # Errors
    ///
    /// If the credentials cannot be obtained, such as from a token file that is not there.
    pub fn from_config(config: &Config) -> Result<Self, ConnectError> {
        let mut options = Self::new(config.server().clone());
        options.credentials = config.credentials()?;
        options.impersonation = config.impersonation().cloned();
        options.default_namespace = config.default_namespace().to_owned();
        options.seed = evenkeel_pace::Rng::from_entropy().next_u64();
        options.overload = OverloadBackoff::from_variables(|name| std::env::var(name).ok());
        Ok(options)
    }

    /// With these credentials.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// With these time limits.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// With these rules for trying again.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }
}
