//! One Deployment, 0 to 1,000 replicas and deleted again.

use evenkeel_e2e::server::ServerKind;

use evenkeel_e2e::bench::proc;
use evenkeel_e2e::bench::stage::{Maker, Stage};
use evenkeel_e2e::bench::table::{Samples, Table};

const REPLICAS: u32 = 1000;

/// One manager's figures of all rounds.
#[derive(Default)]
struct Figures {
    up: Samples,
    down: Samples,
    cpu_up: Samples,
    cpu_down: Samples,
}

pub(crate) async fn on_embedded(rounds: u32, table: &mut Table) -> anyhow::Result<()> {
    let stage = Stage::build(ServerKind::Embedded, "bench::scale").await?;
    let mut ours = Figures::default();
    for round in 0..rounds {
        run(&stage, Maker::Evenkeel, round, &mut ours).await?;
    }
    table.ours("embedded: 0 to 1,000 (pods/s)", &ours.up, ">= 2000");
    table.ours("embedded: 1,000 to gone (pods/s)", &ours.down, ">= 2000");
    table.ours("embedded: manager CPU up (ms)", &ours.cpu_up, "");
    table.ours("embedded: manager CPU down (ms)", &ours.cpu_down, "");
    Ok(())
}

pub(crate) async fn on_real(rounds: u32, table: &mut Table) -> anyhow::Result<()> {
    let stage = Stage::build(ServerKind::Real, "bench::scale").await?;
    let mut ours = Figures::default();
    let mut go = Figures::default();
    for round in 0..rounds {
        run(&stage, Maker::Evenkeel, round, &mut ours).await?;
        run(&stage, Maker::Go, round, &mut go).await?;
    }
    table.compared("real: 0 to 1,000 (pods/s)", &ours.up, &go.up, ">= 1");
    table.compared(
        "real: 1,000 to gone (pods/s)",
        &ours.down,
        &go.down,
        ">= 1.5",
    );
    table.compared(
        "real: manager CPU up (ms)",
        &ours.cpu_up,
        &go.cpu_up,
        "<= 0.33",
    );
    table.compared(
        "real: manager CPU down (ms)",
        &ours.cpu_down,
        &go.cpu_down,
        "<= 0.33",
    );
    Ok(())
}

async fn run(stage: &Stage, maker: Maker, round: u32, into: &mut Figures) -> anyhow::Result<()> {
    let manager = stage.start_manager(maker)?;
    let namespace = format!("{maker:?}-{round}").to_lowercase();
    stage.env().create_namespace(&namespace).await?;
    stage.prepare(&namespace, "web").await?;

    let before = proc::cpu_milliseconds(manager.id())?;
    let up = stage.scale(&namespace, "web", REPLICAS).await?;
    let between = proc::cpu_milliseconds(manager.id())?;
    let down = stage.delete(&namespace, "web").await?;
    let after = proc::cpu_milliseconds(manager.id())?;

    into.up.push(f64::from(REPLICAS) / up.as_secs_f64());
    into.down.push(f64::from(REPLICAS) / down.as_secs_f64());
    into.cpu_up.push(between - before);
    into.cpu_down.push(after - between);
    eprintln!(
        "{:?} {maker:?}: up {up:.2?}, down {down:.2?}",
        stage.env().kind()
    );
    Ok(())
}
