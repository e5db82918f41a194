use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::Lock;

/// Something that operators look for in the cluster's events: who became leader, and who
/// stopped (client-go L9, L10).
///
/// This crate writes no events: give [`ElectorBuilder::announce`](crate::ElectorBuilder::announce)
/// a function that does, such as one that calls `evenkeel_events::Recorder`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Announcement {
    /// API version of the object that the event is about: the Lease, or a legacy lock's object.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
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

    /// One announcement an object of the lock (client-go L22, L23).
    pub(crate) fn announce(&self, lock: Lock, namespace: &str, name: &str, message: &str) {
        let Some(announce) = &self.0 else {
            return;
        };
        for object in lock.objects() {
            let announcement = Announcement {
                api_version: object.api_version().into_owned(),
                kind: object.kind.into_owned(),
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                message: message.to_owned(),
            };
            // A term begins and ends as a whole, whatever those say who are told of it.
            if catch_unwind(AssertUnwindSafe(|| announce(announcement))).is_err() {
                tracing::error!(namespace, name, message, "an announcement panicked");
            }
        }
    }
}

impl fmt::Debug for Announcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Announcer").field(&self.0.is_some()).finish()
    }
}
