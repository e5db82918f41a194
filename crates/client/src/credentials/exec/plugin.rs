use std::io::{ErrorKind, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::Timestamp;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use http::HeaderValue;
use parking_lot::Mutex;
use tokio::process::Command;

use super::answer::{self, Answer};
use super::config::ExecConfig;
use super::mask::masked;
use super::process::{self, Unfinished};
use super::request::{self, ClusterInfo};
use crate::config::{Identity, Pem};
use crate::credentials::{Secret, bearer_header};
use crate::error::{CredentialError, PluginFailure};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How long if the user may have to answer.
const INTERACTIVE_LIMIT: Duration = Duration::from_secs(300);

/// Runs one program for credentials and keeps what it said.
pub(crate) struct ExecPlugin {
    inner: Arc<Inner>,
}

struct Inner {
    config: ExecConfig,
    cluster: ClusterInfo,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<Obtained>>,
    runs: u64,
    /// The run that requests wait for together. It lives as long as one of them does.
    running: Option<WeakShared<Run>>,
}

type Outcome = Result<Arc<Obtained>, CredentialError>;
type Run = BoxFuture<'static, Outcome>;

/// The credentials of one run.
pub(crate) struct Obtained {
    /// Which run it was, counted from 1.
    pub(crate) run: u64,
    pub(crate) header: Option<HeaderValue>,
    pub(crate) identity: Option<Identity>,
    secrets: Answer,
}

impl ExecPlugin {
    pub(crate) fn new(config: ExecConfig, cluster: ClusterInfo) -> Self {
        Self {
            inner: Arc::new(Inner {
                config,
                cluster,
                state: Mutex::default(),
            }),
        }
    }

    /// The credentials to use now. Those of a run that has just ended are used even if they
    /// have expired already.
    ///
    /// # Cancel safety
    ///
    /// Dropping the last future that waits for the program kills it.
    pub(crate) async fn current(&self) -> Outcome {
        let run = {
            let mut state = self.inner.state.lock();
            if let Some(current) = state.usable(Timestamp::now()) {
                return Ok(current);
            }
            state.join(&self.inner)
        };
        run.await
    }

    /// The credentials of the last run, whatever they are worth now.
    pub(crate) fn latest(&self) -> Option<Arc<Obtained>> {
        self.inner.state.lock().current.clone()
    }

    /// The server refused those of `run`: whether there are others now. The program is run
    /// again unless that has happened already.
    pub(crate) async fn replace(&self, run: u64) -> bool {
        let refused = {
            let mut state = self.inner.state.lock();
            state.current.take_if(|current| current.run == run)
        };
        let outcome = self.current().await;
        match (outcome, refused) {
            (Ok(new), Some(old)) => !new.is_same(&old),
            (Ok(new), None) => new.run != run,
            (Err(error), _) => {
                tracing::warn!(%error, "the server refused the credentials, and there are no others");
                false
            }
        }
    }
}

impl State {
    fn usable(&self, now: Timestamp) -> Option<Arc<Obtained>> {
        let current = self.current.as_ref()?;
        let expired = current.secrets.expires.is_some_and(|at| at <= now);
        (!expired).then(|| Arc::clone(current))
    }

    fn join(&mut self, inner: &Arc<Inner>) -> Shared<Run> {
        if let Some(running) = self.running.as_ref().and_then(WeakShared::upgrade) {
            return running;
        }
        self.runs += 1;
        let run = Arc::clone(inner).run(self.runs).boxed().shared();
        self.running = run.downgrade();
        run
    }
}

impl Obtained {
    fn is_same(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.secrets, &other.secrets);
        mine.token == theirs.token && mine.certificate == theirs.certificate
    }
}

impl Inner {
    async fn run(self: Arc<Self>, run: u64) -> Outcome {
        let outcome = self.obtain(run).await;
        let mut state = self.state.lock();
        state.running = None;
        if let Ok(obtained) = &outcome {
            state.current = Some(Arc::clone(obtained));
        }
        outcome
    }

