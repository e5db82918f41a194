//! `cargo xtask bench runtime`: a controller of ours and of others, each in a process of its own, in
//! turn, on a server of recorded bytes.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;

use super::client::Stage;
use super::peers;
use super::subject::{Subject, pause};
use super::table::{Row, Samples, Table};
use crate::workspace::Workspace;

/// Events a second, of as many objects.
const RATE: u32 = 1000;
/// What a controller that does next to nothing watches.
const FEW: usize = 100;
/// What runtimes do after the work is done.
const AFTERMATH: Duration = Duration::from_secs(2);

/// How much to measure.
#[derive(clap::Args)]
pub(super) struct Options {
    /// How often each subject is run.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// How many keys there are.
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// For how many seconds 1,000 events a second are sent.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// For how many seconds controllers are idle.
    #[arg(long, default_value_t = 30)]
    idle: u32,
    /// Only ours, without Go and without the network.
    #[arg(long)]
    ours: bool,
}

/// Figures of one run, in the order of [`ROWS`].
type Figures = [f64; 12];

const ROWS: [(&str, &str); 12] = [
    (
        "reconciles of an empty reconciler, 1 worker (k/s)",
        ">= 5 times each other",
    ),
    ("the same, 16 workers (k/s)", ">= 5 times each other"),
    ("from an event to the run, 1,000 events/s, p50 (ms)", ""),
    ("the same, p99 (ms)", "<= 1/3 of controller-runtime"),
    ("the same, p99.9 (ms)", ""),
    ("CPU of an event and its run, 1,000 events/s (us)", ""),
    (
        "from an event to its owner's run, 1,000 events/s, p50 (ms)",
        "",
    ),
    ("the same, p99 (ms)", "<= 1/3 of controller-runtime"),
    ("the same, p99.9 (ms)", ""),
    ("CPU of such an event and its run (us)", ""),
    ("CPU of an idle controller, 100 objects (ms a minute)", ""),
    ("RSS of it (MB)", ""),
];

/// Builds the programs, then measures.
///
/// # Errors
/// A program that could not be built, or did not do what it was told.
pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let stage = Stage::build(workspace, options.ours)?;
    let programs = build(workspace, options.ours)?;
    let forms: Vec<_> = programs.iter().map(|program| program.form).collect();
    stage.encode(&forms, options.objects)?;
    let mut rows = ROWS.map(|(figure, goal)| Row {
        figure,
        goal,
        samples: vec![Samples::default(); programs.len()],
    });
    for round in 1..=options.rounds {
        for (at, program) in programs.iter().enumerate() {
            eprintln!("round {round} of {}: {}", options.rounds, program.title);
            let figures = measure(&stage, program, options)
                .with_context(|| format!("{} could not be measured", program.title))?;
            for (row, figure) in rows.iter_mut().zip(figures) {
                row.samples[at].push(figure);
            }
        }
    }
    stage.forget_files()?;
    let subjects = programs.iter().map(|program| program.title).collect();
    let rows = rows.into();
    println!("{}", Table { subjects, rows });
    Ok(())
}

/// A controller that is measured.
struct Program {
    title: &'static str,
    path: PathBuf,
    /// What it asks the server for.
    form: &'static str,
}

fn build(workspace: &Workspace, ours: bool) -> anyhow::Result<Vec<Program>> {
    let mut programs = vec![Program {
        title: "evenkeel",
        path: workspace.target.join("release/bench-runtime"),
        form: "metadata-json",
    }];
    if !ours {
        programs.push(Program {
            title: "controller-runtime 0.25.2",
            path: peers::build_go(workspace, "runtime")?,
            form: "metadata-protobuf",
        });
        programs.push(Program {
            title: "kube-rs 5.0.0",
            path: peers::build_kube_rs(workspace, "runtime")?,
            form: "metadata-json",
        });
    }
    Ok(programs)
}

fn measure(stage: &Stage, program: &Program, options: &Options) -> anyhow::Result<Figures> {
    let mut rates = [0.0; 2];
    let mut paced = [0.0; 4];
    for (rate, workers) in rates.iter_mut().zip([1, 16]) {
        let (mut server, url) = stage.serve(program.form, options.objects)?;
        let mut controller = start(stage, program, "itself", &url, workers, options.objects)?;
        let milliseconds: f64 = controller.ask("start", "ran")?.parse()?;
        *rate = options.objects as f64 / milliseconds;
        if workers == 1 {
            paced = follow(&mut server, &mut controller, RATE * options.seconds)?;
        }
    }
    let [one, many] = rates;
    let [p50, p99, p999, cpu] = paced;
    let [owner50, owner99, owner999, owner_cpu] = run_owners(stage, program, options)?;
    let (idle, resident) = rest(stage, program, options.idle)?;
    Ok([
        one, many, p50, p99, p999, cpu, owner50, owner99, owner999, owner_cpu, idle, resident,
    ])
}

/// As [`follow`], with a controller of the pods' owners.
fn run_owners(stage: &Stage, program: &Program, options: &Options) -> anyhow::Result<[f64; 4]> {
    let (mut server, url) = stage.serve_owners(program.form, options.objects)?;
    let mut controller = start(stage, program, "owner", &url, 1, 1)?;
    controller.ask("start", "ran")?;
    controller.settle()?;
    follow(&mut server, &mut controller, RATE * options.seconds)
}

fn start(
    stage: &Stage,
    program: &Program,
    mode: &str,
    url: &str,
    workers: usize,
    objects: usize,
) -> anyhow::Result<Subject> {
    let mut command = Command::new(&program.path);
    command.args([mode, url]).arg(stage.ca());
    command.args([workers.to_string(), objects.to_string()]);
    Ok(Subject::start(&mut command)?.0)
}

/// Three percentiles in milliseconds, and the microseconds of CPU of an event.
fn follow(server: &mut Subject, controller: &mut Subject, events: u32) -> anyhow::Result<[f64; 4]> {
    // Caches warm up.
    server.ask(&format!("paced {RATE} {RATE}"), "sent")?;
    controller.ask(&format!("wait {RATE}"), "runs")?;
    controller.settle()?;
    controller.ask("reset", "ok")?;
    let before = controller.cpu()?;
    server.ask(&format!("paced {RATE} {events}"), "sent")?;
    let times = controller.ask(&format!("wait {events}"), "runs")?;
    let cpu = (controller.cpu()? - before) * 1e6 / f64::from(events);
    let mut times = times.split(' ').map(|text| Ok(text.parse::<f64>()? / 1e3));
    let mut next = || -> anyhow::Result<f64> { times.next().context("three percentiles")? };
    Ok([next()?, next()?, next()?, cpu])
}

/// CPU milliseconds a minute, and megabytes, of a controller that has nothing to do.
fn rest(stage: &Stage, program: &Program, seconds: u32) -> anyhow::Result<(f64, f64)> {
    let (_server, url) = stage.serve(program.form, FEW)?;
    let mut controller = start(stage, program, "itself", &url, 1, FEW)?;
    controller.ask("start", "ran")?;
    controller.settle()?;
    pause(AFTERMATH);
    let before = controller.threads()?;
    pause(Duration::from_secs(seconds.into()));
    let used = controller.used_since(&before)?;
    let minute = 60.0 / f64::from(seconds);
    Ok((used * 1e3 * minute, controller.resident()? / 1e6))
}
