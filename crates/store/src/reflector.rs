//! What to ask of a server, and when, so that a store follows one of its collections.
//!
//! [`Reflector`] is a state machine without I/O: it takes [`Input`]s (a page of a list, a watch
//! event, an error, "the deadline has passed") with the time they came at, and answers with
//! [`Action`]s (list, watch, hang up, change the store). It reads no clock, spawns nothing and
//! logs nothing, so every schedule of events can be replayed in a test. The informers of this
//! crate drive it over [`evenkeel_client`]; drive it yourself to mirror a collection into
//! something that is no [`Store`](crate::Store).
//!
//! The protocol, with the contracts of client-go that it keeps (R, WL, P) and where it differs:
//!
//! - The first contents come as a watch-list (one stream: the present state, a marker, then
//!   changes). Where a server or a proxy does not do those, it lists, and remembers that (WL8,
//!   kube-rs D2).
//! - Lists ask for "anything at hand" first, then for "not older than what I have", and for "the
//!   most recent" only after the server said that it has lost, or not yet got, that version (R7-R11).
//! - A watch that ends is taken up where it ended. Only what invalidates the position leads to a
//!   new list: 410 (in the stream or at its opening), an error event, a nonsensical stream.
//! - Every wait has jitter, every loop a wait. The backoff starts again only after two minutes
//!   that began with progress and held no failure (R2, R3, kube-rs D5).
//! - Versions that go backwards mean another history, such as a restored backup: the contents are
//!   listed anew (B6).

mod failure;
mod listing;
mod message;
mod options;
mod streaming;
#[cfg(test)]
mod tests;

pub use self::failure::{Failure, FailureClass};
pub use self::message::{
    Action, ChangeKind, Input, ListRequest, RelistCause, Report, Step, WatchRequest,
};
pub use self::options::ReflectorOptions;

use std::time::Duration;

use evenkeel_meta::ResourceVersion;
use evenkeel_pace::{Backoff, Moment, Rng};

use self::listing::Listing;
use self::streaming::Streaming;

/// A pause in which nothing failed, after progress was made, ends an outage (R3, ours).
const QUIET: Duration = Duration::from_secs(120);

/// Mirrors one collection; see the [module](self).
///
/// At any time at most one request is under way. An [`Action`] that starts one replaces the one
/// before, and an input must belong to the last one that was started.
#[derive(Debug)]
pub struct Reflector {
    options: ReflectorOptions,
    rng: Rng,
    backoff: Backoff,
    /// When the wait that follows the last failure ends.
    quiet_from: Moment,
    /// Whether anything got better since the last failure.
    progressed: bool,
    state: State,
    /// The version that the contents are the state of.
    last: Option<ResourceVersion>,
    /// The server could not serve `last`: ask for the most recent state (R8).
    unavailable: bool,
    /// A list from "anything at hand" came in pages: the server has no watch cache (R10).
    pages_at_hand: bool,
    /// The version of the last list that came in pages.
    paged: Option<ResourceVersion>,
    /// That list was too old for a watch when its last page came: the next one is asked for whole
    /// (kube-rs 11).
    outpaced: bool,
    /// Watch-lists in a row that ended without their marker.
    markerless: u32,
    /// A watch-list was refused or left hanging; if the list now works, it is at fault.
    suspect: Option<Failure>,
    last_watch: Option<Moment>,
}

#[derive(Debug)]
enum State {
    Idle,
    Waiting {
        until: Moment,
        then: Then,
    },
    Listing(Listing),
    Streaming(Streaming),
    /// Asks for the present version alone, to see whether it went backwards (B6).
    Probing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// Get the whole contents.
    Pass(RelistCause),
    /// Go on from `last`.
    Watch,
}

impl Reflector {
    /// A machine that waits for [`Input::Start`].
    #[must_use]
    pub fn new(options: ReflectorOptions, rng: Rng) -> Self {
        let backoff = options.backoff.clone();
        Self {
            options,
            rng,
            backoff,
            quiet_from: Moment::ORIGIN,
            progressed: true,
            state: State::Idle,
            last: None,
            unavailable: false,
            pages_at_hand: false,
            paged: None,
            outpaced: false,
            markerless: 0,
            suspect: None,
            last_watch: None,
        }
    }

