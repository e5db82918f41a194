//! Three managers, one leader: killed, stopped and frozen.

use std::time::Duration;

use anyhow::ensure;
use evenkeel_e2e::manifest::{DEPLOYMENTS, deployment};
use evenkeel_e2e::observe::{PodRecorder, field};
use evenkeel_e2e::server::Server;
use evenkeel_e2e::{Env, Manager, Signal, audit, eventually, leader};
use tokio::time::Instant;

const SOON: Duration = Duration::from_secs(60);
const LEASE: Duration = Duration::from_secs(15);
const RETRY: Duration = Duration::from_secs(2);
/// What two busy cores may add to a bound that is the program's.
const SLACK: Duration = Duration::from_secs(2);

/// What a leader says of each write, at this verbosity.
const WRITE_STARTS: &str = "a leader's write starts";

const NAMES: [&str; 3] = ["manager-a", "manager-b", "manager-c"];

/// Killed in the middle of a rollout of 100 pods: another takes over within the
/// lease and one retry, finishes, and makes no pod too many.
pub(crate) async fn a_killed_leader_is_replaced_in_mid_rollout(env: Env) -> anyhow::Result<()> {
    let mut managers = three(&env)?;
    let _nodes = env.start_nodes(4, Duration::from_millis(300))?;
    env.create_namespace("kill").await?;
    env.create(&DEPLOYMENTS, Some("kill"), deployment("web", 100, "web:1"))
        .await?;
    env.rolled_out("kill", "web", SOON).await?;

    let recorder = PodRecorder::start(env.client(), "kill").await?;
    env.set_image("kill", "web", "web:2").await?;
    let deployments = env.client().dynamic(DEPLOYMENTS, Some("kill"));
    eventually(SOON, "the rollout is under way", async || {
        let web = deployments.get("web").await?;
        let updated = field(&web, "/status/updatedReplicas").as_u64().unwrap_or(0);
        Ok(if updated >= 20 {
            Ok(())
        } else {
            Err(format!("{updated} updated"))
        })
    })
    .await?;
    let index = leader(&managers, SOON).await?;
    let killed = managers.remove(index);
    killed.process.signal(Signal::Kill)?;
    let since = Instant::now();
    leader(&managers, LEASE + RETRY + SLACK).await?;
    let took = since.elapsed();
    ensure!(
        took >= Duration::from_secs(1),
        "took the lease before it ran out: {took:?}"
    );

    env.rolled_out("kill", "web", SOON).await?;
    env.pods_ready("kill", 100, SOON).await?;
    let history = recorder.finish().await?;
    ensure!(history.created == 100, "surplus pods: {history:?}");
    ensure!(
        history.most <= 125 && history.fewest_ready >= 75,
        "{history:?}"
    );
    Ok(())
}

/// Told to stop, the leader finishes, releases the lease, and another has it
/// within a second.
pub(crate) async fn a_stopping_leader_hands_over_at_once(env: Env) -> anyhow::Result<()> {
    let mut managers = three(&env)?;
    env.create_namespace("handover").await?;
    let index = leader(&managers, SOON).await?;
    let mut stopped = managers.remove(index);
    let took = env.handover(&mut stopped, SOON).await?;
    ensure!(took < Duration::from_secs(1), "the handover took {took:?}");
    let status = stopped.process.wait(SOON).await?;
    ensure!(status.success(), "the stopped leader: {status}");
    leader(&managers, SOON).await?;
    Ok(())
}

