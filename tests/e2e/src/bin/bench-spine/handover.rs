//! The lease's way from a stopping leader to the next.

use std::time::Duration;

use evenkeel_e2e::program;
use evenkeel_e2e::server::ServerKind;
use evenkeel_e2e::{Env, leader};

use evenkeel_e2e::bench::table::{Samples, Table};

const SOON: Duration = Duration::from_secs(60);

pub(crate) async fn measure(rounds: u32, table: &mut Table) -> anyhow::Result<()> {
    let folder = Env::new_folder(ServerKind::Embedded, "bench::handover")?;
    let program = program::evenkeel()?;
    let env = Env::start(ServerKind::Embedded, &folder, None, &program).await?;
    let mut managers = Vec::new();
    for name in ["a", "b"] {
        managers.push(env.start_manager(name, &[])?);
    }
    let mut milliseconds = Samples::default();
    for round in 0..rounds.max(5) {
        let index = leader(&managers, SOON).await?;
        let mut stopped = managers.remove(index);
        let took = env.handover(&mut stopped, SOON).await?;
        milliseconds.push(took.as_secs_f64() * 1000.0);
        managers.push(env.start_manager(&format!("next-{round}"), &[])?);
    }
    table.ours("handover after SIGTERM (ms)", &milliseconds, "< 1000");
    drop(managers);
    drop(env);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
