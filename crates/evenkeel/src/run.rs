//! What a run of a reconciler knows about itself.

use std::fmt;
use std::hash::Hash;

use evenkeel_election::Fence;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::Context;

/// See the [module](self).
pub(crate) struct Run {
    pub(crate) id: ReconcileId,
    pub(crate) failures: u32,
    /// The priority at which the key was handed out.
    pub(crate) priority: i32,
    /// The priority of the next run, if the reconciler has one to say.
    pub(crate) next_priority: Mutex<Option<i32>>,
}

/// The name of one run of one key: no other run has it, in whatever process.
///
/// The `tracing` span of the run carries it as `reconcile_id`, so that all log lines of one run
/// can be found (contract controller-runtime C3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReconcileId {
    /// Drawn when the workers start.
    pub(crate) term: u64,
    /// Counted up from run to run.
    pub(crate) number: u64,
}

impl fmt::Display for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.term, self.number)
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Context<K> {
    /// The name of this run.
    #[must_use]
    pub fn reconcile_id(&self) -> ReconcileId {
        self.run.id
    }

    /// How many runs of this key have failed in a row.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.run.failures
    }

    /// The priority at which the key was handed out: the highest of what asked for this run.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.run.priority
    }

    /// Says how urgent the next run is, if this one asks for one by its outcome or by an error.
    ///
    /// Unless said it is as urgent as this one (contract controller-runtime C19). Something that
    /// happens to the key meanwhile can make it more urgent, never less.
    pub fn set_next_priority(&self, priority: i32) {
        *self.run.next_priority.lock() = Some(priority);
    }

    /// Resolves when something has happened to the key during this run, so that it will run once
    /// more. A long run may look at the level again, or end early; nothing is lost if it does not.
    ///
    /// ```
    /// # use evenkeel::{Context, Outcome, ReconcileResult};
    /// # async fn long_migration() {}
    /// async fn migrate(context: &Context) -> ReconcileResult {
    ///     tokio::select! {
    ///         () = long_migration() => Ok(Outcome::Done),
    ///         () = context.superseded() => Ok(Outcome::Done), // the next run knows better
    ///     }
    /// }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn superseded(&self) {
        self.shared.intake.superseded(&self.key).await;
    }

    /// The leadership that this run acts under, `None` where there is no election.
    ///
    /// The [`client`](Self::client) asks it by itself; ask it for what is not a request to the
    /// API server: [`check`](Fence::check) it before, and let nothing take longer than what it answers.
    #[must_use]
    pub fn fence(&self) -> Option<&Fence> {
        self.shared.fence.as_ref()
    }

    /// Resolves when the controller has been told to stop. The run has the grace period left to
    /// finish what it does.
    pub async fn draining(&self) {
        self.shared.draining.cancelled().await;
    }

    /// Resolves when the grace period is over: the run is dropped a second later.
    pub async fn stopping(&self) {
        self.shared.stop.cancelled().await;
    }

    /// [`stopping`](Self::stopping) as a token, to hand on.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.shared.stop
    }
}