    /// Takes what happened at `now` and appends what to do about it, in order.
    ///
    /// An input that does not fit the request under way is ignored.
    pub fn handle<T>(&mut self, now: Moment, input: Input<T>, actions: &mut Vec<Action<T>>) {
        match input {
            Input::Start => {
                if matches!(self.state, State::Idle) {
                    self.begin_pass(now, RelistCause::Start, actions);
                }
            }
            Input::Elapsed => self.elapsed(now, actions),
            Input::Item(item) => {
                if matches!(self.state, State::Listing(_)) {
                    actions.push(Action::Item(item));
                }
            }
            Input::PageEnd {
                resource_version,
                continue_token,
            } => match self.state {
                State::Listing(_) => {
                    self.page_end(now, resource_version, continue_token, actions);
                }
                State::Probing => self.probed(now, &resource_version, actions),
                _ => {}
            },
            Input::ListFailed(failure) => match self.state {
                State::Listing(_) => self.list_failed(now, failure, actions),
                State::Probing => self.pause(now, Then::Watch, Some(&failure)),
                _ => {}
            },
            input => self.stream_input(now, input, actions),
        }
    }

    /// When [`Input::Elapsed`] is due, if nothing else comes before.
    #[must_use]
    pub fn deadline(&self) -> Option<Moment> {
        match &self.state {
            State::Waiting { until, .. } => Some(*until),
            State::Streaming(streaming) => streaming.marker_deadline(&self.options),
            State::Idle | State::Listing(_) | State::Probing => None,
        }
    }

    /// The version that the contents are the state of, once there are contents (R26).
    #[must_use]
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.last.as_ref()
    }

    /// Whether the next pass tries a watch-list.
    #[must_use]
    pub fn uses_watch_list(&self) -> bool {
        self.options.watch_list
    }

    /// Lists from the next pass on: somebody else found out that the resource has no watch-lists.
    pub fn avoid_watch_list(&mut self) {
        self.options.watch_list = false;
    }

    fn elapsed<T>(&mut self, now: Moment, actions: &mut Vec<Action<T>>) {
        if self.deadline().is_none_or(|due| now < due) {
            return;
        }
        match self.state {
            State::Waiting { then, .. } => match then {
                Then::Pass(cause) => self.begin_pass(now, cause, actions),
                Then::Watch => self.watch(now, actions),
            },
            State::Streaming(_) => self.marker_overdue(now, actions),
            State::Idle | State::Listing(_) | State::Probing => {}
        }
    }

    /// Gets the whole contents anew.
    fn begin_pass<T>(&mut self, now: Moment, cause: RelistCause, actions: &mut Vec<Action<T>>) {
        actions.push(Action::Report(Report::Pass(cause)));
        if self.options.watch_list {
            self.watch_list(now, actions);
        } else {
            self.list(self.list_version(), actions);
        }
    }

    /// What the next list asks for (R7).
    fn list_version(&self) -> ResourceVersion {
        match &self.last {
            _ if self.unavailable => ResourceVersion::unset(),
            Some(last) => last.clone(),
            None => ResourceVersion::any(),
        }
    }

    /// The contents are whole and the state of `version`.
    fn synced<T>(&mut self, version: ResourceVersion, actions: &mut Vec<Action<T>>) {
        let rewound = self.went_backwards(&version);
        if rewound {
            actions.push(Action::Report(Report::Rewound {
                from: self.last.clone().unwrap_or_default(),
                to: version.clone(),
            }));
        }
        actions.push(Action::EndReplace {
            resource_version: version.clone(),
            rewound,
        });
        self.last = Some(version);
        self.unavailable = false;
        self.progressed = true;
    }

    fn went_backwards(&self, version: &ResourceVersion) -> bool {
        self.last
            .as_ref()
            .and_then(|last| version.order(last))
            .is_some_and(std::cmp::Ordering::is_lt)
    }

    /// The answer of a probe. A watch from a version that the server has yet to reach is accepted
    /// and silent, so nothing else would tell (B6).
    fn probed<T>(&mut self, now: Moment, version: &ResourceVersion, actions: &mut Vec<Action<T>>) {
        if self.went_backwards(version) {
            self.unavailable = true;
            self.pause(now, Then::Pass(RelistCause::Rewound), None);
        } else {
            self.watch(now, actions);
        }
    }

    /// Waits for the backoff, or longer if the server said so: up to a quarter more than it said.
    fn pause(&mut self, now: Moment, then: Then, failure: Option<&Failure>) {
        if self.progressed && now >= self.quiet_from + QUIET {
            self.backoff.reset();
        }
        self.progressed = false;
        let asked = failure.and_then(|failure| failure.retry_after);
        // All who are told the same must not come back at the same time.
        let asked = asked.unwrap_or_default();
        let asked = asked.mul_f64(1.0 + self.rng.fraction() / 4.0);
        let wait = self.backoff.next(&mut self.rng).max(asked);
        self.quiet_from = now + wait;
        self.state = State::Waiting {
            until: now + wait,
            then,
        };
    }
}
