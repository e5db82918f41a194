//! The programs under test: found where cargo put them, or built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, anyhow, bail};

/// The `evenkeel` program: `EVENKEEL_BIN`, or the one beside this program if no
/// source is newer, or a new build. The first call decides for all.
///
/// # Errors
/// The build failed.
pub fn evenkeel() -> anyhow::Result<PathBuf> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = PROGRAM.get_or_init(|| {
        if let Some(program) = std::env::var_os("EVENKEEL_BIN") {
            return Ok(program.into());
        }
        let build = ["--package", "evenkeel-cli", "--bin", "evenkeel"];
        find_or_build("evenkeel", &build).map_err(|error| format!("{error:#}"))
    });
    found.clone().map_err(|error| anyhow!(error))
}

/// An operator in `examples/`, or an example of the `evenkeel` crate, found or
/// built in the same way. Found is what was built since the last change, so
/// that calling it again is cheap.
///
/// # Errors
/// The build failed.
pub fn example(name: &str) -> anyhow::Result<PathBuf> {
    if root().join("examples").join(name).is_dir() {
        return find_or_build(name, &["--package", name, "--bin", name]);
    }
    let build = ["--package", "evenkeel", "--example", name];
    find_or_build(&format!("examples/{name}"), &build)
}

/// Why a program of another language is not there.
#[derive(Clone, Debug)]
pub enum Unbuilt {
    /// What it is built with is not on this machine, or out of reach.
    Missing(String),
    /// It does not build.
    Broken(String),
}

impl Unbuilt {
    /// It does not build, for this reason.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub fn broken(reason: anyhow::Error) -> Self {
        Self::Broken(format!("{reason:#}"))
    }
}

/// The candidate with client-go's election, built with Go if there is Go and its modules can be
/// had.
///
/// # Errors
/// It cannot be built here; that is no fault of what is tested.
pub fn go_candidate() -> Result<PathBuf, Unbuilt> {
    static PROGRAM: OnceLock<Result<PathBuf, Unbuilt>> = OnceLock::new();
    PROGRAM.get_or_init(build_go_candidate).clone()
}

/// The watchers of kube-rs, built by cargo if their crates can be had.
///
/// # Errors
/// They cannot be built here.
pub fn kube_rs() -> Result<PathBuf, Unbuilt> {
    static PROGRAM: OnceLock<Result<PathBuf, Unbuilt>> = OnceLock::new();
    PROGRAM.get_or_init(build_kube_rs).clone()
}

fn build_kube_rs() -> Result<PathBuf, Unbuilt> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/kube-rs");
    // Of its own: its crates have other features than ours.
    let target = profile_folder()
        .map_err(Unbuilt::broken)?
        .join("interop-kube-rs");
    let run = |arguments: &[&str]| {
        let mut command = cargo();
        command
            .current_dir(&source)
            .env("CARGO_TARGET_DIR", &target);
        command
            .args(arguments)
            .output()
            .map_err(|error| Unbuilt::Broken(error.to_string()))
    };
    if !run(&["fetch", "--quiet", "--locked"])?.status.success() {
        return Err(Unbuilt::Missing(
            "the crates of kube-rs cannot be had".to_owned(),
        ));
    }
    let built = run(&["build", "--quiet", "--locked"])?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        return Err(Unbuilt::Broken(said));
    }
    Ok(target.join("debug/interop-kube-rs"))
}

fn build_go_candidate() -> Result<PathBuf, Unbuilt> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/election");
    let go = |args: &[&str]| Command::new("go").current_dir(&source).args(args).output();
    let modules =
        go(&["mod", "download"]).map_err(|_| Unbuilt::Missing("Go is not installed".to_owned()))?;
    if !modules.status.success() {
        return Err(Unbuilt::Missing(
            "the Go modules of client-go cannot be had".to_owned(),
        ));
    }
    let program = profile_folder()
        .map_err(Unbuilt::broken)?
        .join("interop-candidate");
    let path = program.to_string_lossy();
    let built = go(&["build", "-o", &path, "."]).map_err(|e| Unbuilt::Broken(e.to_string()))?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        return Err(Unbuilt::Broken(said));
    }
    Ok(program)
}

fn find_or_build(path: &str, build: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = profile_folder()?;
    let program = folder.join(path);
    let root = root();
    if is_newer_than_sources(&program, vec![root.join("crates"), root.join("examples")]) {
        return Ok(program);
    }
    let mut cargo = cargo();
    cargo
        .current_dir(&root)
        .args(["build", "--quiet"])
        .args(build);
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    if !cargo.status().context("start cargo")?.success() {
        bail!("{path} does not build");
    }
    Ok(program)
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Where the workspace is.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
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

fn is_newer_than_sources(program: &Path, mut folders: Vec<PathBuf>) -> bool {
    let Ok(built) = fs::metadata(program).and_then(|data| data.modified()) else {
        return false;
    };
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            return false;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs" || e == "toml")
                && fs::metadata(&path)
                    .and_then(|data| data.modified())
                    .is_ok_and(|changed| changed > built)
            {
                return false;
            }
        }
    }
    true
}
