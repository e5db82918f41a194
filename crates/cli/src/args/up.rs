use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use evenkeel::args::parse_duration;

use super::{Listening, at_least_one};

/// `evenkeel up`.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Manifests to apply: files, directories, or - for standard input. May be given several times.
    #[arg(short, long, value_name = "FILE|DIR|-", value_delimiter = ',')]
    pub(crate) filename: Vec<PathBuf>,
    /// Namespace of objects that name none.
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
    /// Ends when everything that was applied has converged (exit code 0), or after --timeout (1).
    #[arg(long)]
    pub(crate) once: bool,
    /// How long --once waits.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) listening: Listening,
    /// How many simulated nodes.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one())]
    pub(crate) nodes: u32,
    /// How long a pod takes from its creation until it is ready.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration)]
    pub(crate) pod_start_delay: Duration,
    /// How many controller managers compete for the lease.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one())]
    pub(crate) replicas: u32,
}
