//! `cargo xtask bench store`: reads under writes, and informers that have nothing to do.

use std::process::Command;
use std::time::Duration;

use super::client::{Allocator, Maker, Stage};
use super::subject::pause;
use super::table::{Row, Samples, Table, value};
use crate::shell;
use crate::workspace::Workspace;

/// How much to measure.
#[derive(clap::Args)]
pub(super) struct Options {
    /// How often each side is run.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// For how many seconds informers are idle.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Only ours, without Go and without the network.
    #[arg(long)]
    ours: bool,
}

const MAKERS: [(&str, Maker); 3] = [
    ("evenkeel", Maker::Evenkeel),
    ("client-go 0.37.2", Maker::ClientGo),
    ("kube-rs 5.0.0", Maker::KubeRs),
];

/// Builds the programs, then measures.
///
/// # Errors
/// A program that could not be built, or did not do what it was told.
pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let stage = Stage::build(workspace, options.ours)?;
    let makers = match options.ours {
        true => &MAKERS[..1],
        false => &MAKERS,
    };
    let row = |figure, goal| Row {
        figure,
        goal,
        samples: vec![Samples::default(); makers.len()],
    };
    let mut rows = vec![
        row(
            "reads by key from two threads under 50k writes/s, 100k objects (M/s)",
            ">= 15",
        ),
        row("the same from snapshots, a new one each thousand (M/s)", ""),
        row("writes that went through meanwhile (k/s)", ""),
        row(
            "CPU of 30 idle informers (ms a minute)",
            "at or below each other's",
        ),
        row("RSS of them (MB)", ""),
    ];
    for round in 1..=options.rounds {
        for (at, (title, maker)) in makers.iter().enumerate() {
            eprintln!("round {round} of {}: {title}", options.rounds);
            let output = shell::read(Command::new(stage.program(*maker)?).arg("reads"))?;
            let (cpu, resident) = idle(&stage, *maker, options.seconds)?;
            let values = [
                Some(value(&output, "reads")?),
                // Others have no snapshots.
                value(&output, "looks").ok(),
                Some(value(&output, "writes")?),
                Some(cpu),
                Some(resident),
            ];
            for (row, value) in rows.iter_mut().zip(values) {
                row.samples[at].extend(value);
            }
        }
    }
    stage.forget_files()?;
    let subjects = makers.iter().map(|(title, _)| *title).collect();
    println!("{}", Table { subjects, rows });
    Ok(())
}

/// CPU milliseconds a minute, and megabytes.
fn idle(stage: &Stage, maker: Maker, seconds: u64) -> anyhow::Result<(f64, f64)> {
    let (_server, url) = stage.serve("json", 1)?;
    let mut client = stage.client(maker, Allocator::System, "idle", &url)?;
    client.ask("start", "synced")?;
    client.settle()?;
    let before = client.threads()?;
    pause(Duration::from_secs(seconds));
    let used = client.used_since(&before)?;
    let minute = 60.0 / seconds as f64;
    Ok((used * 1e3 * minute, client.resident()? / 1e6))
}
