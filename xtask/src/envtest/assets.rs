//! Where the real control plane's programs are.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{ETCD, KUBERNETES, Program};

/// A directory that holds the programs that were asked for.
#[derive(Clone, Debug)]
pub struct Assets {
    directory: PathBuf,
    source: Source,
}

/// Who put the programs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The variable `KUBEBUILDER_ASSETS` names the directory.
    Environment,
    /// This task built them earlier.
    Cache,
}

/// Why the programs cannot be used as they are.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// `KUBEBUILDER_ASSETS` is set and its directory lacks a program.
    FromEnvironment {
        /// What the variable says.
        directory: PathBuf,
        /// The first program that is not there.
        program: &'static str,
    },
    /// The cache lacks a program: `cargo xtask envtest` builds it.
    FromCache {
        /// The cache's directory for these versions.
        directory: PathBuf,
        /// The first program that is not there.
        program: &'static str,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set.
    NoCacheDirectory,
}

impl Assets {
    /// Finds the programs without building anything: `KUBEBUILDER_ASSETS`
    /// first, then the cache.
    ///
    /// # Errors
    /// The first program that is missing where it should be.
    pub fn locate(programs: &[Program]) -> Result<Self, Missing> {
        let set = std::env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty());
        if let Some(directory) = set.map(PathBuf::from) {
            return match first_missing(&directory, programs) {
                None => Ok(Self {
                    directory,
                    source: Source::Environment,
                }),
                Some(program) => Err(Missing::FromEnvironment { directory, program }),
            };
        }
        let directory = cache_directory().ok_or(Missing::NoCacheDirectory)?;
        match first_missing(&directory, programs) {
            None => Ok(Self::cached(directory)),
            Some(program) => Err(Missing::FromCache { directory, program }),
        }
    }

    pub(super) fn cached(directory: PathBuf) -> Self {
        Self {
            directory,
            source: Source::Cache,
        }
    }

    /// The directory itself.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory and who put the programs there, for a log line.
    #[must_use]
    pub fn source(&self) -> String {
        match self.source {
            Source::Environment => format!("KUBEBUILDER_ASSETS={}", self.directory.display()),
            Source::Cache => format!("the cache {}", self.directory.display()),
        }
    }

    /// The path of one program.
    #[must_use]
    pub fn program(&self, program: Program) -> PathBuf {
        self.directory.join(program.file_name())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromEnvironment { directory, program } => write!(
                f,
                "KUBEBUILDER_ASSETS={} holds no {program}",
                directory.display()
            ),
            Self::FromCache { .. } => f.write_str("run cargo xtask envtest"),
            Self::NoCacheDirectory => f.write_str("neither XDG_CACHE_HOME nor HOME is set"),
        }
    }
}

fn first_missing(directory: &Path, programs: &[Program]) -> Option<&'static str> {
    programs
        .iter()
        .map(|program| program.file_name())
        .find(|name| !directory.join(name).is_file())
}

/// What this project keeps under the user's cache directory.
pub(crate) fn cache() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(base.join("evenkeel"))
}

/// One directory by version and machine, so that a new version never meets an
/// old program.
fn cache_directory() -> Option<PathBuf> {
    let etcd = ETCD.trim_start_matches('v');
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    Some(
        cache()?
            .join("envtest")
            .join(format!("{KUBERNETES}-etcd-{etcd}-{system}-{machine}")),
    )
}
