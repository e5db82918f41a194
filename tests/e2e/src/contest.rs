//! Candidates of two makers that compete for one Lease: `evenkeel elect`, and a Go program
//! around client-go's election.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use evenkeel_client::{WatchEvent, WatchOptions};
use futures_util::StreamExt;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::env::Env;
use crate::manifest::LEASES;
use crate::observe::field;
use crate::process::Process;
use crate::{poll, program};

/// Whose election a candidate runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// `evenkeel elect`.
    Evenkeel,
    /// client-go's.
    ClientGo,
}

impl Maker {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Evenkeel => Self::ClientGo,
            Self::ClientGo => Self::Evenkeel,
        }
    }
}

/// Lease duration, renew deadline and retry period, as the flags spell them.
pub type Timing = [&'static str; 3];

/// A Lease in the namespace `default`, and a file that whoever leads writes its name into.
#[derive(Debug)]
pub struct Contest {
    lease: String,
    file: PathBuf,
    timing: Timing,
    changes: Changes,
}

/// A candidate that runs.
#[derive(Debug)]
pub struct Candidate {
    /// The process.
    pub process: Process,
    /// Its name in the Lease.
    pub identity: String,
    /// Whose it is.
    pub maker: Maker,
}

/// The Lease went to another holder, or to none.
#[derive(Clone, Debug)]
pub struct Change {
    /// When this process heard of it.
    pub at: Instant,
    /// Empty for nobody.
    pub holder: String,
    /// The Lease's own count.
    pub transitions: u64,
}

impl Contest {
    /// A Lease that nobody holds yet.
    ///
    /// # Errors
    /// The Lease cannot be watched.
    pub async fn open(env: &Env, lease: &str, timing: Timing) -> anyhow::Result<Self> {
        Ok(Self {
            lease: lease.to_owned(),
            file: env.folder().join(format!("{lease}.led")),
            timing,
            changes: Changes::watch(env, lease).await?,
        })
    }

    /// Starts a candidate.
    ///
    /// # Errors
    /// The program is not there.
    pub fn enter(&self, env: &Env, maker: Maker, identity: &str) -> anyhow::Result<Candidate> {
        let command = match maker {
            Maker::Evenkeel => self.ours(env, identity),
            Maker::ClientGo => self.client_gos(env, identity)?,
        };
        Ok(Candidate {
            process: Process::start(identity, command, env.folder())?,
            identity: identity.to_owned(),
            maker,
        })
    }

    fn ours(&self, env: &Env, identity: &str) -> Command {
        let [lease, renew, retry] = self.timing;
        let script = "while :; do echo $0 >> $1; sleep 0.02; done";
        let mut command = env.evenkeel(&["elect", "--kubeconfig"]);
        command
            .arg(env.kubeconfig())
            .arg(format!("--lease={}", self.lease))
            .arg(format!("--identity={identity}"))
            .arg(format!("--leader-elect-lease-duration={lease}"))
            .arg(format!("--leader-elect-renew-deadline={renew}"))
            .arg(format!("--leader-elect-retry-period={retry}"))
            .args(["--", "sh", "-c", script, identity])
            .arg(&self.file);
        command
    }

    fn client_gos(&self, env: &Env, identity: &str) -> anyhow::Result<Command> {
        let program = match program::go_candidate() {
            Ok(program) => program,
            Err(program::Unbuilt::Missing(reason) | program::Unbuilt::Broken(reason)) => {
                bail!(reason)
            }
        };
        let [lease, renew, retry] = self.timing;
        let mut command = Command::new(program);
        command
            .arg("-kubeconfig")
            .arg(env.kubeconfig())
            .args(["-lease", &self.lease, "-identity", identity])
            .args(["-lease-duration", lease, "-renew-deadline", renew])
            .args(["-retry-period", retry, "-file"])
            .arg(&self.file);
        Ok(command)
    }

    /// Waits until another than `before` holds the Lease, and says who.
    ///
    /// # Errors
    /// Nobody does in time.
    pub async fn taken_from(&self, before: &str, within: Duration) -> anyhow::Result<String> {
        poll::until(within, "another holds the Lease", async || {
            let holder = self.changes.last().map(|change| change.holder);
            Ok(holder.filter(|holder| !holder.is_empty() && holder != before))
        })
        .await
    }

    /// Waits until a candidate writes that it leads.
    ///
    /// # Errors
    /// It does not in time.
    pub async fn led_by(&self, identity: &str, within: Duration) -> anyhow::Result<()> {
        poll::until(within, &format!("{identity} writes"), async || {
            let led = self.led().unwrap_or_default();
            Ok(led.iter().any(|name| name == identity).then_some(()))
        })
        .await
    }

    /// What became of the Lease so far.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        self.changes.all()
    }

    /// Who led, by what they wrote: one entry a stretch of lines with the same name.
    ///
    /// # Errors
    /// Nobody wrote anything.
    pub fn led(&self) -> anyhow::Result<Vec<String>> {
        let text = fs::read_to_string(&self.file).context("nobody led")?;
        let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
        names.dedup();
        Ok(names)
    }
}

/// Follows one Lease.
#[derive(Debug)]
struct Changes {
    seen: Arc<Mutex<Vec<Change>>>,
    task: JoinHandle<()>,
}

impl Changes {
    async fn watch(env: &Env, lease: &str) -> anyhow::Result<Self> {
        let leases = env.client().dynamic(LEASES, Some("default"));
        let options = WatchOptions::default().fields(&format!("metadata.name={lease}"));
        let mut stream = leases.watch(&options).await?;
        let seen = Arc::<Mutex<Vec<Change>>>::default();
        let list = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Some(Ok(event)) = stream.next().await {
                let (WatchEvent::Added(lease) | WatchEvent::Modified(lease)) = event else {
                    continue;
                };
                let holder = field(&lease, "/spec/holderIdentity").as_str();
                let change = Change {
                    at: Instant::now(),
                    holder: holder.unwrap_or_default().to_owned(),
                    transitions: field(&lease, "/spec/leaseTransitions")
                        .as_u64()
                        .unwrap_or(0),
                };
                let mut list = list.lock();
                if list.last().is_none_or(|last| last.holder != change.holder) {
                    list.push(change);
                }
            }
        });
        Ok(Self { seen, task })
    }

    fn all(&self) -> Vec<Change> {
        self.seen.lock().clone()
    }

    fn last(&self) -> Option<Change> {
        self.all().pop()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.task.abort();
    }
}
