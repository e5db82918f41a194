//! Builds the programs that are measured: ours, and those of others in `xtask/bench`.

use std::path::PathBuf;
use std::process::Command;

use crate::shell;
use crate::workspace::Workspace;

pub(super) fn build_ours(workspace: &Workspace) -> anyhow::Result<()> {
    shell::run(shell::cargo(&workspace.root).args([
        "build",
        "--release",
        "--package",
        "evenkeel-bench",
    ]))
}

/// The Go program in `xtask/bench/{name}-go`.
pub(super) fn build_go(workspace: &Workspace, name: &str) -> anyhow::Result<PathBuf> {
    let program = workspace.target.join(format!("bench-{name}-go"));
    let mut build = Command::new("go");
    build
        .current_dir(workspace.root.join(format!("xtask/bench/{name}-go")))
        .args(["build", "-buildvcs=false", "-trimpath", "-o"])
        .arg(&program)
        .arg(".");
    shell::run(&mut build)?;
    Ok(program)
}

/// The program on kube-rs in `xtask/bench/{name}-kube-rs`.
pub(super) fn build_kube_rs(workspace: &Workspace, name: &str) -> anyhow::Result<PathBuf> {
    let package = format!("bench-{name}-kube-rs");
    let target = workspace.target.join(&package);
    let folder = workspace.root.join(format!("xtask/bench/{name}-kube-rs"));
    let mut build = shell::cargo(&folder);
    build
        .args(["build", "--release", "--locked"])
        .env("CARGO_TARGET_DIR", &target);
    shell::run(&mut build)?;
    Ok(target.join("release").join(package))
}
