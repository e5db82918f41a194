mod cell;
mod transport;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_pace::Moment;
use tokio_util::sync::CancellationToken;

pub use self::cell::FenceCell;
pub use self::transport::FencedTransport;

use crate::Clock;

/// Tells whether one term of leadership is still sure to last.
///
/// It is open until the *send* of the last good renewal, plus the lease, less a margin; no
/// rival that waits for the lease can have begun before. Once the term has ended it never
/// opens again: a later term of the same candidate has its own fence. Cloning is cheap, and
/// all clones belong to the same term.
///
/// The check reads a clock that runs through suspend, so it is right even when the process
/// was stopped, or the machine slept, and no timer has fired yet.
///
/// ```
/// use std::time::Duration;
/// use evenkeel_election::{Clock, Fence, FenceExpired};
///
/// let clock = Clock::boot();
/// let fence = Fence::until(clock.now() + Duration::from_secs(5), clock);
/// assert!(fence.check()? <= Duration::from_secs(5)); // a write may take this long
/// fence.seal();
/// assert_eq!(fence.check(), Err(FenceExpired::Ended));
/// # Ok::<(), FenceExpired>(())
/// ```
#[derive(Clone)]
pub struct Fence(Arc<Term>);

struct Term {
    clock: Clock,
    /// The moment at which the fence closes, in nanoseconds; [`SEALED`] once the term is over.
    until: AtomicU64,
    /// The same, but kept when the term is over before its time.
    horizon: AtomicU64,
    /// Cancelled when the term is over before its time: wakes those who wait for an answer.
    sealed: CancellationToken,
}

/// Earlier than every moment, so that a sealed fence is closed by the same comparison.
const SEALED: u64 = 0;

/// Why a write may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FenceExpired {
    /// This process is not leading.
    #[error("not leading: no write may start outside a term of leadership")]
    NoTerm,
    /// The term has ended: it was lost or given up.
    #[error("leadership has ended: no write of that term may start any more")]
    Ended,
    /// The lease was not renewed in time; a rival may lead already.
    #[error("leadership was not renewed in time: the fence closed {by:?} ago")]
    Overdue {
        /// How long ago the fence closed.
        by: Duration,
    },
}

impl FenceExpired {
    /// Finds a fence's refusal among an error and its causes.
    ///
    /// The way to tell a write that [`FencedTransport`] refused from one that failed: such a
    /// write never left this process, and trying it again in this term is of no use.
    #[must_use]
    pub fn find(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(expired) = error.downcast_ref::<Self>() {
                return Some(*expired);
            }
            next = error.source();
        }
        None
    }
}

impl Fence {
    /// A fence that closes at `until`, by `clock`.
    #[must_use]
    pub fn until(until: Moment, clock: Clock) -> Self {
        Self(Arc::new(Term {
            clock,
            until: AtomicU64::new(open_until(until)),
            horizon: AtomicU64::new(open_until(until)),
            sealed: CancellationToken::new(),
        }))
    }

    /// How long the term is still sure to last: the longest that a write may take.
    ///
    /// Call it directly before the write; between a check and the write there is always a
    /// moment in which the process can be stopped. The margin is there for that.
    ///
    /// # Errors
    /// When the term has ended, or was not renewed in time.
    pub fn check(&self) -> Result<Duration, FenceExpired> {
        let until = self.0.until.load(Ordering::Acquire);
        if until == SEALED {
            return Err(FenceExpired::Ended);
        }
        let now = nanos(self.0.clock.now());
        match until.checked_sub(now) {
            Some(left) if left > 0 => Ok(Duration::from_nanos(left)),
            _ => Err(FenceExpired::Overdue {
                by: Duration::from_nanos(now.saturating_sub(until)),
            }),
        }
    }

    /// How long no rival can begin that waits for the lease to run out, whether this term has
    /// ended by now or not; zero once that is over.
    ///
    /// For work that has been told to stop and must have ended by then. It does not hold for a
    /// term that ended because a rival *has* begun, or whose Lease was given back.
    #[must_use]
    pub fn horizon(&self) -> Duration {
        let horizon = self.0.horizon.load(Ordering::Acquire);
        Duration::from_nanos(horizon.saturating_sub(nanos(self.0.clock.now())))
    }

    /// Ends the term for good, before its time.
    pub fn seal(&self) {
        self.0.until.store(SEALED, Ordering::Release);
        self.0.sealed.cancel();
    }

    /// Moves the end of the term. Never earlier, and never after it was sealed.
    pub(crate) fn extend(&self, until: Moment) {
        let until = open_until(until);
        self.0.horizon.fetch_max(until, Ordering::AcqRel);
        let extend = |current| (current != SEALED && current < until).then_some(until);
        let _ = self
            .0
            .until
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, extend);
    }
}

fn nanos(moment: Moment) -> u64 {
    u64::try_from(moment.since_origin().as_nanos()).unwrap_or(u64::MAX)
}

/// What stands for a fence that is not sealed, even if it closes at the clock's origin.
fn open_until(moment: Moment) -> u64 {
    nanos(moment).max(SEALED + 1)
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fence").field(&self.check()).finish()
    }
}

#[cfg(test)]
mod tests;
