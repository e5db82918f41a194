//! Leader election on a Kubernetes Lease with fencing, interoperable with client-go.

mod announcement;
mod clock;
mod driver;
mod elector;
mod fence;
mod identity;
mod leadership;
mod lease;
pub mod machine;
mod metrics;
mod status;
mod timing;

pub use announcement::Announcement;
pub use clock::Clock;
pub use elector::{BuildError, Elector, ElectorBuilder, Ended, NotElected};
pub use fence::{Fence, FenceCell, FenceExpired, FencedTransport};
pub use identity::{identity, unique_identity};
pub use leadership::{Leadership, Term};
pub use lease::{Lease, LeaseRecord, MalformedLease};
pub use machine::{LossCause, Resignation};
pub use status::{LeaderWatch, StaleLeader};
pub use timing::{InvalidTiming, Timing};
