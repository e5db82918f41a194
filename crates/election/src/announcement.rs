use std::fmt;
use std::sync::Arc;

/// Something that operators look for in the cluster's events: who became leader, and who
/// stopped (client-go L9, L10).
///
/// This crate writes no events: give [`ElectorBuilder::announce`](crate::ElectorBuilder::announce)
/// a function that does, such as one that calls `evenkeel_events::Recorder`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Announcement {
    /// Namespace of the Lease, which the event is about.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// `<identity> became leader` or `<identity> stopped leading`.
    pub message: String,
}

impl Announcement {
    /// The events' reason.
    pub const REASON: &'static str = "LeaderElection";
}

/// The function that was given; none by default.
#[derive(Clone, Default)]
pub(crate) struct Announcer(Option<Arc<dyn Fn(Announcement) + Send + Sync>>);

impl Announcer {
    pub(crate) fn new(announce: impl Fn(Announcement) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(announce)))
    }

    pub(crate) fn announce(&self, namespace: &str, name: &str, message: String) {
        if let Some(announce) = &self.0 {
            announce(Announcement {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                message,
            });
        }
    }
}

impl fmt::Debug for Announcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Announcer").field(&self.0.is_some()).finish()
    }
}
