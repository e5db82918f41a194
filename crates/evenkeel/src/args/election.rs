use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use evenkeel_election::{InvalidTiming, Legacy, Lock, Timing};

use super::parse_duration;
use crate::Election;

/// Who leads: `--leader-elect` and what belongs to it, with kube-controller-manager's names and
/// defaults (contract kcm §3.2).
#[derive(Clone, Debug, Args)]
pub struct ElectionArgs {
    /// Runs controllers only while this process holds the lease.
    #[arg(
        long,
        value_name = "BOOL",
        default_value = "true",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set,
        value_parser = BoolishValueParser::new()
    )]
    pub leader_elect: bool,
    /// How patient the election is.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// Kind of the lock. Kubernetes has dropped all but leases; endpoints, configmaps,
    /// endpointsleases and configmapsleases are for upgrades from candidates that still use them.
    #[arg(long, value_name = "KIND", default_value = "leases")]
    pub leader_elect_resource_lock: Lock,
    /// Takes a Lease only when nobody holds this lock of an older release any more.
    #[arg(long, value_name = "endpoints|configmaps", value_parser = legacy)]
    pub leader_elect_after: Option<Legacy>,
    /// Name of the Lease.
    #[arg(long, value_name = "NAME")]
    pub leader_elect_resource_name: Option<String>,
    /// Namespace of the Lease.
    #[arg(long, value_name = "NAME")]
    pub leader_elect_resource_namespace: Option<String>,
}

/// How patient an election is.
#[derive(Clone, Debug, Args)]
pub struct TimingArgs {
    /// How long a leader that falls silent keeps the lease. Whole seconds.
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = parse_duration)]
    pub leader_elect_lease_duration: Duration,
    /// How long a leader tries to renew before it stops leading.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    pub leader_elect_renew_deadline: Duration,
    /// Between two attempts to take or renew the lease.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_duration)]
    pub leader_elect_retry_period: Duration,
}

/// Flags that make no election together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionArgsError {
    /// With these durations two processes could lead at once.
    #[error("leader election: {0}")]
    Timing(#[from] InvalidTiming),
    /// Only a Lease can wait for an older lock.
    #[error("--leader-elect-after goes with leases, not with {0}")]
    AfterNoLease(Lock),
}

impl ElectionArgs {
    /// The Lease to compete for, `namespace/name` unless the flags say otherwise; `None` with
    /// `--leader-elect=false`.
    ///
    /// A kind of lock that Kubernetes has dropped is logged as a warning.
    ///
    /// # Errors
    ///
    /// [`ElectionArgsError`]: how the flags are used is at fault.
    pub fn election(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Election>, ElectionArgsError> {
        if !self.leader_elect {
            return Ok(None);
        }
        let or = |given: &Option<String>, default: &str| {
            given.clone().unwrap_or_else(|| default.to_owned())
        };
        let mut election = Election::new(
            or(&self.leader_elect_resource_namespace, namespace),
            or(&self.leader_elect_resource_name, name),
        );
        election.timing = self.timing.timing()?;
        election.lock = self.lock()?;
        Ok(Some(election))
    }

    fn lock(&self) -> Result<Lock, ElectionArgsError> {
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
            (lock, Some(_)) => Err(ElectionArgsError::AfterNoLease(lock)),
        }
    }
}

impl TimingArgs {
    /// The three durations.
    ///
    /// # Errors
    ///
    /// When two processes could lead at once with them.
    pub fn timing(&self) -> Result<Timing, InvalidTiming> {
        let timing = Timing {
            lease: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        };
        timing.validate()?;
        Ok(timing)
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        election: ElectionArgs,
    }

    fn election(flags: &[&str]) -> Result<Option<Election>, ElectionArgsError> {
        let flags = Flags::try_parse_from(["test"].iter().chain(flags)).unwrap();
        flags.election.election("here", "mine")
    }

    #[test]
    fn an_operator_says_its_lease_and_flags_another_one() {
        let default = election(&[]).unwrap().unwrap();
        assert_eq!((&*default.namespace, &*default.name), ("here", "mine"));
        assert_eq!(default.timing, Timing::default());
        let flags = [
            "--leader-elect-resource-name=x",
            "--leader-elect-resource-namespace=y",
        ];
        let flagged = election(&flags).unwrap().unwrap();
        assert_eq!((&*flagged.namespace, &*flagged.name), ("y", "x"));
        assert!(election(&["--leader-elect=false"]).unwrap().is_none());
        let unsafe_timing = election(&["--leader-elect-lease-duration=5s"]).unwrap_err();
        assert!(
            unsafe_timing.to_string().starts_with("leader election: "),
            "{unsafe_timing}"
        );
    }

    #[test]
    fn client_go_l22_l23_the_locks_of_old_releases_are_taken_by_their_names() {
        let lock = |flags: &[&str]| election(flags).map(|election| election.unwrap().lock);
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
        assert_eq!(
            lock(&[after]).unwrap(),
            Lock::LeaseAfter(Legacy::ConfigMaps)
        );
        let both = "--leader-elect-resource-lock=configmapsleases";
        assert!(matches!(
            lock(&[both, after]),
            Err(ElectionArgsError::AfterNoLease(Lock::Both(
                Legacy::ConfigMaps
            )))
        ));
    }
}
