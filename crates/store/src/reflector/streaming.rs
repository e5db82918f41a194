use std::time::Duration;

use evenkeel_meta::ResourceVersion;
use evenkeel_pace::Moment;

use super::{
    Action, ChangeKind, Failure, FailureClass, Input, Reflector, ReflectorOptions, RelistCause,
    Report, State, Step, Then, WatchRequest,
};

/// A stream that ends sooner, and without an event, was never one (R19).
const SHORT_WATCH: Duration = Duration::from_secs(1);
/// The shortest range that watch time-outs are drawn from (R15).
const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(300);
/// Servers send a bookmark about every minute. A stream that lived longer and brought nothing at
/// all may have been asked for versions of another history (B6).
const SILENT_WATCH: Duration = Duration::from_secs(90);
/// Watch-lists without a marker, in a row, that a resource is forgiven (WL8, ours).
const MARKERLESS_MAX: u32 = 2;

/// A watch under way, or being opened.
#[derive(Debug)]
pub(super) struct Streaming {
    /// Whether the marker of a watch-list is still to come.
    initial: bool,
    /// What it was asked with.
    asked: ResourceVersion,
    opened: bool,
    /// When it was asked for, or when its marker came.
    since: Moment,
    /// When the last object came, or the request went out.
    last_object: Moment,
    /// Events since `since`, bookmarks included.
    events: u64,
    /// The stream began with the present state in no order: its versions mean nothing yet (R23).
    unordered: bool,
}

impl Streaming {
    pub(super) fn marker_deadline(&self, options: &ReflectorOptions) -> Option<Moment> {
        self.initial
            .then_some(self.last_object + options.marker_wait)
    }

    fn was_short(&self, now: Moment) -> bool {
        self.events == 0 && now - self.since < SHORT_WATCH
    }
}

impl Reflector {
    /// Asks for the present state and its changes in one stream (WL2).
    pub(super) fn watch_list<T>(&mut self, now: Moment, actions: &mut Vec<Action<T>>) {
        let version = match &self.last {
            Some(last) if !self.unavailable => last.clone(),
            _ => ResourceVersion::unset(),
        };
        actions.push(Action::BeginReplace);
        self.open(now, version, true, actions);
    }

    /// Goes on from the last version.
    pub(super) fn watch<T>(&mut self, now: Moment, actions: &mut Vec<Action<T>>) {
        let version = self.last.clone().unwrap_or_default();
        self.open(now, version, false, actions);
    }

    fn open<T>(
        &mut self,
        now: Moment,
        version: ResourceVersion,
        initial: bool,
        actions: &mut Vec<Action<T>>,
    ) {
        let least = self.options.min_watch_timeout.max(MIN_WATCH_TIMEOUT);
        let timeout = least.mul_f64(1.0 + self.rng.fraction());
        actions.push(Action::Watch(WatchRequest {
            resource_version: version.clone(),
            initial_events: initial,
            timeout: Duration::from_secs(timeout.as_secs()),
        }));
        self.last_watch = Some(now);
        self.state = State::Streaming(Streaming {
            initial,
            unordered: !initial && (version.is_unset() || version.is_any()),
            asked: version,
            opened: false,
            since: now,
            last_object: now,
            events: 0,
        });
    }

    pub(super) fn stream_input<T>(
        &mut self,
        now: Moment,
        input: Input<T>,
        actions: &mut Vec<Action<T>>,
    ) {
        let State::Streaming(streaming) = &mut self.state else {
            return;
        };
        let initial = streaming.initial;
        match input {
            Input::Opened => {
                streaming.opened = true;
                actions.push(Action::Report(Report::Recovered(Step::Watch)));
            }
            Input::Changed {
                kind,
                item,
                resource_version,
            } => {
                streaming.events += 1;
                streaming.last_object = now;
                let version = resource_version.filter(|_| streaming.advances(kind));
                if let Some(version) = &version {
                    self.last = Some(version.clone());
                    self.progressed = true;
                }
                actions.push(Action::Change {
                    kind,
                    item,
                    resource_version: version,
                });
            }
            Input::Bookmark {
                resource_version,
                initial_events_end,
            } => {
                streaming.events += 1;
                self.bookmark(now, resource_version, initial_events_end, actions);
            }
            Input::Closed | Input::Broken(_) => {
                let failure = match input {
                    Input::Broken(failure) => Some(failure),
                    _ => None,
                };
                if initial {
                    self.markerless_end(now, failure, actions);
                } else {
                    self.stream_ended(now, failure, actions);
                }
            }
            Input::ErrorEvent(failure) | Input::WatchFailed(failure) if initial => {
                self.watch_list_failed(now, failure, actions);
            }
            Input::WatchFailed(failure) => self.watch_failed(now, failure, actions),
            Input::ErrorEvent(failure) => self.error_event(now, failure, actions),
            Input::Start
            | Input::Item(_)
            | Input::PageEnd { .. }
            | Input::ListFailed(_)
            | Input::Elapsed => {}
        }
    }

