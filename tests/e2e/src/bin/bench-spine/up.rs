//! `evenkeel up --once`: from exec to converged.

use std::time::Duration;

use anyhow::ensure;
use evenkeel_e2e::manifest::deployment;
use evenkeel_e2e::program;
use evenkeel_e2e::server::ServerKind;
use evenkeel_e2e::{Env, Process};
use std::process::Command;
use tokio::time::Instant;

use evenkeel_e2e::bench::table::{Samples, Table};

pub(crate) async fn measure(rounds: u32, table: &mut Table) -> anyhow::Result<()> {
    let folder = Env::new_folder(ServerKind::Embedded, "bench::up")?;
    let manifest = folder.join("web.json");
    std::fs::write(&manifest, deployment("web", 3, "web:1").to_string())?;
    let program = program::evenkeel()?;
    let mut seconds = Samples::default();
    // One more than is counted, to have the program in the page cache.
    for round in 0..=rounds.max(5) {
        let mut command = Command::new(&program);
        command
            .args(["up", "--once", "--pod-start-delay=0s", "-f"])
            .arg(&manifest)
            .arg("--kubeconfig-out")
            .arg(folder.join("kubeconfig"));
        let start = Instant::now();
        let mut up = Process::start("up", command, &folder)?;
        let status = up.wait(Duration::from_secs(60)).await?;
        ensure!(status.success(), "up --once: {status}\n{}", up.output());
        if round > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    table.ours("`up --once`, 3 replicas, exec to exit (s)", &seconds, "< 1");
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
