//! Resident memory with 10,000 pods cached.

use std::time::Duration;

use evenkeel_e2e::server::ServerKind;

use evenkeel_e2e::bench::proc;
use evenkeel_e2e::bench::stage::{Maker, Stage};
use evenkeel_e2e::bench::table::{Samples, Table};

const DEPLOYMENTS: u32 = 10;
const REPLICAS: u32 = 1000;

/// Both managers are measured on the same 10,000 pods of one server, each
/// freshly started, so that neither's figure holds the making of the pods.
pub(crate) async fn measure(embedded_only: bool, table: &mut Table) -> anyhow::Result<()> {
    let kind = if embedded_only {
        ServerKind::Embedded
    } else {
        ServerKind::Real
    };
    let stage = Stage::build(kind, "bench::memory").await?;
    let maker = stage.start_manager(Maker::Evenkeel)?;
    stage.env().create_namespace("many").await?;
    for number in 0..DEPLOYMENTS {
        let name = format!("web-{number}");
        stage.prepare("many", &name).await?;
        stage.scale("many", &name, REPLICAS).await?;
    }
    let mut grown = Samples::default();
    grown.push(proc::resident_megabytes(maker.id())?);
    drop(maker);

    let ours = fresh(&stage, Maker::Evenkeel).await?;
    table.ours("RSS, 10,000 pods made by it (MB)", &grown, "");
    if embedded_only {
        table.ours("RSS, 10,000 pods cached (MB)", &ours, "< 100");
    } else {
        let go = fresh(&stage, Maker::Go).await?;
        table.compared("RSS, 10,000 pods cached (MB)", &ours, &go, "< 100 MB");
    }
    Ok(())
}

/// Starts a manager, waits until it works (so its caches are filled), and
/// until its memory has stopped growing.
async fn fresh(stage: &Stage, maker: Maker) -> anyhow::Result<Samples> {
    let manager = stage.start_manager(maker)?;
    let name = format!("probe-{maker:?}").to_lowercase();
    stage.prepare("many", &name).await?;
    let mut last = 0.0;
    loop {
        let now = proc::resident_megabytes(manager.id())?;
        if (now - last).abs() < 1.0 {
            let mut samples = Samples::default();
            samples.push(now);
            return Ok(samples);
        }
        last = now;
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}