    fn bookmark<T>(
        &mut self,
        now: Moment,
        version: ResourceVersion,
        marker: bool,
        actions: &mut Vec<Action<T>>,
    ) {
        let State::Streaming(streaming) = &mut self.state else {
            return;
        };
        if streaming.initial {
            if marker {
                // WL5: the same stream goes on; R19 counts from here.
                streaming.initial = false;
                streaming.since = now;
                streaming.events = 0;
                self.markerless = 0;
                self.suspect = None;
                self.synced(version, actions);
            }
            return;
        }
        streaming.unordered = false;
        if self.went_backwards(&version) {
            self.unavailable = true;
            actions.push(Action::HangUp);
            self.pause(now, Then::Pass(RelistCause::Rewound), None);
            return;
        }
        self.last = Some(version.clone());
        self.progressed = true;
        actions.push(Action::Advance(version));
    }

    /// A stream that follows changes ended, or broke.
    fn stream_ended<T>(
        &mut self,
        now: Moment,
        failure: Option<Failure>,
        actions: &mut Vec<Action<T>>,
    ) {
        let State::Streaming(streaming) = &self.state else {
            return;
        };
        let cut_off = failure
            .as_ref()
            .is_none_or(|failure| failure.class == FailureClass::Lost);
        let (short, silent) = (
            streaming.was_short(now),
            streaming.events == 0 && now - streaming.since >= SILENT_WATCH,
        );
        if !cut_off {
            // What came is no watch stream: an event may be lost (B16).
            self.stream_failed(now, failure, actions);
        } else if short && failure.is_none() {
            self.pause(now, Then::Pass(RelistCause::ShortWatch), None);
        } else if short {
            actions.push(Action::Report(Report::StreamLost(failure)));
            self.pause(now, Then::Watch, None);
        } else if silent {
            actions.push(Action::Report(Report::StreamLost(failure)));
            actions.push(Action::List(super::ListRequest {
                resource_version: ResourceVersion::unset(),
                limit: Some(1),
                continue_token: None,
            }));
            self.state = State::Probing;
        } else {
            actions.push(Action::Report(Report::StreamLost(failure)));
            self.watch_spaced(now, Then::Watch, actions);
        }
    }

    /// R18, ours: not sooner than the spacing after the last watch began.
    fn watch_spaced<T>(&mut self, now: Moment, then: Then, actions: &mut Vec<Action<T>>) {
        let until = self
            .last_watch
            .map_or(now, |last| last + self.options.watch_spacing);
        self.state = State::Waiting { until, then };
        self.elapsed(now, actions);
    }

    /// R17: an error in the stream.
    fn error_event<T>(&mut self, now: Moment, failure: Failure, actions: &mut Vec<Action<T>>) {
        actions.push(Action::HangUp);
        if failure.class == FailureClass::Throttled {
            self.pause(now, Then::Watch, Some(&failure));
            actions.push(Action::Report(Report::StreamLost(Some(failure))));
        } else {
            self.stream_failed(now, Some(failure), actions);
        }
    }

    fn stream_failed<T>(
        &mut self,
        now: Moment,
        failure: Option<Failure>,
        actions: &mut Vec<Action<T>>,
    ) {
        let cause = match &failure {
            Some(failure) if failure.class == FailureClass::Expired => self.expired(),
            _ => RelistCause::WatchError,
        };
        self.pause(now, Then::Pass(cause), failure.as_ref());
        if let Some(failure) = failure {
            actions.push(Action::Report(Report::StreamFailed(failure)));
        }
    }

