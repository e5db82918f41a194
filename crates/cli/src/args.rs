//! The command line.

mod controller_manager;
#[cfg(unix)]
mod elect;
mod graph;
mod up;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use evenkeel::args::{LoggingArgs, parse_duration};

pub(crate) use controller_manager::{ControllerManagerArgs, ServingArgs};
#[cfg(unix)]
pub(crate) use elect::{ElectArgs, TiedArgs};
pub(crate) use graph::{GraphArgs, GraphFormat};
pub(crate) use up::UpArgs;

/// Level-triggered control loops for Kubernetes.
///
/// Flags may be written with `_` instead of `-`. Durations are spelled as in Go: 15s, 1m30s, 500ms.
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) logging: LoggingArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Starts a control plane in this process and applies manifests to it.
    ///
    /// An API server in memory, simulated nodes and several controller managers of which one leads.
    /// Stays until Ctrl-C; with --once, until everything that was applied has converged.
    Up(UpArgs),
    /// Runs the embedded API server alone, on loopback.
    ///
    /// It keeps everything in memory, and is for tests and demonstrations.
    Apiserver(ApiserverArgs),
    /// Runs the controllers against a cluster.
    ControllerManager(ControllerManagerArgs),
    /// Runs simulated nodes against a cluster: pods get bound, started and stopped, nothing is executed.
    Nodes(NodesArgs),
    /// Shows who owns whom in a cluster: as a tree, for Graphviz, as a picture.
    ///
    /// What references name and the server does not have is marked as missing: the garbage
    /// collector deletes what has no other owner. Nothing is changed.
    Graph(GraphArgs),
    /// Runs a command only while this process leads.
    ///
    /// Losing the lead, the command gets SIGTERM, and SIGKILL before another may begin; a lead
    /// that is lost is exit code 1. Told to stop, this process passes SIGTERM on and keeps the
    /// lease until the command has ended. The command's exit code is this one's.
    #[cfg(unix)]
    Elect(ElectArgs),
    #[cfg(unix)]
    #[command(hide = true)]
    ElectTied(TiedArgs),
}

impl Command {
    /// How much is logged without `-v`: `up` has a view of its own on standard output, and `graph`
    /// is about its result.
    pub(crate) fn default_verbosity(&self) -> u8 {
        match self {
            Self::Up(_) | Self::Graph(_) => LoggingArgs::WARN,
            _ => LoggingArgs::INFO,
        }
    }
}

/// Where the cluster is.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    /// Kubeconfig file. Without it and --master, the service account of the pod around is used.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// URL of the API server; overrides the one in the kubeconfig.
    #[arg(long, value_name = "URL")]
    pub(crate) master: Option<String>,
}

/// Where the embedded server listens, and who is told.
#[derive(Debug, Args)]
pub(crate) struct Listening {
    /// Port of the API server on 127.0.0.1; 0 chooses a free one.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Where to write the administrator's kubeconfig, readable for this user alone.
    #[arg(long, value_name = "FILE", default_value = ".evenkeel/kubeconfig")]
    pub(crate) kubeconfig_out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ApiserverArgs {
    #[command(flatten)]
    pub(crate) listening: Listening,
    /// Serves plain HTTP and lets everybody on this machine in, web pages included.
    #[arg(long)]
    pub(crate) insecure_http: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// How many nodes.
    #[arg(long, default_value_t = 1, value_parser = at_least_one())]
    pub(crate) count: u32,
    /// How long a pod takes from its creation until it is ready.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub(crate) pod_start_delay: Duration,
}

fn at_least_one() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// Kubernetes' programs take `_` for `-` in the names of flags; values stay as they are.
pub(crate) fn normalized(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut flags_end = false;
    let normalize = |arg: OsString| {
        flags_end |= arg == "--";
        match arg.to_str() {
            Some(text) if !flags_end && text.starts_with("--") => {
                let end = text.find('=').unwrap_or(text.len());
                let (name, value) = text.split_at(end);
                format!("{}{value}", name.replace('_', "-")).into()
            }
            _ => arg,
        }
    };
    args.into_iter().map(normalize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn parse(args: &[&str]) -> Result<Cli, clap::Error> {
        let args = ["evenkeel"].iter().chain(args).map(OsString::from);
        Cli::try_parse_from(normalized(args))
    }

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn underscores_in_names_are_dashes_and_values_stay() {
        let args = ["--kube_api_qps=5", "--kubeconfig=a_b", "--", "--a_b"].map(OsString::from);
        assert_eq!(
            normalized(args),
            ["--kube-api-qps=5", "--kubeconfig=a_b", "--", "--a_b"].map(OsString::from)
        );
    }
}