    async fn obtain(&self, run: u64) -> Outcome {
        let terminal = std::io::stdin().is_terminal();
        let interactive = request::interactive(self.config.interactive, terminal)
            .map_err(|reason| self.failed(PluginFailure::NotInteractive, reason))?;
        let mut command = Command::new(&self.config.command);
        command.args(&self.config.args);
        for (name, value) in &self.config.env {
            command.env(name, value.expose());
        }
        let text = request::text(&self.config, &self.cluster, interactive);
        command.env("KUBERNETES_EXEC_INFO", text);
        let limit = match interactive {
            true => INTERACTIVE_LIMIT,
            false => LIMIT,
        };
        tracing::debug!(command = %self.config.command.display(), "running the exec plugin");
        let finished = process::run(command, interactive, limit)
            .await
            .map_err(|error| self.unfinished(&error))?;
        let answer = answer::parse(&finished.stdout, self.config.version);
        if !finished.status.success() {
            let stderr = self.shown(&finished.stderr, answer.as_ref().ok());
            let reason = format!("{}{stderr}", finished.status);
            return Err(self.failed(PluginFailure::Failed, reason));
        }
        let answer = answer.map_err(|reason| {
            let stderr = self.shown(&finished.stderr, None);
            self.failed(PluginFailure::BadAnswer, format!("{reason}{stderr}"))
        })?;
        Ok(Arc::new(self.prepare(run, answer)?))
    }

    fn prepare(&self, run: u64, answer: Answer) -> Result<Obtained, CredentialError> {
        let header = answer.token.as_ref().map(bearer_header).transpose()?;
        let origin = |what| format!("the {what} of exec plugin {}", self.name());
        let pem =
            |secret: &Secret, what| Pem::inline(secret.expose().as_bytes().to_vec(), &origin(what));
        let identity = answer
            .certificate
            .as_ref()
            .map(|(certificate, key)| Identity {
                certificate: pem(certificate, "client certificate"),
                key: pem(key, "client key"),
            });
        Ok(Obtained {
            run,
            header,
            identity,
            secrets: answer,
        })
    }

    /// `: ` and what the program wrote to standard error, if it wrote anything.
    fn shown(&self, stderr: &[u8], answer: Option<&Answer>) -> String {
        let last = self.state.lock().current.clone();
        let mut secrets: Vec<&Secret> = self.config.env.iter().map(|(_, value)| value).collect();
        for answer in answer
            .into_iter()
            .chain(last.as_ref().map(|last| &last.secrets))
        {
            secrets.extend(&answer.token);
        }
        match masked(stderr, &secrets) {
            text if text.is_empty() => text,
            text => format!(": {text}"),
        }
    }

    fn unfinished(&self, error: &Unfinished) -> CredentialError {
        match error {
            Unfinished::NotStarted(error) if error.kind() == ErrorKind::NotFound => {
                let hint = self.config.install_hint.as_deref().unwrap_or_default();
                let reason = match hint.trim() {
                    "" => "it is not installed".to_owned(),
                    hint => format!("it is not installed: {hint}"),
                };
                self.failed(PluginFailure::NotFound, reason)
            }
            Unfinished::NotStarted(error) => {
                self.failed(PluginFailure::Failed, format!("it cannot be run: {error}"))
            }
            Unfinished::TooLong(limit) => self.failed(
                PluginFailure::TimedOut,
                format!("it did not end within {limit:?}"),
            ),
            Unfinished::TooMuch { limit } => self.failed(
                PluginFailure::BadAnswer,
                format!("its answer is longer than {limit} bytes"),
            ),
            Unfinished::Lost(error) => self.failed(PluginFailure::Failed, error.to_string()),
        }
    }

    fn failed(&self, failure: PluginFailure, reason: impl Into<String>) -> CredentialError {
        CredentialError::Plugin {
            command: self.name(),
            failure,
            reason: reason.into(),
        }
    }

    fn name(&self) -> String {
        self.config.command.display().to_string()
    }
}

impl std::fmt::Debug for ExecPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecPlugin")
            .field("config", &self.inner.config)
            .finish_non_exhaustive()
    }
}