    /// The server no longer knows what followed the contents. Where these are a list in pages, and nothing
    /// of what followed it came, the next list in pages may well be too old again.
    fn expired(&mut self) -> RelistCause {
        if let State::Streaming(streaming) = &self.state {
            let is_first = self.paged.as_ref() == Some(&streaming.asked);
            self.outpaced = is_first && streaming.events == 0;
        }
        RelistCause::Expired
    }

    /// R16: a watch was not accepted. A server that is away, or busy, has not lost our version.
    fn watch_failed<T>(&mut self, now: Moment, failure: Failure, actions: &mut Vec<Action<T>>) {
        let then = match failure.class {
            FailureClass::Throttled | FailureClass::Unreachable | FailureClass::Lost => Then::Watch,
            FailureClass::Expired => Then::Pass(self.expired()),
            _ => Then::Pass(RelistCause::WatchError),
        };
        self.pause(now, then, Some(&failure));
        if failure.class == FailureClass::Expired {
            actions.push(Action::Report(Report::StreamFailed(failure)));
        } else {
            actions.push(Action::Report(Report::Failed {
                step: Step::Watch,
                failure,
            }));
        }
    }

    /// WL6: an error before the marker, at the opening or in the stream.
    fn watch_list_failed<T>(
        &mut self,
        now: Moment,
        failure: Failure,
        actions: &mut Vec<Action<T>>,
    ) {
        let State::Streaming(streaming) = &self.state else {
            return;
        };
        let at_newest = streaming.asked.is_unset();
        actions.push(Action::HangUp);
        match failure.class {
            FailureClass::Expired | FailureClass::TooLargeVersion => {
                self.unavailable = true;
                if at_newest {
                    actions.push(Action::AbortReplace);
                    self.pause(now, Then::Pass(RelistCause::Expired), Some(&failure));
                } else {
                    self.watch_list(now, actions);
                }
            }
            FailureClass::Throttled | FailureClass::Unreachable => {
                actions.push(Action::AbortReplace);
                self.pause(now, Then::Pass(RelistCause::Retry), Some(&failure));
                actions.push(Action::Report(Report::Failed {
                    step: Step::Watch,
                    failure,
                }));
            }
            FailureClass::Refused => {
                self.suspect = Some(failure);
                self.list(self.list_version(), actions);
            }
            FailureClass::Lost | FailureClass::Other => {
                self.list(self.list_version(), actions);
            }
        }
    }

    /// A watch-list ended without its marker (WL8, ours).
    fn markerless_end<T>(
        &mut self,
        now: Moment,
        failure: Option<Failure>,
        actions: &mut Vec<Action<T>>,
    ) {
        let State::Streaming(streaming) = &self.state else {
            return;
        };
        let short = failure.is_none() && streaming.was_short(now);
        self.markerless += 1;
        if self.markerless >= MARKERLESS_MAX {
            self.suspect = Some(failure.unwrap_or_else(|| {
                Failure::new(FailureClass::Other, "watch-lists end without their marker")
            }));
            self.list(self.list_version(), actions);
        } else if short {
            self.list(self.list_version(), actions);
        } else {
            actions.push(Action::AbortReplace);
            self.watch_spaced(now, Then::Pass(RelistCause::NoMarker), actions);
        }
    }

    /// Incident antrea#8123: the stream stays open and the marker never comes.
    pub(super) fn marker_overdue<T>(&mut self, now: Moment, actions: &mut Vec<Action<T>>) {
        let State::Streaming(streaming) = &self.state else {
            return;
        };
        // A head that never came says nothing about watch-lists.
        if streaming.opened {
            self.suspect = Some(Failure::new(
                FailureClass::Other,
                format!(
                    "no marker in a watch-list {:?} after its last object",
                    now - streaming.last_object
                ),
            ));
        }
        actions.push(Action::HangUp);
        self.list(self.list_version(), actions);
    }
}

impl Streaming {
    /// Whether an event's version is how far the stream is (R23).
    fn advances(&mut self, kind: ChangeKind) -> bool {
        if self.initial {
            return false;
        }
        if kind != ChangeKind::Added {
            self.unordered = false;
        }
        !self.unordered
    }
}
