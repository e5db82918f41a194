//! Building the programs with Go, each under a temporary name that is renamed
//! when whole: a build that is stopped leaves nothing that looks finished, and
//! the next one takes up Go's own cache where it was.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::{ETCD, KUBERNETES, KWOK, Program};
use crate::{shell, workspace};

/// Why the real control plane could not be provided.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// `KUBEBUILDER_ASSETS` is set and lacks a program: the caller's choice,
    /// so nothing is built behind it.
    Environment {
        /// What the variable says.
        directory: PathBuf,
        /// The first program that is not there.
        program: &'static str,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set.
    NoCacheDirectory,
    /// No usable `go` on this machine.
    NoGo {
        /// What is wrong with it.
        reason: String,
    },
    /// The modules could not be fetched.
    Unreachable {
        /// Go's last words.
        reason: String,
    },
    /// Go has all it needs and the build failed.
    Failed {
        /// The program that was built.
        program: &'static str,
        /// Go's last words.
        reason: String,
    },
    /// The cache directory cannot be written.
    Cache {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl BuildError {
    /// Whether the machine lacks something that a build needs, as opposed to a
    /// build that went wrong: CI skips on the former and fails on the latter.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::NoGo { .. } | Self::Unreachable { .. })
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment { directory, program } => write!(
                f,
                "KUBEBUILDER_ASSETS={} holds no {program}: add it there, or unset the \
                 variable to have it built",
                directory.display()
            ),
            Self::NoCacheDirectory => f.write_str(
                "nowhere to keep the programs: set XDG_CACHE_HOME or HOME, or point \
                 KUBEBUILDER_ASSETS at a directory with etcd and kube-apiserver",
            ),
            Self::NoGo { reason } => write!(
                f,
                "the real control plane is built with Go 1.26 or newer, and {reason}: install it, \
                 or point KUBEBUILDER_ASSETS at a directory with etcd and kube-apiserver"
            ),
            Self::Unreachable { reason } => write!(
                f,
                "the Go module proxy did not give the modules: {reason}\n(see `go env GOPROXY`; or \
                 point KUBEBUILDER_ASSETS at a directory with etcd and kube-apiserver)"
            ),
            Self::Failed { program, reason } => write!(f, "building {program} failed: {reason}"),
            Self::Cache { directory, source } => {
                write!(f, "cannot write {}: {source}", directory.display())
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Cache { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// How one program is built.
struct Recipe {
    program: Program,
    /// The stub module that pins the versions.
    stub: &'static str,
    package: &'static str,
    version: &'static str,
}

impl Recipe {
    fn of(program: Program) -> Self {
        let (stub, package, version) = match program {
            Program::Etcd => ("etcd", ".", ETCD),
            Program::KubeApiserver => (
                "kubernetes",
                "k8s.io/kubernetes/cmd/kube-apiserver",
                KUBERNETES,
            ),
            Program::KubeControllerManager => (
                "kubernetes",
                "k8s.io/kubernetes/cmd/kube-controller-manager",
                KUBERNETES,
            ),
            Program::KubeScheduler => (
                "kubernetes",
                "k8s.io/kubernetes/cmd/kube-scheduler",
                KUBERNETES,
            ),
            Program::Kwok => ("kwok", "sigs.k8s.io/kwok/cmd/kwok", KWOK),
        };
        Self {
            program,
            stub,
            package,
            version,
        }
    }

    fn folder(&self) -> PathBuf {
        workspace::root().join("xtask/envtest").join(self.stub)
    }

    /// Without these a Kubernetes program calls itself v0.0.0, and its
    /// compatibility rules follow that number.
    fn link_flags(&self) -> String {
        let mut flags = String::from("-s -w");
        if self.stub == "kubernetes" {
            let mut parts = self.version.trim_start_matches('v').split('.');
            let major = parts.next().unwrap_or_default();
            let minor = parts.next().unwrap_or_default();
            let package = "k8s.io/component-base/version";
            flags.push_str(&format!(
                " -X {package}.gitVersion={} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}",
                self.version
            ));
        }
        flags
    }
}

pub(super) fn build(directory: &Path, programs: &[Program]) -> Result<(), BuildError> {
    let cache = |source| BuildError::Cache {
        directory: directory.to_path_buf(),
        source,
    };
    if !shell::is_installed("go", &["version"]) {
        return Err(BuildError::NoGo {
            reason: "no `go` is on the PATH".to_owned(),
        });
    }
    fs::create_dir_all(directory).map_err(cache)?;
    for program in programs {
        let target = directory.join(program.file_name());
        if target.is_file() {
            continue;
        }
        let recipe = Recipe::of(*program);
        let packages = fetch(&recipe)?;
        let temporary = directory.join(format!(
            ".{}.{}.partial",
            program.file_name(),
            std::process::id()
        ));
        let built = compile(&recipe, &temporary, packages);
        if built.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        built?;
        if *program == Program::Kwok {
            write_stages(&recipe, directory)?;
        }
        fs::rename(&temporary, &target).map_err(cache)?;
    }
    Ok(())
}

/// Fetches the modules and counts the packages to build. A failure here is the
/// network's (the versions and their sums are pinned), one later is the build's.
fn fetch(recipe: &Recipe) -> Result<usize, BuildError> {
    let name = recipe.program.file_name();
    eprintln!("envtest: fetching the modules of {name} {}", recipe.version);
    let output = go(recipe)
        .args(["list", "-deps", "-f", "{{.ImportPath}}", recipe.package])
        .output()
        .map_err(|error| BuildError::NoGo {
            reason: error.to_string(),
        })?;
    if output.status.success() {
        return Ok(output.stdout.split(|byte| *byte == b'\n').count());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let reason = last_words(errors.lines());
    if reason.contains("requires go >=") || reason.contains("invalid go version") {
        return Err(BuildError::NoGo { reason });
    }
    Err(BuildError::Unreachable { reason })
}

fn compile(recipe: &Recipe, target: &Path, packages: usize) -> Result<(), BuildError> {
    let name = recipe.program.file_name();
    let failed = |reason: String| BuildError::Failed {
        program: name,
        reason,
    };
    eprintln!(
        "envtest: building {name} {} ({packages} packages; minutes on a cold cache)",
        recipe.version
    );
    let mut child = go(recipe)
        .args(["build", "-v", "-trimpath", "-ldflags"])
        .arg(recipe.link_flags())
        .arg("-o")
        .arg(target)
        .arg(recipe.package)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let mut compiled = 0;
    let mut words = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let lines = read_lines(stderr);
        loop {
            match lines.recv_timeout(Duration::from_secs(20)) {
                // `-v` prints the bare path of each package that it compiles.
                Ok(line) if !line.contains([' ', ':']) => compiled += 1,
                Ok(line) => words.push(line),
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("envtest:   {name}: {compiled} packages compiled");
                    let _ = std::io::stderr().flush();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if status.success() {
        return Ok(());
    }
    Err(failed(last_words(words.iter().map(String::as_str))))
}

/// KWOK moves nothing without stages; these are the ones its own quick start
/// applies, joined into one file.
fn write_stages(recipe: &Recipe, directory: &Path) -> Result<(), BuildError> {
    let failed = |reason: String| BuildError::Failed {
        program: recipe.program.file_name(),
        reason,
    };
    let output = go(recipe)
        .args(["list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"])
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let module = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let mut stages = String::new();
    for folder in ["pod/fast", "node/fast", "node/heartbeat-with-lease"] {
        let folder = module.join("kustomize/stage").join(folder);
        let mut files: Vec<PathBuf> = fs::read_dir(&folder)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(|error| failed(format!("{}: {error}", folder.display())))?;
        files.sort();
        for file in files {
            let is_stage = file
                .extension()
                .is_some_and(|extension| extension == "yaml")
                && file.file_stem().is_some_and(|stem| stem != "kustomization");
            if is_stage {
                let text = fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
                stages.push_str("---\n");
                stages.push_str(text.trim_start_matches("---\n"));
            }
        }
    }
    fs::write(directory.join("kwok-stages.yaml"), stages).map_err(|source| BuildError::Cache {
        directory: directory.to_path_buf(),
        source,
    })
}

/// The stubs say everything about the build: what the caller's shell says
/// about workspaces, flags and C compilers stays out of it.
fn go(recipe: &Recipe) -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(recipe.folder())
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly -buildvcs=false")
        .env("GOWORK", "off")
        .stdin(Stdio::null());
    command
}

/// The lines of a child's output, read by a thread that ends with it.
fn read_lines(output: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(64);
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn last_words<'a>(lines: impl DoubleEndedIterator<Item = &'a str>) -> String {
    let mut last: Vec<&str> = lines
        .rev()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("go: downloading"))
        .take(5)
        .collect();
    last.reverse();
    if last.is_empty() {
        "go said nothing".to_owned()
    } else {
        last.join("\n  ")
    }
}
