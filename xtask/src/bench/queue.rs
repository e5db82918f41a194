//! `cargo xtask bench queue`: every figure of every queue, each in a process of its own, in turn.

use std::path::PathBuf;
use std::process::Command;

use anyhow::bail;

use super::peers;
use super::table::{Row, Samples, Table, value};
use crate::shell;
use crate::workspace::Workspace;

/// What the programs are asked for, and what they answer.
const FIGURES: [(&str, &[Answer]); 5] = [
    (
        "item",
        &[Answer {
            name: "item_ns",
            figure: "10^6 distinct keys: add, get and done of one (ns)",
            goal: "<= 1/4 of client-go, <= 1/10 of controller-runtime",
        }],
    ),
    (
        "bytes",
        &[Answer {
            name: "bytes",
            figure: "a queued key, its handle of 16 included (bytes)",
            goal: "<= 56",
        }],
    ),
    (
        "hot",
        &[Answer {
            name: "hot_ns",
            figure: "add of a key that waits already (ns)",
            goal: "<= 15",
        }],
    ),
    (
        "delays",
        &[Answer {
            name: "delays_cpu_ns",
            figure: "10^6 keys delayed by up to 5 s: CPU of one, until done (ns)",
            goal: "<= 1/4 of client-go",
        }],
    ),
    (
        "busy",
        &[
            Answer {
                name: "busy_p99_ns",
                figure: "add beside 10^6 ready and 1,000 busy workers, p99 (ns)",
                goal: "<= 500",
            },
            Answer {
                name: "busy_p999_ns",
                figure: "the same, p99.9 (ns)",
                goal: "<= 5000",
            },
        ],
    ),
];

struct Answer {
    name: &'static str,
    figure: &'static str,
    goal: &'static str,
}

/// A queue that is measured, and how.
struct Subject {
    title: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
    /// Figures that it has no counterpart for.
    without: &'static [&'static str],
}

/// Builds the programs, then measures.
///
/// # Errors
/// A program that could not be built or did not answer.
pub(super) fn run(
    workspace: &Workspace,
    rounds: u32,
    ours_alone: bool,
    only: &[String],
) -> anyhow::Result<()> {
    if let Some(name) = only.iter().find(|name| !is_figure(name)) {
        bail!("no figure `{name}`");
    }
    let subjects = build(workspace, ours_alone)?;
    let figures = || {
        FIGURES
            .iter()
            .filter(|(name, _)| only.is_empty() || only.iter().any(|chosen| chosen == name))
    };
    let mut rows: Vec<_> = figures()
        .flat_map(|(_, answers)| *answers)
        .map(|answer| Row {
            figure: answer.figure,
            goal: answer.goal,
            samples: vec![Samples::default(); subjects.len()],
        })
        .collect();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for (name, answers) in figures() {
            for (at, subject) in subjects.iter().enumerate() {
                if subject.without.contains(name) {
                    continue;
                }
                let output = subject.measure(name)?;
                for answer in *answers {
                    let row = rows.iter_mut().find(|row| row.figure == answer.figure);
                    if let Some(row) = row {
                        row.samples[at].push(value(&output, answer.name)?);
                    }
                }
            }
        }
    }
    let subjects = subjects.iter().map(|subject| subject.title).collect();
    println!("{}", Table { subjects, rows });
    Ok(())
}

fn is_figure(name: &str) -> bool {
    FIGURES.iter().any(|(figure, _)| *figure == name)
}

fn build(workspace: &Workspace, ours_alone: bool) -> anyhow::Result<Vec<Subject>> {
    peers::build_ours(workspace)?;
    let mut subjects = vec![Subject {
        title: "evenkeel",
        program: workspace.target.join("release/bench-queue"),
        arguments: &[],
        without: &[],
    }];
    if ours_alone {
        return Ok(subjects);
    }
    let go = peers::build_go(workspace, "queue")?;
    for (title, arguments) in [
        ("client-go 0.37.2", &["client-go"] as &[_]),
        ("client-go 0.37.2, metrics", &["client-go-metrics"]),
        ("controller-runtime 0.25.2", &["controller-runtime"]),
    ] {
        subjects.push(Subject {
            title,
            program: go.clone(),
            arguments,
            without: &[],
        });
    }
    subjects.push(Subject {
        title: "kube-rs 5.0.0",
        program: peers::build_kube_rs(workspace, "queue")?,
        arguments: &[],
        without: &["busy"],
    });
    Ok(subjects)
}

impl Subject {
    fn measure(&self, figure: &str) -> anyhow::Result<String> {
        shell::read(Command::new(&self.program).args(self.arguments).arg(figure))
    }
}
