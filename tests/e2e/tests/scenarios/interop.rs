//! Our election and client-go's, on one Lease.

use std::time::Duration;

use anyhow::ensure;
use evenkeel_e2e::contest::{Contest, Maker};
use evenkeel_e2e::{Env, Signal};

const SOON: Duration = Duration::from_secs(30);
const HANDOVERS: usize = 20;

/// Twenty handovers, each to the other maker's candidate: released and killed in turn. Whoever
/// leads writes its name into one file all the time, so that two leaders would be seen there.
pub(crate) async fn client_go_l3_l7_l13_both_makers_compete_for_one_lease(
    env: Env,
) -> anyhow::Result<()> {
    let contest = Contest::open(&env, "contest", ["3s", "2s", "500ms"]).await?;
    let mut leader = contest.enter(&env, Maker::Evenkeel, "evenkeel-first")?;
    contest.taken_from("", SOON).await?;
    let mut standby = contest.enter(&env, Maker::ClientGo, "client-go-first")?;

    for round in 0..HANDOVERS {
        let is_kill = round % 4 >= 2;
        let signal = if is_kill {
            Signal::Kill
        } else {
            Signal::Terminate
        };
        contest.led_by(&leader.identity, SOON).await?;
        leader.process.signal(signal)?;
        let taken_by = contest.taken_from(&leader.identity, SOON).await?;
        ensure!(
            taken_by == standby.identity,
            "round {round}: {taken_by} took the lease, not {}",
            standby.identity
        );
        leader.process.wait(SOON).await?;
        let identity = format!("{:?}-{round}", leader.maker);
        let next = contest.enter(&env, leader.maker, &identity)?;
        leader = std::mem::replace(&mut standby, next);
    }
    contest.led_by(&leader.identity, SOON).await?;
    drop((leader, standby));

    let changes = contest.changes();
    let terms: Vec<_> = changes
        .iter()
        .filter(|change| !change.holder.is_empty())
        .collect();
    let holders: Vec<_> = terms.iter().map(|term| term.holder.clone()).collect();
    ensure!(
        terms
            .iter()
            .enumerate()
            .all(|(index, term)| term.transitions == index as u64),
        "miscounted: {terms:#?}"
    );
    ensure!(terms.len() == HANDOVERS + 1, "{holders:?}");
    let led = contest.led()?;
    ensure!(
        led == holders,
        "two leaders at once: {led:#?}, but the lease went to {holders:#?}"
    );
    Ok(())
}
