use std::time::Duration;

/// How much longer a waiting candidate may sleep than the retry period: up to this many
/// periods more (client-go L9).
pub(crate) const JITTER_FACTOR: f64 = 1.2;

/// The three durations of an election (client-go L1).
///
/// The default is what Kubernetes' own components use: a lease of 15 s, a renew deadline of
/// 10 s, a retry period of 2 s. All candidates of one Lease should use the same values; a
/// candidate waits for the duration that the *holder* wrote down, not for its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a holder that falls silent keeps the Lease. Whole seconds.
    pub lease: Duration,
    /// How long a leader tries to renew before it gives up leading.
    pub renew_deadline: Duration,
    /// How long to wait between two attempts.
    pub retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl Timing {
    /// Refuses values with which two candidates could lead at once (client-go L2, L12).
    ///
    /// Stricter than client-go in two points: the lease is written in whole seconds, so it
    /// must be whole seconds; and a leader steps down up to a retry period *plus* the renew
    /// deadline after its last renewal, so the lease must be longer than both together.
    ///
    /// # Errors
    /// Names the first rule that does not hold.
    pub fn validate(&self) -> Result<(), InvalidTiming> {
        if self.retry_period.is_zero() {
            return Err(InvalidTiming::NoRetryPeriod);
        }
        if self.lease < Duration::from_secs(1)
            || self.lease.subsec_nanos() != 0
            || i32::try_from(self.lease.as_secs()).is_err()
        {
            return Err(InvalidTiming::LeaseNotWholeSeconds { lease: self.lease });
        }
        let wait = self.retry_period.as_secs_f64() * JITTER_FACTOR;
        let wait = Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX);
        if self.renew_deadline <= wait {
            return Err(InvalidTiming::RenewDeadlineTooShort {
                renew_deadline: self.renew_deadline,
                retry_period: self.retry_period,
            });
        }
        let step_down = self.renew_deadline.saturating_add(self.retry_period);
        if self.lease <= step_down {
            return Err(InvalidTiming::LeaseTooShort {
                lease: self.lease,
                step_down,
            });
        }
        Ok(())
    }

    /// What is left of the lease when a leader has stepped down at the latest: the default
    /// margin of the [`Fence`](crate::Fence). 3 s with the default timing.
    #[must_use]
    pub fn default_margin(&self) -> Duration {
        self.lease
            .saturating_sub(self.renew_deadline)
            .saturating_sub(self.retry_period)
    }

    /// How long one request may take, so that a hung one cannot eat the whole renew
    /// deadline (client-go L18).
    #[must_use]
    pub fn request_timeout(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }
}

/// An election that would not be safe, or could not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTiming {
    /// The retry period is zero.
    #[error("retry period must be greater than zero")]
    NoRetryPeriod,
    /// The Lease stores whole seconds, at least one.
    #[error("lease duration must be whole seconds, at least 1 s and at most 2^31 s: {lease:?}")]
    LeaseNotWholeSeconds {
        /// The duration that was asked for.
        lease: Duration,
    },
    /// There would be no second attempt before the deadline.
    #[error(
        "renew deadline {renew_deadline:?} must be greater than 1.2 x retry period {retry_period:?}"
    )]
    RenewDeadlineTooShort {
        /// The deadline that was asked for.
        renew_deadline: Duration,
        /// The period that was asked for.
        retry_period: Duration,
    },
    /// A rival could lead before the old leader has stepped down.
    #[error(
        "lease duration {lease:?} must be greater than renew deadline + retry period ({step_down:?})"
    )]
    LeaseTooShort {
        /// The duration that was asked for.
        lease: Duration,
        /// When a leader steps down at the latest.
        step_down: Duration,
    },
    /// The fence would close before a leader has had its time to renew.
    #[error(
        "fence margin {margin:?} must be less than lease duration - renew deadline ({limit:?})"
    )]
    MarginTooLong {
        /// The margin that was asked for.
        margin: Duration,
        /// What it must stay below.
        limit: Duration,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(lease: u64, renew_deadline: u64, retry_period: u64) -> Timing {
        Timing {
            lease: Duration::from_millis(lease),
            renew_deadline: Duration::from_millis(renew_deadline),
            retry_period: Duration::from_millis(retry_period),
        }
    }

    #[test]
    fn l1_defaults_are_those_of_the_components() {
        assert_eq!(Timing::default(), timing(15_000, 10_000, 2_000));
        assert_eq!(Timing::default().validate(), Ok(()));
        assert_eq!(Timing::default().default_margin(), Duration::from_secs(3));
    }

    #[test]
    fn l2_unsafe_timing_is_refused() {
        for (bad, why) in [
            (timing(10_000, 10_000, 2_000), "no longer than the deadline"),
            (
                timing(11_000, 10_000, 8_000),
                "no room for the retry period (passes upstream)",
            ),
            (timing(12_000, 10_000, 2_000), "exactly the step-down"),
        ] {
            assert!(
                matches!(bad.validate(), Err(InvalidTiming::LeaseTooShort { .. })),
                "{why}"
            );
        }
        assert_eq!(
            timing(12_000, 10_000, 2_000).validate(),
            Err(InvalidTiming::LeaseTooShort {
                lease: Duration::from_secs(12),
                step_down: Duration::from_secs(12),
            })
        );
        for lease in [0, 999, 1_900] {
            assert!(matches!(
                timing(lease, 500, 100).validate(),
                Err(InvalidTiming::LeaseNotWholeSeconds { .. })
            ));
        }
        assert!(matches!(
            timing(15_000, 2_400, 2_000).validate(),
            Err(InvalidTiming::RenewDeadlineTooShort { .. })
        ));
        assert_eq!(
            timing(15_000, 10_000, 0).validate(),
            Err(InvalidTiming::NoRetryPeriod)
        );
        assert_eq!(timing(1_000, 500, 200).validate(), Ok(()));
    }

    #[test]
    fn l2_no_duration_is_too_long_to_be_refused() {
        let sound = Timing::default();
        for endless in [
            Timing {
                lease: Duration::MAX,
                ..sound
            },
            Timing {
                renew_deadline: Duration::MAX,
                ..sound
            },
            Timing {
                retry_period: Duration::MAX,
                ..sound
            },
            Timing {
                lease: Duration::MAX,
                renew_deadline: Duration::MAX,
                retry_period: Duration::MAX,
            },
        ] {
            assert!(endless.validate().is_err(), "{endless:?}");
        }
    }

    #[test]
    fn l18_one_request_gets_half_the_deadline_and_at_least_a_second() {
        for (deadline, request) in [(10_000, 5_000), (3_000, 1_500), (1_500, 1_000)] {
            assert_eq!(
                timing(15_000, deadline, 100).request_timeout(),
                Duration::from_millis(request)
            );
        }
    }
}
