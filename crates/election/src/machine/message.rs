use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::Timestamp;
use evenkeel_pace::Moment;

use crate::Lease;

/// The time of an input, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// What everything is measured with.
    pub moment: Moment,
    /// What is written into the Lease for people to read. Never compared.
    pub wall: Timestamp,
}

/// What a [`Machine`](super::Machine) is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// The moment that was asked for has come.
    Tick,
    /// A request came to its end.
    Answered {
        /// Which one.
        request: RequestId,
        /// The Lease after it, or why there is none.
        result: Result<Lease, Failure>,
    },
    /// A watch of the Lease is open and will tell its present state, if there is one.
    WatchOpened,
    /// The watch has ended.
    WatchClosed,
    /// The watch shows this state.
    Seen(Lease),
    /// The watch shows that the Lease was deleted; this was its last state.
    SeenDeleted(Lease),
    /// Give up the campaign; or, when the work has been joined, the Lease.
    Resign,
}

/// What a [`Machine`](super::Machine) asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send a request.
    Send(Request),
    /// Leadership begins.
    Elected {
        /// Until when no rival can have begun.
        fence: Moment,
        /// How often the Lease had gone from one holder to another.
        transitions: i32,
    },
    /// Leadership goes on.
    Renewed {
        /// Until when no rival can have begun.
        fence: Moment,
    },
    /// A renewal had to read the Lease again (client-go M4).
    SlowPath,
    /// The Lease names another holder than was reported before; `None` for nobody.
    LeaderChanged(Option<Arc<str>>),
    /// The Lease could be taken, if it were not for the lock of an older release: this is who
    /// holds that (client-go L24).
    HeldElsewhere(Arc<str>),
    /// Leadership has ended. The Lease may still say me: hand in [`Input::Resign`] when the
    /// work is joined.
    Lost(LossCause),
    /// The watch has missed a change: open a new one.
    RestartWatch,
    /// [`Input::Resign`] has come to its end. It is the last action.
    Finished(Resignation),
}

/// Names a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub(super) u64);

/// A request for the API server.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What its answer is called.
    pub id: RequestId,
    /// What to send.
    pub operation: Operation,
}

/// One of the three requests of an election.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Read the Lease, the most recent state.
    Get,
    /// Create it.
    Create(Box<Lease>),
    /// Replace it, if it is still in the state whose resource version this carries.
    Update(Box<Lease>),
}

/// Why a request has no Lease to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// There is no such Lease.
    NotFound,
    /// It is not in the state that the write was based on, or exists already.
    Conflict,
    /// The server refused; nothing was written.
    Rejected,
    /// No answer; a write may or may not have happened.
    Unanswered,
}

/// Why a term ended that was not given up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossCause {
    /// The Lease could not be renewed before the deadline.
    NotRenewed {
        /// How long ago the last good renewal was sent.
        since: Duration,
    },
    /// Another candidate holds the Lease, or has held it since the last renewal.
    Superseded {
        /// Who holds it now, if anyone.
        by: Option<Arc<str>>,
    },
    /// The control plane wants another candidate to lead (client-go L21).
    EndOfTerm {
        /// Which one.
        preferred: Arc<str>,
    },
    /// The election's task is gone: the runtime is shutting down.
    Abandoned,
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRenewed { since } => {
                write!(f, "the lease could not be renewed for {since:?}")
            }
            Self::Superseded { by: Some(holder) } => {
                write!(f, "the lease is held by {holder}")
            }
            Self::Superseded { by: None } => {
                f.write_str("another candidate held the lease since the last renewal")
            }
            Self::EndOfTerm { preferred } => write!(f, "{preferred} is preferred as the leader"),
            Self::Abandoned => f.write_str("the election was stopped"),
        }
    }
}

impl LossCause {
    /// One word, for a metric's label.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotRenewed { .. } => "not_renewed",
            Self::Superseded { .. } => "superseded",
            Self::EndOfTerm { .. } => "end_of_term",
            Self::Abandoned => "abandoned",
        }
    }
}

/// How giving up the Lease went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resignation {
    /// The Lease names nobody now: the next candidate may take it at once.
    Released,
    /// The Lease did not name this candidate; nothing was written.
    NotHeld,
    /// The Lease may still name this candidate; others must wait until it runs out.
    Failed(Failure),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_a_word_of_its_own_and_says_who() {
        let since = Duration::from_secs(10);
        let by = |holder: &str| Some(Arc::from(holder));
        let preferred = Arc::from("rival");
        let causes = [
            (LossCause::NotRenewed { since }, "not_renewed", "10s"),
            (
                LossCause::Superseded { by: by("rival") },
                "superseded",
                "rival",
            ),
            (
                LossCause::Superseded { by: None },
                "superseded",
                "another candidate",
            ),
            (LossCause::EndOfTerm { preferred }, "end_of_term", "rival"),
            (LossCause::Abandoned, "abandoned", "stopped"),
        ];
        for (cause, reason, says) in causes {
            assert_eq!(cause.reason(), reason);
            assert!(cause.to_string().contains(says), "{cause}");
        }
    }
}
