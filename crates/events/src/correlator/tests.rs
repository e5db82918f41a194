use std::time::Duration;

use super::*;

fn occurrence(message: &str) -> Occurrence {
    Occurrence {
        regarding: ObjectReference {
            kind: "Pod".into(),
            namespace: "ns".into(),
            name: "web".into(),
            uid: "u".into(),
            api_version: "v1".into(),
            ..ObjectReference::default()
        },
        event_type: EventType::Normal,
        reason: "Killing".into(),
        message: message.into(),
        source: Arc::new(Source {
            component: "kubelet".into(),
            host: "node".into(),
        }),
    }
}

/// A correlator with its clock.
struct Desk {
    correlator: Correlator,
    now: u64,
}

impl Desk {
    fn new() -> Self {
        Self {
            correlator: Correlator::new(SpamFilter::default()),
            now: 0,
        }
    }

    fn report(&mut self, occurrence: &Occurrence) -> Option<Event> {
        let moment = Moment::from(Duration::from_secs(self.now));
        let wall = Timestamp::from_second(1_000 + i64::try_from(self.now).unwrap());
        let correlated = self.correlator.correlate(occurrence, moment, wall);
        correlated.map(|correlated| correlated.event)
    }

    /// The last of `count` reports, `spacing` seconds apart.
    fn report_each(
        &mut self,
        count: u64,
        spacing: u64,
        occurrence: impl Fn(u64) -> Occurrence,
    ) -> Option<Event> {
        let mut last = None;
        for index in 0..count {
            last = self.report(&occurrence(index));
            self.now += spacing;
        }
        last
    }
}

#[test]
fn ts80_e4_the_same_event_again_counts_up_under_its_first_name() {
    let mut desk = Desk::new();
    let first = desk.report(&occurrence("stopped")).unwrap();
    assert_eq!(first.count, 1);
    desk.now = 30;
    let second = desk.report(&occurrence("stopped")).unwrap();
    assert_eq!(second.count, 2);
    assert_eq!(second.metadata.name, first.metadata.name);
    assert_eq!(second.first_timestamp, first.first_timestamp);
    assert_eq!(second.last_timestamp, Some(Timestamp::from_second(1_030)));
    let last = desk.report_each(9, 30, |_| occurrence("stopped")).unwrap();
    assert_eq!(
        (last.count, last.message.as_str()),
        (11, "stopped"),
        "not aggregated"
    );
}

#[test]
fn ts80_e2_one_object_may_say_25_things_at_once_and_one_more_every_300_s() {
    let mut desk = Desk::new();
    assert!(desk.report_each(25, 0, |_| occurrence("stopped")).is_some());
    assert_eq!(desk.report(&occurrence("stopped")), None);
    assert_eq!(desk.report(&occurrence("another message")), None);
    let warning = Occurrence {
        event_type: EventType::Warning,
        ..occurrence("stopped")
    };
    assert!(
        desk.report(&warning).is_some(),
        "a warning has its own allowance"
    );
    desk.now += 300;
    let next = desk.report(&occurrence("stopped")).unwrap();
    assert_eq!(next.count, 27, "what was not written was counted");
    assert_eq!(desk.report(&occurrence("stopped")), None);

    let mut desk = Desk::new();
    assert_eq!(desk.report_each(27, 1, |_| occurrence("stopped")), None);
}

#[test]
fn b30_the_allowance_may_be_per_reason() {
    let filter = SpamFilter {
        scope: SpamScope::ObjectAndReason,
        ..SpamFilter::default()
    };
    let mut desk = Desk {
        correlator: Correlator::new(filter),
        now: 0,
    };
    assert!(desk.report_each(26, 0, |_| occurrence("stopped")).is_none());
    let important = Occurrence {
        reason: "OOM".into(),
        ..occurrence("stopped")
    };
    assert!(desk.report(&important).is_some());
}

#[test]
fn ts80_e3_from_the_tenth_message_on_similar_events_are_one() {
    let mut desk = Desk::new();
    let ninth = desk
        .report_each(9, 30, |n| occurrence(&format!("stopped {n}")))
        .unwrap();
    assert_eq!(ninth.message, "stopped 8");
    let tenth = desk.report(&occurrence("stopped 9")).unwrap();
    assert_eq!(tenth.message, "(combined from similar events): stopped 9");
    assert_eq!(tenth.count, 1);
    assert_eq!(tenth.reporting_component, "", "kcm C5");
    assert_eq!(tenth.source.component, "kubelet");
    desk.now += 30;
    let next = desk.report(&occurrence("stopped 10")).unwrap();
    assert_eq!(next.message, "(combined from similar events): stopped 10");
    assert_eq!((next.count, next.metadata.name), (2, tenth.metadata.name));
}

#[test]
fn ts80_e3_messages_that_are_600_s_apart_are_not_combined() {
    let mut desk = Desk::new();
    let last = desk
        .report_each(12, 600, |n| occurrence(&format!("stopped {n}")))
        .unwrap();
    assert_eq!((last.message.as_str(), last.count), ("stopped 11", 1));
}

#[test]
fn ts80_another_container_is_another_event() {
    let mut desk = Desk::new();
    let app = |path: &str| Occurrence {
        regarding: occurrence("")
            .regarding
            .field(format!("spec.containers{{{path}}}")),
        ..occurrence("stopped")
    };
    assert_eq!(desk.report(&app("a")).unwrap().count, 1);
    assert_eq!(desk.report(&app("b")).unwrap().count, 1);
    assert_eq!(desk.report(&app("a")).unwrap().count, 2);
}

#[test]
fn a_new_state_of_the_object_does_not_begin_a_new_event() {
    let mut desk = Desk::new();
    let at = |version: &str| {
        let mut occurrence = occurrence("stopped");
        occurrence.regarding.resource_version = version.into();
        occurrence
    };
    desk.report(&at("1")).unwrap();
    assert_eq!(desk.report(&at("2")).unwrap().count, 2);
}

#[test]
fn memory_is_bounded() {
    let mut desk = Desk::new();
    for index in 0..10_000 {
        let mut occurrence = occurrence(&format!("{index}"));
        occurrence.regarding.name = format!("{index}");
        desk.report(&occurrence);
    }
    let mut first = occurrence("0");
    first.regarding.name = "0".into();
    assert_eq!(desk.report(&first).unwrap().count, 1, "forgotten");
}
