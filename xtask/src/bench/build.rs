//! `cargo xtask bench build`: what it costs to build the smallest controller, of ours and of kube-rs, as
//! a project of its own, no member of the workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::subject::{CHILDREN, cpu_seconds};
use super::table::{Row, Samples, Table};
use crate::shell;
use crate::workspace::Workspace;

/// How much to measure.
#[derive(clap::Args)]
pub(super) struct Options {
    /// How often each project is built.
    #[arg(long, default_value_t = 1)]
    rounds: u32,
}

/// A project that a user might begin with.
struct Project {
    title: &'static str,
    main: &'static str,
    /// The dependencies of its manifest, but for tokio; `{evenkeel}` is the path of the facade.
    dependencies: &'static str,
}

const TYPELESS: Project = Project {
    title: "evenkeel, no Kubernetes types",
    main: include_str!("../../bench/hello/typeless.rs"),
    dependencies: r#"evenkeel = { path = "{evenkeel}", default-features = false, features = ["ring"] }"#,
};
const TYPED: Project = Project {
    title: "evenkeel",
    main: include_str!("../../bench/hello/typed.rs"),
    dependencies: r#"evenkeel = { path = "{evenkeel}" }
k8s-openapi = { version = "0.29", features = ["v1_37"] }"#,
};
const KUBE_RS: Project = Project {
    title: "kube-rs 5",
    main: include_str!("../../bench/hello/kube_rs.rs"),
    dependencies: r#"kube = { version = "5", features = ["runtime"] }
k8s-openapi = { version = "0.29", features = ["v1_37"] }
futures = "0.3""#,
};

/// What was measured of a project.
#[derive(Clone, Default)]
struct Measured {
    crates: Samples,
    cpu: Samples,
    seconds: Samples,
}

/// Builds each project in turn, from nothing.
///
/// # Errors
/// A project that does not build.
pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let folder = workspace.target.join("bench-build");
    let projects = [TYPELESS, TYPED, KUBE_RS];
    let mut measured = [(); 3].map(|()| Measured::default());
    for round in 1..=options.rounds {
        for (project, measured) in projects.iter().zip(&mut measured) {
            eprintln!("round {round} of {}: {}", options.rounds, project.title);
            let scratch = project.write(workspace, &folder)?;
            measured.crates.push(count_crates(&scratch)?);
            let (cpu, seconds) = build(&scratch)?;
            measured.cpu.push(cpu);
            measured.seconds.push(seconds);
            // Each is a gigabyte.
            fs::remove_dir_all(&scratch)?;
        }
    }
    let [typeless, typed, kube_rs] = &measured;
    let compare = |title, ours: &Measured, goal| {
        let row = |figure, goal, read: fn(&Measured) -> &Samples| Row {
            figure,
            goal,
            samples: vec![read(ours).clone(), read(kube_rs).clone()],
        };
        let rows = vec![
            row("crates, build scripts' and macros' too", "", |of| {
                &of.crates
            }),
            row("clean build, CPU (s)", goal, |of| &of.cpu),
            row("clean build, elapsed (s)", "", |of| &of.seconds),
        ];
        let subjects = vec![title, KUBE_RS.title];
        println!("{}", Table { subjects, rows });
    };
    compare(TYPELESS.title, typeless, "<= 0.75 of kube-rs");
    compare(TYPED.title, typed, "<= kube-rs");
    Ok(())
}

impl Project {
    /// Writes it to a folder of its own, and fetches what it depends on.
    fn write(&self, workspace: &Workspace, folder: &Path) -> anyhow::Result<PathBuf> {
        let scratch = folder.join("hello");
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(scratch.join("src"))?;
        let evenkeel = workspace.root.join("crates/evenkeel");
        let dependencies = self
            .dependencies
            .replace("{evenkeel}", &evenkeel.to_string_lossy());
        let manifest = format!(
            r#"[workspace]

[package]
name = "hello"
version = "0.0.0"
edition = "2024"

[dependencies]
{dependencies}
tokio = {{ version = "1", features = ["macros", "rt-multi-thread"] }}
"#
        );
        fs::write(scratch.join("Cargo.toml"), manifest)?;
        fs::write(scratch.join("src/main.rs"), self.main)?;
        // The same versions of what the projects share.
        fs::copy(
            workspace.root.join("Cargo.lock"),
            scratch.join("Cargo.lock"),
        )?;
        shell::run(shell::cargo(&scratch).args(["fetch", "--quiet"]))?;
        Ok(scratch)
    }
}

fn count_crates(scratch: &Path) -> anyhow::Result<f64> {
    let tree = shell::read(shell::cargo(scratch).args([
        "tree",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]))?;
    // What was shown before is marked, and not shown in full again.
    let names = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    let mut crates: Vec<_> = names.collect();
    crates.sort_unstable();
    crates.dedup();
    // Without the project itself.
    Ok((crates.len() - 1) as f64)
}

/// Seconds of CPU, and of time.
#[expect(clippy::disallowed_methods, reason = "it measures real time")]
fn build(scratch: &Path) -> anyhow::Result<(f64, f64)> {
    let (start, before) = (Instant::now(), children_cpu()?);
    let mut build = shell::cargo(scratch);
    build
        .args(["build", "--quiet", "--offline"])
        .env("CARGO_TARGET_DIR", scratch.join("target"));
    shell::run(&mut build)?;
    Ok((children_cpu()? - before, start.elapsed().as_secs_f64()))
}

/// Seconds of CPU of all that this process has started and waited for, and of what those have.
fn children_cpu() -> anyhow::Result<f64> {
    cpu_seconds(&fs::read_to_string("/proc/self/stat")?, CHILDREN)
}
