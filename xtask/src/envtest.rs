//! `cargo xtask envtest`: a real etcd and kube-apiserver, built from their Go
//! modules.
//!
//! Nothing is downloaded as a binary and nothing lands in the checkout: the
//! stubs under `xtask/envtest` pin the modules, the results are cached by
//! version under the user's cache directory. `KUBEBUILDER_ASSETS` comes first,
//! as with the tools of the Go world.

mod assets;
mod build;

use clap::ValueEnum;

pub(crate) use self::assets::cache;
pub use self::assets::{Assets, Missing, Source};
pub use self::build::BuildError;

pub(crate) const KUBERNETES: &str = "v1.37.2";
pub(crate) const ETCD: &str = "v3.6.16";
pub(crate) const KWOK: &str = "v0.8.0";

/// What to provide besides etcd and kube-apiserver.
#[derive(clap::Args)]
pub struct Options {
    /// Further programs, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',')]
    with: Vec<Program>,
}

/// A program of the real control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Program {
    /// The database under the API server.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// The controllers that evenkeel is compared with.
    KubeControllerManager,
    /// The scheduler.
    KubeScheduler,
    /// Simulated kubelets, with their stages beside them in `kwok-stages.yaml`.
    Kwok,
}

impl Program {
    /// What every real server needs.
    pub const SERVER: [Self; 2] = [Self::Etcd, Self::KubeApiserver];

    /// The file name, the same everywhere.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kwok => "kwok",
        }
    }
}

/// Finds or builds the programs; the last line on standard output is their
/// directory, everything else goes to standard error.
///
/// # Errors
/// `KUBEBUILDER_ASSETS` names a directory that lacks a program, or the build failed.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let mut programs = Program::SERVER.to_vec();
    for program in &options.with {
        if !programs.contains(program) {
            programs.push(*program);
        }
    }
    println!("{}", provide(&programs)?.directory().display());
    Ok(())
}

/// The programs, from wherever they are already or else newly built.
///
/// # Errors
/// As [`run`].
pub fn provide(programs: &[Program]) -> Result<Assets, BuildError> {
    match Assets::locate(programs) {
        Ok(assets) => {
            eprintln!("envtest: using {}", assets.source());
            Ok(assets)
        }
        Err(Missing::FromEnvironment { directory, program }) => {
            Err(BuildError::Environment { directory, program })
        }
        Err(Missing::NoCacheDirectory) => Err(BuildError::NoCacheDirectory),
        Err(Missing::FromCache { directory, .. }) => {
            build::build(&directory, programs)?;
            Ok(Assets::cached(directory))
        }
    }
}
