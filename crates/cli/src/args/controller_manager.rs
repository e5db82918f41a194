use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use evenkeel::Election;
use evenkeel::args::{ElectionArgs, ElectionArgsError};

use super::{Connection, at_least_one};

/// The Lease unless the flags say otherwise.
const LEASE: &str = "kube-controller-manager";
const LEASE_NAMESPACE: &str = "kube-system";

/// `evenkeel controller-manager`: names and defaults are kube-controller-manager's (contract
/// kcm §3.2).
#[derive(Debug, Args)]
#[command(
    mut_arg("leader_elect_resource_name", |arg| arg.default_value(LEASE)),
    mut_arg("leader_elect_resource_namespace", |arg| arg.default_value(LEASE_NAMESPACE)),
)]
pub(crate) struct ControllerManagerArgs {
    #[command(flatten)]
    pub(crate) connection: Connection,
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
    /// Controllers to run: "*" is all of them, "foo" adds one, "-foo" takes one away.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        allow_hyphen_values = true,
        default_value = "*"
    )]
    pub(crate) controllers: Vec<String>,
    /// Deployments that are synced at once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one())]
    pub(crate) concurrent_deployment_syncs: u32,
    /// ReplicaSets that are synced at once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one())]
    pub(crate) concurrent_replicaset_syncs: u32,
    /// Namespaces that are emptied at once.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one())]
    pub(crate) concurrent_namespace_syncs: u32,
    /// Objects that the garbage collector works on at once.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one())]
    pub(crate) concurrent_gc_syncs: u32,
    /// Requests a second to the API server; a negative number is no limit, 0 is client-go's default, 5.
    /// The lease has a client of its own that is not limited.
    #[arg(
        long,
        value_name = "QPS",
        default_value_t = 20.0,
        allow_negative_numbers = true
    )]
    pub(crate) kube_api_qps: f64,
    /// Requests at once after a quiet time; 0 is client-go's default, 10.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) kube_api_burst: u32,
}

impl ControllerManagerArgs {
    /// The Lease to compete for; `None` runs the controllers without an election.
    pub(crate) fn election(&self) -> Result<Option<Election>, ElectionArgsError> {
        self.election.election(LEASE_NAMESPACE, LEASE)
    }

    /// Rate and burst of the client; `None` is no limit.
    pub(crate) fn rate_limit(&self) -> Option<(f64, u32)> {
        let qps = match self.kube_api_qps {
            0.0 => 5.0,
            qps => qps,
        };
        let burst = match self.kube_api_burst {
            0 => 10,
            burst => burst,
        };
        (qps > 0.0).then_some((qps, burst))
    }
}

/// Health checks and metrics.
#[derive(Debug, Args)]
pub(crate) struct ServingArgs {
    /// Address of the endpoints for /healthz, /livez, /readyz and /metrics.
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub(crate) bind_address: IpAddr,
    /// Port for HTTPS; 0 turns it off.
    #[arg(long, value_name = "PORT", default_value_t = 10257)]
    pub(crate) secure_port: u16,
    /// Port for plain HTTP; 0 turns it off.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) http_port: u16,
    /// Certificate chain for HTTPS; a self-signed one is made when none is given.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// Private key that goes with --tls-cert-file.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::parse;
    use super::super::{Cli, Command};
    use super::*;

    fn manager(flags: &[&str]) -> Result<ControllerManagerArgs, String> {
        let args: Vec<_> = ["controller-manager"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        match parse(&args) {
            Ok(Cli {
                command: Command::ControllerManager(args),
                ..
            }) => Ok(args),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn defaults_are_those_of_kube_controller_manager() {
        let args = manager(&[]).unwrap();
        let election = args.election().unwrap().unwrap();
        let seconds = |seconds| Duration::from_secs(seconds);
        assert_eq!(election.timing.lease, seconds(15));
        assert_eq!(election.timing.renew_deadline, seconds(10));
        assert_eq!(election.timing.retry_period, seconds(2));
        assert_eq!(election.name, "kube-controller-manager");
        assert_eq!(election.namespace, "kube-system");
        assert_eq!(args.controllers, ["*"]);
        assert_eq!(args.concurrent_deployment_syncs, 5);
        assert_eq!(args.concurrent_replicaset_syncs, 5);
        assert_eq!(args.concurrent_gc_syncs, 20);
        assert_eq!(args.rate_limit(), Some((20.0, 30)));
        assert_eq!(args.serving.bind_address.to_string(), "0.0.0.0");
        assert_eq!(
            (args.serving.secure_port, args.serving.http_port),
            (10257, 0)
        );
    }

    #[test]
    fn flags_are_spelled_as_in_go() {
        for (flag, on) in [
            ("--leader-elect", true),
            ("--leader-elect=true", true),
            ("--leader-elect=false", false),
            ("--leader_elect=0", false),
        ] {
            let election: Option<Election> = manager(&[flag]).unwrap().election().unwrap();
            assert_eq!(election.is_some(), on, "{flag}");
        }
        let args = manager(&["--leader-elect-lease-duration", "1m30s"]).unwrap();
        let election = args.election().unwrap().unwrap();
        assert_eq!(election.timing.lease, Duration::from_secs(90));
        let args = manager(&[
            "--controllers=*,-garbagecollector",
            "--controllers",
            "-namespace",
        ]);
        assert_eq!(
            args.unwrap().controllers,
            ["*", "-garbagecollector", "-namespace"]
        );
        assert_eq!(
            manager(&["--kube-api-qps", "-1"]).unwrap().rate_limit(),
            None
        );
        assert_eq!(
            manager(&["--kube-api-qps=0", "--kube-api-burst=0"])
                .unwrap()
                .rate_limit(),
            Some((5.0, 10))
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_hint() {
        for (flags, words) in [
            (
                &["--leader-elect-resource-lock=etcd"][..],
                "expected leases",
            ),
            (&["--leader-elect-after=leases"], "expected endpoints"),
            (&["--leader-elect-retry-period=2"], "missing unit"),
            (&["--concurrent-gc-syncs=0"], "0"),
            (&["--tls-cert-file=a"], "--tls-private-key-file"),
            (&["--secure-port=70000"], "70000"),
            (&["--bind-address=localhost"], "localhost"),
        ] {
            let error = manager(flags).unwrap_err();
            assert!(error.contains(words), "{flags:?}: {error}");
        }
    }
}
