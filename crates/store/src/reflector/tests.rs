//! The machine alone, in virtual time. Names carry the contract's number.

mod failures;
mod listing;
mod outages;
mod streaming;
mod watch_list;

use std::time::Duration;

use evenkeel_meta::{GroupResource, ResourceVersion, Status};
use evenkeel_pace::{Moment, Rng};

use super::*;

/// Plays the server's part, and spells what the machine asks for.
struct Harness {
    machine: Reflector,
    now: Moment,
    reports: Vec<String>,
}

type Given = Input<&'static str>;

impl Harness {
    fn new(options: ReflectorOptions) -> Self {
        Self {
            machine: Reflector::new(options, Rng::seeded(7)),
            now: Moment::from(Duration::from_secs(1000)),
            reports: Vec::new(),
        }
    }

    /// Lists only, and has been started.
    fn listing() -> (Self, Vec<String>) {
        Self::started(ReflectorOptions {
            watch_list: false,
            ..ReflectorOptions::default()
        })
    }

    /// Tries watch-lists, and has been started.
    fn watch_listing() -> (Self, Vec<String>) {
        Self::started(ReflectorOptions::default())
    }

    fn started(options: ReflectorOptions) -> (Self, Vec<String>) {
        let mut harness = Self::new(options);
        let asked = harness.feed(Input::Start);
        (harness, asked)
    }

    /// Lists only, and follows a watch that began at 10.
    fn following() -> Self {
        let (mut harness, _) = Self::listing();
        assert_eq!(harness.feed(page_end("10")), ["end 10", "WATCH rv=10"]);
        harness.feed(Input::Opened);
        harness
    }

    fn feed(&mut self, input: Given) -> Vec<String> {
        let mut actions = Vec::new();
        self.machine.handle(self.now, input, &mut actions);
        let mut spelled = Vec::new();
        for action in actions {
            match action {
                Action::Report(report) => self.reports.push(spell_report(&report)),
                action => spelled.push(spell(action)),
            }
        }
        spelled
    }

    fn pass_time(&mut self, seconds: f64) {
        self.now += Duration::from_secs_f64(seconds);
    }

    /// Waits for the deadline: how long that was, and what is done then.
    fn wait(&mut self) -> (f64, Vec<String>) {
        let due = self.machine.deadline().expect("a deadline");
        let waited = due - self.now;
        self.now = due;
        (waited.as_secs_f64(), self.feed(Input::Elapsed))
    }

    fn take_reports(&mut self) -> Vec<String> {
        std::mem::take(&mut self.reports)
    }
}

fn spell(action: Action<&'static str>) -> String {
    match action {
        Action::List(request) => {
            let mut text = "LIST".to_owned();
            if !request.resource_version.is_unset() {
                text += &format!(" rv={}", request.resource_version);
            }
            if let Some(limit) = request.limit {
                text += &format!(" limit={limit}");
            }
            if let Some(token) = request.continue_token {
                text += &format!(" continue={token}");
            }
            text
        }
        Action::Watch(request) if request.initial_events => {
            format!("WATCHLIST rv={}", request.resource_version)
        }
        Action::Watch(request) => format!("WATCH rv={}", request.resource_version),
        Action::HangUp => "hang up".into(),
        Action::BeginReplace => "begin".into(),
        Action::Item(item) => format!("item {item}"),
        Action::Change {
            kind,
            item,
            resource_version,
        } => {
            let sign = match kind {
                ChangeKind::Added => '+',
                ChangeKind::Modified => '*',
                ChangeKind::Deleted => '-',
            };
            match resource_version {
                Some(version) => format!("{sign}{item}@{version}"),
                None => format!("{sign}{item}"),
            }
        }
        Action::EndReplace {
            resource_version,
            rewound,
        } => format!(
            "end {resource_version}{}",
            if rewound { " rewound" } else { "" }
        ),
        Action::AbortReplace => "abort".into(),
        Action::Advance(version) => format!("at {version}"),
        Action::Report(_) => unreachable!("kept apart"),
    }
}

fn spell_report(report: &Report) -> String {
    match report {
        Report::Pass(cause) => format!("pass: {}", cause.as_str()),
        Report::Failed { step, failure } => format!("{} failed: {failure}", step.as_str()),
        Report::Recovered(step) => format!("{} works", step.as_str()),
        Report::StreamLost(_) => "stream lost".into(),
        Report::StreamFailed(failure) => format!("stream failed: {failure}"),
        Report::NoWatchList { failure } => format!("no watch-list: {failure}"),
        Report::Rewound { from, to } => format!("rewound: {from} to {to}"),
    }
}

fn version(text: &str) -> ResourceVersion {
    ResourceVersion::parse(text)
}

fn page_end(at: &str) -> Given {
    Input::PageEnd {
        resource_version: version(at),
        continue_token: None,
    }
}

fn page_end_to(at: &str, token: &str) -> Given {
    Input::PageEnd {
        resource_version: version(at),
        continue_token: Some(token.into()),
    }
}

fn changed(kind: ChangeKind, item: &'static str, at: &str) -> Given {
    Input::Changed {
        kind,
        item,
        resource_version: Some(version(at)),
    }
}

fn added(item: &'static str, at: &str) -> Given {
    changed(ChangeKind::Added, item, at)
}

fn modified(item: &'static str, at: &str) -> Given {
    changed(ChangeKind::Modified, item, at)
}

fn deleted(item: &'static str, at: &str) -> Given {
    changed(ChangeKind::Deleted, item, at)
}

fn bookmark(at: &str) -> Given {
    Input::Bookmark {
        resource_version: version(at),
        initial_events_end: false,
    }
}

fn marker(at: &str) -> Given {
    Input::Bookmark {
        resource_version: version(at),
        initial_events_end: true,
    }
}

fn pods() -> GroupResource {
    GroupResource {
        group: "".into(),
        resource: "pods".into(),
    }
}

fn expired() -> Failure {
    Status::expired("too old").into()
}

fn too_large() -> Failure {
    Status::too_large_resource_version(10, 5, 1).into()
}

fn forbidden() -> Failure {
    Status::forbidden(&pods(), "", "no").into()
}

fn internal() -> Failure {
    Status::internal("boom").into()
}

fn throttled(retry_after: u32) -> Failure {
    Failure {
        retry_after: (retry_after > 0).then(|| Duration::from_secs(retry_after.into())),
        ..Failure::new(FailureClass::Throttled, "slow down")
    }
}

fn refused() -> Failure {
    Failure::new(FailureClass::Unreachable, "connection refused")
}

fn lost() -> Failure {
    Failure::new(FailureClass::Lost, "connection reset")
}
