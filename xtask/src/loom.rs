//! `cargo xtask loom`: the model checker over the concurrent hand-off.

use crate::shell;
use crate::workspace::Workspace;

/// The crates with models, each in a module of the name `loom`.
const CRATES: [&str; 1] = ["evenkeel-workqueue"];

/// What to check.
#[derive(clap::Args)]
pub struct Options {
    /// Only models with this in their names.
    filter: Option<String>,
}

/// Runs every model through every interleaving, optimised: there are many.
///
/// # Errors
/// A model that does not hold; its output has the interleaving.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    for krate in CRATES {
        let mut test = shell::cargo(&workspace.root);
        test.args(["test", "--release", "--lib", "--package", krate, "--"])
            .arg("loom::")
            // One at a time: each takes a core, and the figures stay comparable.
            .arg("--test-threads=1")
            // Every dependency is compiled with the flag, so they are kept apart.
            .env("CARGO_TARGET_DIR", workspace.target.join("loom"))
            .env("RUSTFLAGS", format!("{flags} --cfg loom"));
        if let Some(filter) = &options.filter {
            test.arg(filter);
        }
        shell::run(&mut test)?;
    }
    Ok(())
}