/// Frozen for longer than its lease and woken, the old leader starts no write.
pub(crate) async fn a_frozen_leader_writes_nothing_when_it_wakes(env: Env) -> anyhow::Result<()> {
    let Server::Real(server) = env.server() else {
        anyhow::bail!("only the real server writes an audit log");
    };
    let mut managers = Vec::new();
    for name in NAMES {
        let kubeconfig = server.kubeconfig_of(name)?;
        // Talkative enough to tell of each write that the leader starts.
        managers.push(env.start_manager_as(name, &kubeconfig, &["-v=4"])?);
    }
    let _nodes = env.start_nodes(4, Duration::from_millis(500))?;
    env.create_namespace("freeze").await?;
    let index = leader(&managers, SOON).await?;
    // Enough work for the freeze to fall into the middle of it.
    env.create(&DEPLOYMENTS, Some("freeze"), deployment("web", 60, "web:1"))
        .await?;
    let deployments = env.client().dynamic(DEPLOYMENTS, Some("freeze"));
    eventually(SOON, "the leader is at work", async || {
        let web = deployments.get("web").await?;
        let made = field(&web, "/status/replicas").as_u64().unwrap_or(0);
        Ok(if made > 0 {
            Ok(())
        } else {
            Err("no pods yet".to_owned())
        })
    })
    .await?;
    managers[index].process.signal(Signal::Stop)?;
    let frozen = Instant::now();

    let others: Vec<&Manager> = managers
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != index)
        .map(|(_, manager)| manager)
        .collect();
    eventually(LEASE + RETRY + SLACK, "another leads", async || {
        for manager in &others {
            if manager.leads().await {
                return Ok(Ok(()));
            }
        }
        Ok(Err("nobody leads".to_owned()))
    })
    .await?;
    env.set_image("freeze", "web", "web:2").await?;
    env.rolled_out("freeze", "web", SOON).await?;
    tokio::time::sleep_until(frozen + Duration::from_secs(30)).await;

    let (woken, soon) = (audit::now(), audit::soon(Duration::from_secs(1)));
    managers[index].process.signal(Signal::Continue)?;
    // It has caught up with the present when it ends or answers as a standby.
    eventually(SOON, "the woken manager knows that it lost", async || {
        let ended = managers[index].process.try_wait()?.is_some();
        let answers = managers[index]
            .metric("leader_election_master_status", &[])
            .await;
        Ok(if ended || answers.is_ok_and(|leads| leads < 1.0) {
            Ok(())
        } else {
            Err("it still believes".to_owned())
        })
    })
    .await?;
    env.set_image("freeze", "web", "web:3").await?;
    env.rolled_out("freeze", "web", SOON).await?;

    let (early, late): (Vec<_>, Vec<_>) = audit::read(&server.audit_log())?
        .into_iter()
        .filter(|request| request.user == NAMES[index] && request.is_write())
        // That it no longer leads it may say: an event about itself is no work. Nor are those
        // about what it did, and the last of a term are written when it is over, but at once.
        .filter(|request| !request.user_agent.ends_with("/leader-election"))
        .filter(|request| {
            let ended = request.received >= woken && request.received < soon;
            request.resource != "events" || !ended
        })
        .partition(|request| request.received < woken);
    ensure!(
        early.iter().any(|request| request.resource == "pods"),
        "the log does not even show what it wrote as the leader"
    );
    let log = managers[index].process.output();
    let starts = || log.lines().filter(|line| line.contains(WRITE_STARTS));
    ensure!(
        starts().any(|line| line < &*woken),
        "the leader's log shows no write"
    );
    let started: Vec<_> = starts().filter(|line| *line >= &*woken).collect();
    ensure!(
        started.is_empty(),
        "the woken leader started writes: {started:#?}"
    );
    // What it had handed to the network before it froze, nobody can call back; the log tells
    // of each of these that it was started, and the server had not had it yet.
    let unexplained: Vec<_> = late
        .iter()
        .filter(|request| {
            let told = starts().filter(|line| request.is_told_by(line)).count();
            let had = early
                .iter()
                .chain(&late)
                .filter(|one| one.is_same_call(request));
            told < had.count() || request.received >= soon
        })
        .collect();
    ensure!(
        unexplained.is_empty(),
        "the woken leader wrote: {unexplained:#?}"
    );
    Ok(())
}

fn three(env: &Env) -> anyhow::Result<Vec<Manager>> {
    NAMES
        .iter()
        .map(|name| env.start_manager(name, &[]))
        .collect()
}
