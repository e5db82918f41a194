use std::time::Duration;

use anyhow::{Context, bail};
use evenkeel_e2e::contest::{Candidate, Contest, Maker};
use evenkeel_e2e::server::Server;
use evenkeel_e2e::{Env, Signal, audit};
use tokio::time::{Instant, sleep};

const SOON: Duration = Duration::from_secs(60);
/// The components' defaults.
const TIMING: [&str; 3] = ["15s", "10s", "2s"];
/// For a new candidate to be at it.
const SETTLE: Duration = Duration::from_millis(500);

/// One maker's.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// From the emptied Lease to the next holder's, in milliseconds, sorted.
    pub(crate) handovers: Vec<f64>,
    /// From SIGKILL to the next holder's, in seconds, sorted.
    pub(crate) takeovers: Vec<f64>,
    /// Requests a minute of one leader and two standbys.
    pub(crate) requests: f64,
}

impl Figures {
    pub(crate) async fn measure(
        env: &Env,
        maker: Maker,
        releases: u32,
        kills: u32,
        window: Duration,
    ) -> anyhow::Result<Self> {
        let lease = format!("bench-{maker:?}").to_lowercase();
        let contest = Contest::open(env, &lease, TIMING).await?;
        let mut crew = Crew {
            env,
            contest: &contest,
            maker,
            members: Vec::new(),
            entered: 0,
        };
        crew.enter()?;
        contest.taken_from("", SOON).await?;
        crew.enter()?;
        crew.enter()?;
        sleep(2 * SETTLE).await;

        let mut figures = Self {
            requests: requests_a_minute(env, &lease, window).await?,
            ..Self::default()
        };
        for _ in 0..releases {
            crew.end_leader(Signal::Terminate).await?;
            figures.handovers.push(last_gap(&contest)?);
            sleep(SETTLE).await;
        }
        for _ in 0..kills {
            let took = crew.end_leader(Signal::Kill).await?;
            figures.takeovers.push(took.as_secs_f64());
            sleep(SETTLE).await;
        }
        figures.handovers.sort_by(f64::total_cmp);
        figures.takeovers.sort_by(f64::total_cmp);
        Ok(figures)
    }
}

/// Three candidates of one maker.
struct Crew<'a> {
    env: &'a Env,
    contest: &'a Contest,
    maker: Maker,
    members: Vec<Candidate>,
    entered: u32,
}

impl Crew<'_> {
    fn enter(&mut self) -> anyhow::Result<()> {
        self.entered += 1;
        let identity = format!("{:?}-{}", self.maker, self.entered).to_lowercase();
        let member = self.contest.enter(self.env, self.maker, &identity)?;
        self.members.push(member);
        Ok(())
    }

    /// Ends the leader, and returns how long it took from there until another led.
    async fn end_leader(&mut self, signal: Signal) -> anyhow::Result<Duration> {
        let holder = self.contest.taken_from("", SOON).await?;
        let leads = |member: &Candidate| member.identity == holder;
        let leader = self.members.iter().position(leads);
        let mut leader = self.members.remove(leader.context("a stranger leads")?);
        let since = Instant::now();
        leader.process.signal(signal)?;
        let next = self.contest.taken_from(&holder, SOON).await?;
        let taken = self.contest.changes();
        let taken = taken.iter().rev().find(|change| change.holder == next);
        let took = taken.context("no change")?.at - since;
        leader.process.wait(SOON).await?;
        self.enter()?;
        Ok(took)
    }
}

/// From the last time that nobody held the Lease to the next holder, in milliseconds.
fn last_gap(contest: &Contest) -> anyhow::Result<f64> {
    let changes = contest.changes();
    let [.., freed, taken] = &changes[..] else {
        bail!("no handover");
    };
    if !freed.holder.is_empty() {
        bail!("the lease was not given back");
    }
    Ok((taken.at - freed.at).as_secs_f64() * 1000.0)
}

async fn requests_a_minute(env: &Env, lease: &str, window: Duration) -> anyhow::Result<f64> {
    let before = requests(env, lease)?;
    sleep(window).await;
    let count = requests(env, lease)?.saturating_sub(before);
    Ok(count as f64 * 60.0 / window.as_secs_f64())
}

/// How many requests for the Lease were answered, whoever asked.
fn requests(env: &Env, lease: &str) -> anyhow::Result<usize> {
    let Server::Real(server) = env.server() else {
        bail!("only the real server writes an audit log");
    };
    let log = audit::read(&server.audit_log())?;
    let about = |request: &&audit::Request| request.uri.contains(lease);
    Ok(log.iter().filter(about).count())
}
