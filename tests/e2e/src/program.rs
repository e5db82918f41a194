//! The program under test: found, or built once for all trials.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, anyhow, bail};

/// The `evenkeel` program under test, found or built once for all trials.
#[derive(Clone, Debug, Default)]
pub struct Evenkeel(Arc<OnceLock<Result<PathBuf, String>>>);

impl Evenkeel {
    /// `EVENKEEL_BIN`, or the one beside this program if no source is newer, or
    /// a new build.
    ///
    /// # Errors
    /// The build failed.
    pub fn program(&self) -> anyhow::Result<PathBuf> {
        self.0
            .get_or_init(|| find_or_build().map_err(|error| format!("{error:#}")))
            .clone()
            .map_err(|error| anyhow!(error))
    }
}

fn find_or_build() -> anyhow::Result<PathBuf> {
    if let Some(program) = std::env::var_os("EVENKEEL_BIN") {
        return Ok(program.into());
    }
    let folder = profile_folder()?;
    let program = folder.join("evenkeel");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if is_newer_than_sources(&program, &root.join("crates")) {
        return Ok(program);
    }
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build
        .current_dir(&root)
        .args(["build", "--quiet", "--package", "evenkeel-cli"]);
    if folder.ends_with("release") {
        build.arg("--release");
    }
    if !build.status().context("start cargo")?.success() {
        bail!("evenkeel does not build");
    }
    Ok(program)
}

/// `target/<profile>`, where cargo puts programs; tests lie below in `deps`.
fn profile_folder() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    own.ancestors()
        .skip(1)
        .find(|folder| !folder.ends_with("deps"))
        .map(Path::to_path_buf)
        .context("this program lies nowhere")
}

fn is_newer_than_sources(program: &Path, sources: &Path) -> bool {
    let Ok(built) = fs::metadata(program).and_then(|data| data.modified()) else {
        return false;
    };
    let mut folders = vec![sources.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            return false;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::metadata(&path)
                .and_then(|data| data.modified())
                .is_ok_and(|changed| changed > built)
            {
                return false;
            }
        }
    }
    true
}
