//! Programs of others that tasks run: the installed one, or one of our own
//! under the user's cache directory, installed on first use.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

use crate::envtest;
use crate::shell;
use crate::workspace::Workspace;

/// A subcommand of cargo.
pub(crate) struct Tool {
    pub(crate) subcommand: &'static str,
    /// Pinned, so that what a gate says does not change by itself.
    pub(crate) version: &'static str,
}

impl Tool {
    /// The command to add arguments to; it runs at the workspace's root.
    /// Installing the program takes minutes, once.
    ///
    /// # Errors
    /// It is not there and cannot be installed: no registry, no compiler.
    pub(crate) fn command(&self, workspace: &Workspace) -> anyhow::Result<Command> {
        let mut command = Command::new(self.provide(workspace)?);
        // As cargo calls it.
        command.current_dir(&workspace.root).arg(self.subcommand);
        Ok(command)
    }

    fn provide(&self, workspace: &Workspace) -> anyhow::Result<PathBuf> {
        let package = format!("cargo-{}", self.subcommand);
        if shell::is_installed(&package, &[self.subcommand, "--version"]) {
            return Ok(package.into());
        }
        let root = envtest::cache()
            .context("no cache directory: neither XDG_CACHE_HOME nor HOME is set")?
            .join("tools")
            .join(format!("{package}-{}", self.version));
        let program = root.join("bin").join(&package);
        if !program.exists() {
            let mut install = shell::cargo(&workspace.root);
            install
                .args(["install", &package, "--version", self.version])
                .args(["--locked", "--root"])
                .arg(&root);
            shell::run(&mut install)?;
        }
        Ok(program)
    }
}
