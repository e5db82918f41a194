//! Scenarios as tests: one trial a scenario and server, under the names and in
//! the words of cargo's own harness.

use std::fmt::Write as _;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use xtask::envtest::{Assets, Program};

use crate::env::Env;
use crate::kubectl::Kubectl;
use crate::process;
use crate::program::{self, Unbuilt};
use crate::server::ServerKind;

/// What a scenario returns.
pub type Running = Pin<Box<dyn Future<Output = anyhow::Result<()>>>>;

/// A program that a scenario runs beside the server and `evenkeel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// None.
    Nothing,
    /// kubectl.
    Kubectl,
    /// The candidate with client-go's election.
    ClientGo,
    /// The watchers of kube-rs.
    KubeRs,
    /// This operator in `examples/`, or example of the `evenkeel` crate.
    Example(&'static str),
}

/// One scenario.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// Its path, `module::function`.
    pub name: &'static str,
    /// The servers that it runs on.
    pub servers: &'static [ServerKind],
    /// What else it runs.
    pub runs: Runs,
    /// What it does. The server is up when it is called.
    pub run: fn(Env) -> Running,
}

/// The scenario on both servers.
pub const BOTH: &[ServerKind] = &[ServerKind::Embedded, ServerKind::Real];
/// The scenario on the embedded server only.
pub const EMBEDDED: &[ServerKind] = &[ServerKind::Embedded];
/// The scenario on the real server only.
pub const REAL: &[ServerKind] = &[ServerKind::Real];

/// Describes scenarios: `scenario!(BOTH, cascade::background_takes_all)`, with `kubectl`,
/// `client_go`, `kube_rs` or `example "name"` after it where those are run.
#[macro_export]
macro_rules! scenario {
    ($servers:ident, $module:ident :: $function:ident) => {
        $crate::scenario!(@ $servers, $module, $function, Nothing)
    };
    ($servers:ident, $module:ident :: $function:ident, kubectl) => {
        $crate::scenario!(@ $servers, $module, $function, Kubectl)
    };
    ($servers:ident, $module:ident :: $function:ident, client_go) => {
        $crate::scenario!(@ $servers, $module, $function, ClientGo)
    };
    ($servers:ident, $module:ident :: $function:ident, kube_rs) => {
        $crate::scenario!(@ $servers, $module, $function, KubeRs)
    };
    ($servers:ident, $module:ident :: $function:ident, example $example:literal) => {
        $crate::scenario!(@ $servers, $module, $function, Example($example))
    };
    (@ $servers:ident, $module:ident, $function:ident, $($runs:tt)+) => {
        $crate::trial::Scenario {
            name: concat!(stringify!($module), "::", stringify!($function)),
            servers: $crate::trial::$servers,
            runs: $crate::trial::Runs::$($runs)+,
            run: |env| Box::pin($module::$function(env)),
        }
    };
}

/// Longer than any scenario's own deadlines add up to.
const LONGEST: Duration = Duration::from_secs(240);

/// Runs the scenarios that the command line selects.
#[must_use]
pub fn main(scenarios: &[Scenario]) -> ExitCode {
    let arguments = Arguments::from_args();
    let assets = Assets::locate(&Program::SERVER);
    let has_kubectl = Kubectl::is_installed();
    let mut trials = Vec::new();
    for scenario in scenarios {
        for kind in scenario.servers {
            let missing = match (kind, &assets) {
                (ServerKind::Real, Err(missing)) => Some(format!("skipped: {missing}")),
                _ if scenario.runs == Runs::Kubectl && !has_kubectl => {
                    Some("skipped: kubectl is not installed".to_owned())
                }
                _ => None,
            };
            let scenario = *scenario;
            let kind = *kind;
            let assets = assets.as_ref().ok().cloned();
            let name = format!("{kind}::{}", scenario.name);
            let trial = Trial::ignorable_test(name, move || run(scenario, kind, assets.as_ref()));
            // What cannot run is ignored, with the reason beside its name: it
            // neither fails nor counts as passed.
            trials.push(match missing {
                Some(reason) => trial.with_kind(reason).with_ignored_flag(true),
                None => trial,
            });
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(
    scenario: Scenario,
    kind: ServerKind,
    assets: Option<&Assets>,
) -> Result<Completion, Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    // A build takes as long as it takes: it comes before the scenario's time runs.
    let program = program::evenkeel()?;
    let built = match scenario.runs {
        Runs::ClientGo => program::go_candidate().map(drop),
        Runs::KubeRs => program::kube_rs().map(drop),
        Runs::Example(name) => program::example(name).map(drop).map_err(Unbuilt::broken),
        Runs::Nothing | Runs::Kubectl => Ok(()),
    };
    match built {
        Ok(()) => {}
        Err(Unbuilt::Missing(reason)) => {
            return Ok(Completion::ignored_with(format!("skipped: {reason}")));
        }
        Err(Unbuilt::Broken(reason)) => return Err(reason.into()),
    }
    let folder = Env::new_folder(kind, scenario.name)?;
    let outcome = runtime.block_on(async {
        let work = async {
            let env = Env::start(kind, &folder, assets, &program).await?;
            (scenario.run)(env).await
        };
        tokio::time::timeout(LONGEST, work)
            .await
            .unwrap_or_else(|_| Err(anyhow!("still not done after {LONGEST:?}")))
    });
    match outcome {
        Ok(()) => {
            // Left-overs in the temporary directory fail nothing.
            let _ = std::fs::remove_dir_all(&folder);
            Ok(Completion::Completed)
        }
        Err(error) => {
            let mut report = format!("{error:#}\n");
            let _ = write!(report, "{}", process::last_lines(&folder, 25));
            Err(report.into())
        }
    }
}
