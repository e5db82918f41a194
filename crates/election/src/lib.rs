//! Leader election on a Kubernetes Lease with fencing, interoperable with client-go.
//!
//! One of several processes leads; the others stand by and take over when it ends or dies.
//!
//! **When to use it:** a control loop, a scheduler or any other work that must run in one
//! process at a time, where the writes that it makes can carry a fence. **When not:** the
//! work must be *exactly* once even if a write that was sent is late by more than the fence's
//! margin; then the writes themselves need preconditions, election or not.
//!
//! ```
//! use evenkeel_apiserver::Server;
//! use evenkeel_client::Client;
//! use evenkeel_election::{CancellationToken, Elector, Ended, Term};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A real cluster: `Client::connect(&Config::infer()?)?`.
//! let client = Client::from_service(Server::new());
//! let elector = Elector::builder(client).lease("default", "my-loop").build()?;
//!
//! let cancel = CancellationToken::new(); // cancelled on SIGTERM
//! let mut rounds = 0;
//! let ended = elector
//!     .run(&cancel, async |term: Term| {
//!         while !term.stop().is_cancelled() && term.fence().check().is_ok() {
//!             rounds += 1; // the work: here it holds that nobody else does it
//!             if rounds == 3 {
//!                 cancel.cancel();
//!             }
//!             tokio::task::yield_now().await;
//!         }
//!     })
//!     .await;
//! assert_eq!(ended, Ended::Released);
//! assert_eq!(rounds, 3);
//! # Ok(())
//! # }
//! ```
//!
//! [`Elector::run`] does everything in the right order, and [`Elector::run_or_die`] is the same
//! for a `main` of five lines. [`Elector::campaign`] hands out a
//! [`Leadership`] for callers with an order of their own. [`machine`] is the election without
//! any I/O, for another runtime or another lock.
//!
//! # Guarantees
//!
//! - Candidates of this crate and of client-go (the Kubernetes components', controller-runtime's)
//!   may compete for one Lease: same record, same timing, same compare-and-swap.
//! - A [`Fence`] is open only while no rival can have begun: until the *send* of the last good
//!   renewal + lease - margin, on a clock that runs through suspend. A [`FencedTransport`]
//!   starts no write outside it and gives up what is not answered within it. So a process that
//!   was stopped (SIGSTOP, a paused VM, a laptop's lid) writes nothing when it goes on.
//! - Losing the lead closes the fence and stops the work before any rival may begin; the Lease
//!   is given back only after the work has ended, and only if a fresh reading still says so.
//! - A standby watches the Lease: a released one changes hands in milliseconds, and a leader
//!   sees its successor at once. Without a watch (not permitted, broken, silent) a timer does
//!   what client-go does.
//!
//! # What is not guaranteed
//!
//! A write that left this process before its fence closed can reach the server later; no
//! client can call it back. The margin (3 s by default) is the time for it, and for clocks
//! that run at different rates. What comes later still, only a precondition catches: a PUT
//! with a resource version conflicts if the next leader has touched the object, a DELETE with
//! a UID spares the successor of the same name. A creation has no precondition: give it a
//! name that follows from its cause.
//!
//! Deleting the Lease while somebody leads lets a *newly started* candidate take the lead at
//! once; the old leader notices with its watch. Candidates that saw the holder wait for it.
//!
//! # Requests
//!
//! A leader sends one PUT each retry period (2 s) and holds one watch. A standby holds one
//! watch and sends nothing, or without a watch one GET each retry period, jittered up to 2.2
//! times. The verbs that a role needs on its Lease: `get`, `create`, `update`, `watch`.
//!
//! # Compared with client-go's leaderelection
//!
//! It also validates that the lease is whole seconds and longer than renew deadline + retry
//! period; takes a foreign holder for the end of the lead at once, not after the deadline;
//! compares records with their microseconds; never blanks a rival's Lease; and counts the
//! leading status as 0 whichever way the lead ends.

mod announcement;
mod candidate;
mod clock;
mod driver;
mod elector;
mod fence;
mod identity;
mod leadership;
mod lease;
mod lock;
pub mod machine;
mod metrics;
mod status;
mod timing;

pub use announcement::Announcement;
pub use candidate::{CandidateSpec, LeaseCandidate};
pub use clock::Clock;
pub use elector::{BuildError, Elector, ElectorBuilder, Ended, LostLead, NotElected};
pub use fence::{Fence, FenceCell, FenceExpired, FencedTransport};
pub use identity::{identity, unique_identity};
pub use leadership::{Leadership, Term};
pub use lease::{Lease, LeaseRecord, MalformedLease};
pub use lock::{Legacy, Lock, UnknownLock};
pub use machine::{LossCause, Resignation};
pub use status::{LeaderWatch, StaleLeader};
pub use timing::{InvalidTiming, Timing};
pub use tokio_util::sync::CancellationToken;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
