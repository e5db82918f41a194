use std::time::Duration;

use evenkeel_meta::{MetaView, Object, ResourceVersion};
use evenkeel_pace::Moment;

use super::WatchEvent;
use crate::error::{Error, WatchError};

/// Watches begin at least this far apart (client-go TW1).
const SPACING: Duration = Duration::from_secs(1);

/// Where a watch that ended is taken up, when, and whether at all (client-go TW1, TW2). Knows
/// no network and no clock.
#[derive(Debug)]
pub(super) struct Resume {
    position: ResourceVersion,
    last_start: Option<Moment>,
    /// What the server asked for before the next start.
    pause: Duration,
}

/// What becomes of one event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The caller gets it.
    Pass,
    /// The caller gets it, and nothing more.
    Last,
    /// Nobody needs it.
    Skip,
    /// The watch is over, and begins anew.
    Again,
    /// It has no resource version: going on could skip what lies between.
    Lost,
}

impl Resume {
    pub(super) fn new(position: ResourceVersion) -> Self {
        Self {
            position,
            last_start: None,
            pause: Duration::ZERO,
        }
    }

    pub(super) fn position(&self) -> &ResourceVersion {
        &self.position
    }

    /// When the next watch may begin, if one ended at `now`.
    pub(super) fn next_start(&mut self, now: Moment) -> Moment {
        let asked = now + std::mem::take(&mut self.pause);
        match self.last_start {
            None => asked,
            Some(start) => asked.max(start + SPACING),
        }
    }

    pub(super) fn started(&mut self, now: Moment) {
        self.last_start = Some(now);
    }

    pub(super) fn event<K: Object>(&mut self, event: &WatchEvent<K>) -> Step {
        match event {
            WatchEvent::Added(object)
            | WatchEvent::Modified(object)
            | WatchEvent::Deleted(object) => {
                self.moved(object.metadata().resource_version(), Step::Pass)
            }
            WatchEvent::Undecodable { metadata, .. } => {
                let version = metadata.metadata.resource_version();
                self.moved(version, Step::Pass)
            }
            WatchEvent::Bookmark {
                resource_version, ..
            } => self.moved(Some(resource_version.clone()), Step::Skip),
            WatchEvent::Error(status) if status.is_expired() => Step::Last,
            WatchEvent::Error(status) => {
                self.pause = status.retry_after().unwrap_or_default();
                Step::Again
            }
        }
    }

    /// A version is taken as it comes: one below the last is where the server now is.
    fn moved(&mut self, version: Option<ResourceVersion>, step: Step) -> Step {
        match version.filter(|version| !version.is_unset()) {
            Some(version) => {
                self.position = version;
                step
            }
            None => Step::Lost,
        }
    }

    /// Whether a stream that broke is taken up again.
    pub(super) fn survives(error: &WatchError) -> bool {
        matches!(error, WatchError::Transport { .. })
    }

    /// Whether a refused opening is tried again.
    ///
    /// A version that is gone does not come back, so 410 is final here; client-go asks for it
    /// each second for ever (client-go TW2, B26).
    pub(super) fn survives_refusal(&mut self, error: &Error) -> bool {
        self.pause = error.retry_after().unwrap_or_default();
        let is_final = error.is_expired()
            || error.is_unauthorized()
            || error.is_forbidden()
            || matches!(error, Error::Request(_));
        !is_final
    }
}
