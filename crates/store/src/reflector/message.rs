use std::time::Duration;

use evenkeel_meta::ResourceVersion;

use super::Failure;

/// What happened. `T` is the object; the machine only passes it through.
#[derive(Clone, Debug)]
pub enum Input<T> {
    /// Begin. Comes once, first.
    Start,
    /// An object of the list under way.
    Item(T),
    /// A page of the list ends, or its only answer.
    PageEnd {
        /// The version that the list is the state of.
        resource_version: ResourceVersion,
        /// Where the next page goes on; `None` on the last one.
        continue_token: Option<String>,
    },
    /// The list, or the next page of it, failed.
    ListFailed(Failure),
    /// The watch was accepted: events will follow.
    Opened,
    /// The watch was not accepted.
    WatchFailed(Failure),
    /// An object was added, modified or deleted.
    Changed {
        /// Which of the three.
        kind: ChangeKind,
        /// The object.
        item: T,
        /// Its version.
        resource_version: Option<ResourceVersion>,
    },
    /// The server told how far it is.
    Bookmark {
        /// Everything up to this version has been sent.
        resource_version: ResourceVersion,
        /// Whether this is the marker that ends the initial events of a watch-list (WL4).
        initial_events_end: bool,
    },
    /// The server sent an error in the stream.
    ErrorEvent(Failure),
    /// The stream ended as streams do.
    Closed,
    /// The stream broke.
    Broken(Failure),
    /// The [`deadline`](super::Reflector::deadline) has passed.
    Elapsed,
}

/// What an event says about its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It has changed.
    Modified,
    /// It is gone; the event carries its last state.
    Deleted,
}

/// What to do about it.
#[derive(Clone, Debug)]
pub enum Action<T> {
    /// Send this list request. Replaces the request under way.
    List(ListRequest),
    /// Send this watch request. Replaces the request under way.
    Watch(WatchRequest),
    /// Give up the request under way.
    HangUp,
    /// A new list of the whole contents begins. What the one before it has put aside, if it was
    /// not ended, is dropped.
    BeginReplace,
    /// The object belongs to the new list.
    Item(T),
    /// An object changed: in the new list while there is one, otherwise in the contents.
    Change {
        /// How.
        kind: ChangeKind,
        /// The object.
        item: T,
        /// The version that the contents are the state of from now on; `None` leaves it alone.
        resource_version: Option<ResourceVersion>,
    },
    /// The new list is complete: it takes the place of the contents.
    EndReplace {
        /// The version that it is the state of.
        resource_version: ResourceVersion,
        /// Whether the versions began anew (B6).
        rewound: bool,
    },
    /// The new list will not be completed.
    AbortReplace,
    /// The contents are the state of this version too (R22).
    Advance(ResourceVersion),
    /// Something worth counting, showing or logging.
    Report(Report),
}

/// A list request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// Which state: unset, `0` for anything at hand, or not older than this.
    pub resource_version: ResourceVersion,
    /// Objects per page, or everything at once.
    pub limit: Option<u32>,
    /// Where the page before ended. The version is unset then (P2).
    pub continue_token: Option<String>,
}

/// A watch request. Bookmarks are always asked for (R15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// Changes after this version; for a watch-list, a state not older than it.
    pub resource_version: ResourceVersion,
    /// Whether this is a watch-list (WL2).
    pub initial_events: bool,
    /// When the server shall end it.
    pub timeout: Duration,
}

/// What to tell whoever looks after the reflector.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Report {
    /// The whole contents are about to be fetched.
    Pass(RelistCause),
    /// A request failed, and will be tried again at the deadline.
    Failed {
        /// Which one.
        step: Step,
        /// How.
        failure: Failure,
    },
    /// The step works: the list has answered, or the watch was accepted.
    Recovered(Step),
    /// A stream broke off in a way that needs no more than a new watch.
    StreamLost(Option<Failure>),
    /// An error in the stream makes a new list necessary.
    StreamFailed(Failure),
    /// The server or something before it does not do watch-lists for this resource; from now on
    /// the resource is listed (WL8, kube-rs D2). Comes once.
    NoWatchList {
        /// How that showed.
        failure: Failure,
    },
    /// The server's versions went backwards.
    Rewound {
        /// What was reached.
        from: ResourceVersion,
        /// What the server is at now.
        to: ResourceVersion,
    },
}

/// A step that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Getting the contents.
    List,
    /// Following their changes.
    Watch,
}

impl Step {
    /// The verb, as RBAC spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Watch => "watch",
        }
    }
}

/// Why the whole contents are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RelistCause {
    /// There are none yet.
    Start,
    /// The try before failed.
    Retry,
    /// The server has lost the history since our version (410).
    Expired,
    /// The server refused the watch, or sent an error in it.
    WatchError,
    /// A watch ended within a second, without an event.
    ShortWatch,
    /// A watch-list ended without its marker.
    NoMarker,
    /// The server's versions went backwards.
    Rewound,
}

impl RelistCause {
    /// The cause as a label value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Retry => "retry",
            Self::Expired => "expired",
            Self::WatchError => "watch_error",
            Self::ShortWatch => "short_watch",
            Self::NoMarker => "no_marker",
            Self::Rewound => "rewound",
        }
    }
}
