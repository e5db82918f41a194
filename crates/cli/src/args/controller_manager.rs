use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use evenkeel_election::{Legacy, Lock, Timing};

use super::{Connection, at_least_one, boolean};
use crate::duration;
use crate::error::Failure;

/// `evenkeel controller-manager`: names and defaults are kube-controller-manager's (contract
/// kcm §3.2).
#[derive(Debug, Args)]
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

/// Who leads.
#[derive(Debug, Args)]
pub(crate) struct ElectionArgs {
    /// Runs controllers only while this process holds the lease.
    #[arg(
        long,
        value_name = "BOOL",
        default_value = "true",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set,
        value_parser = boolean()
    )]
    pub(crate) leader_elect: bool,
    #[command(flatten)]
    pub(crate) timing: TimingArgs,
    /// Kind of the lock. Kubernetes has dropped all but leases; endpoints, configmaps,
    /// endpointsleases and configmapsleases are for upgrades from candidates that still use them.
    #[arg(long, value_name = "KIND", default_value = "leases")]
    pub(crate) leader_elect_resource_lock: Lock,
    /// Takes a Lease only when nobody holds this lock of an older release any more.
    #[arg(long, value_name = "endpoints|configmaps", value_parser = legacy)]
    pub(crate) leader_elect_after: Option<Legacy>,
    /// Name of the Lease.
    #[arg(long, value_name = "NAME", default_value = "kube-controller-manager")]
    pub(crate) leader_elect_resource_name: String,
    /// Namespace of the Lease.
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    pub(crate) leader_elect_resource_namespace: String,
}

impl ElectionArgs {
    /// The lock, with a warning if it is one that Kubernetes has dropped.
    pub(crate) fn lock(&self) -> Result<Lock, Failure> {
        let lock = self.leader_elect_resource_lock;
        if lock.is_deprecated() {
            tracing::warn!(
                lock = %lock,
                "Kubernetes has dropped this kind of lock: when no candidate uses an older one, go on to {}",
                next(lock)
            );
        }
        match (lock, self.leader_elect_after) {
            (lock, None) => Ok(lock),
            (Lock::Lease, Some(legacy)) => Ok(Lock::LeaseAfter(legacy)),
            (lock, Some(_)) => Err(Failure::usage(format!(
                "--leader-elect-after goes with leases, not with {lock}"
            ))),
        }
    }
}

/// How patient an election is.
#[derive(Debug, Args)]
pub(crate) struct TimingArgs {
    /// How long a leader that falls silent keeps the lease. Whole seconds.
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration::parse)]
    pub(crate) leader_elect_lease_duration: Duration,
    /// How long a leader tries to renew before it stops leading.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    pub(crate) leader_elect_renew_deadline: Duration,
    /// Between two attempts to take or renew the lease.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    pub(crate) leader_elect_retry_period: Duration,
}

impl TimingArgs {
    /// The three durations, if they are safe together.
    pub(crate) fn timing(&self) -> Result<Timing, Failure> {
        let timing = Timing {
            lease: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        };
        match timing.validate() {
            Ok(()) => Ok(timing),
            Err(error) => Err(Failure::usage(format!("leader election: {error}"))),
        }
    }
}

/// The next step of the way to leases (contract client-go L24).
fn next(lock: Lock) -> Lock {
    match lock {
        Lock::Legacy(legacy) => Lock::Both(legacy),
        _ => Lock::Lease,
    }
}

fn legacy(text: &str) -> Result<Legacy, String> {
    match text {
        "endpoints" => Ok(Legacy::Endpoints),
        "configmaps" => Ok(Legacy::ConfigMaps),
        _ => Err("expected endpoints or configmaps".to_owned()),
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
        let election = &args.election;
        assert!(election.leader_elect);
        assert_eq!(
            election.timing.leader_elect_lease_duration,
            Duration::from_secs(15)
        );
        assert_eq!(
            election.timing.leader_elect_renew_deadline,
            Duration::from_secs(10)
        );
        assert_eq!(
            election.timing.leader_elect_retry_period,
            Duration::from_secs(2)
        );
        assert_eq!(
            election.leader_elect_resource_name,
            "kube-controller-manager"
        );
        assert_eq!(election.leader_elect_resource_namespace, "kube-system");
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
            assert_eq!(
                manager(&[flag]).unwrap().election.leader_elect,
                on,
                "{flag}"
            );
        }
        let args = manager(&["--leader-elect-lease-duration", "1m30s"]).unwrap();
        assert_eq!(
            args.election.timing.leader_elect_lease_duration,
            Duration::from_secs(90)
        );
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
    fn client_go_l22_l23_the_locks_of_old_releases_are_taken_by_their_names() {
        let lock = |flags: &[&str]| manager(flags).unwrap().election.lock();
        for (name, lock_of) in [
            ("leases", Lock::Lease),
            ("endpoints", Lock::Legacy(Legacy::Endpoints)),
            ("configmaps", Lock::Legacy(Legacy::ConfigMaps)),
            ("endpointsleases", Lock::Both(Legacy::Endpoints)),
            ("configmapsleases", Lock::Both(Legacy::ConfigMaps)),
        ] {
            let flag = format!("--leader-elect-resource-lock={name}");
            assert_eq!(lock(&[&flag]).unwrap(), lock_of);
        }
        let after = "--leader-elect-after=configmaps";
        let waits = Lock::LeaseAfter(Legacy::ConfigMaps);
        assert_eq!(lock(&[after]).unwrap(), waits);
        let both = "--leader-elect-resource-lock=configmapsleases";
        assert!(matches!(lock(&[both, after]), Err(Failure::Usage(_))));
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
