use super::*;

fn occurrence(name: &str, note: &str) -> SeriesOccurrence {
    SeriesOccurrence {
        regarding: ObjectReference {
            kind: "Pod".into(),
            namespace: "ns".into(),
            name: name.into(),
            ..ObjectReference::default()
        },
        related: None,
        event_type: EventType::Warning,
        reason: "FailedScheduling".into(),
        action: "Scheduling".into(),
        note: note.into(),
        controller: "scheduler".into(),
        instance: "scheduler-host".into(),
    }
}

fn at(minutes: u64) -> Moment {
    Moment::from(Duration::from_secs(60 * minutes))
}

fn report(cache: &mut SeriesCache, what: &SeriesOccurrence, minutes: u64) -> Vec<SeriesEvent> {
    let wall = Timestamp::from_second(1_000 + 60 * i64::try_from(minutes).unwrap());
    cache.report(what, at(minutes), wall)
}

fn count(events: &[SeriesEvent]) -> Option<i32> {
    let [event] = events else {
        panic!("{events:?}");
    };
    event.series.map(|series| series.count)
}

#[test]
fn ts83_e6_the_second_makes_a_series_and_later_ones_are_only_counted() {
    let mut cache = SeriesCache::new(at(0));
    let first = report(&mut cache, &occurrence("web", "no nodes"), 0);
    assert_eq!(count(&first), None);
    let second = report(&mut cache, &occurrence("web", "another note"), 1);
    assert_eq!(count(&second), Some(2));
    assert_eq!(second[0].metadata.name, first[0].metadata.name);
    assert_eq!(second[0].note, "no nodes");
    assert!(report(&mut cache, &occurrence("web", ""), 2).is_empty());
    let other = report(&mut cache, &occurrence("db", ""), 2);
    assert_eq!(count(&other), None, "another object");
    let mut differs = occurrence("web", "");
    differs.action = "Binding".into();
    assert_eq!(count(&report(&mut cache, &differs, 2)), None);
    differs.related = Some(ObjectReference::default());
    assert_eq!(count(&report(&mut cache, &differs, 2)), None);
    differs.instance = "scheduler-other".into();
    assert_eq!(count(&report(&mut cache, &differs, 2)), None);
}

#[test]
fn ts83_e6_a_series_is_written_when_it_has_been_quiet_for_six_minutes_and_then_over() {
    let mut cache = SeriesCache::new(at(0));
    for minutes in [0, 1, 2] {
        report(&mut cache, &occurrence("web", ""), minutes);
    }
    report(&mut cache, &occurrence("once", ""), 2);
    assert_eq!(cache.wake_at(), at(6));
    assert!(cache.tick(at(6)).is_empty(), "not quiet for long enough");
    assert_eq!(
        count(&cache.tick(at(12))),
        Some(3),
        "the other has no series"
    );
    let anew = report(&mut cache, &occurrence("web", ""), 12);
    assert_eq!(count(&anew), None);
}

#[test]
fn ts83_e6_counts_are_written_every_thirty_minutes() {
    let mut cache = SeriesCache::new(at(0));
    let mut written = Vec::new();
    for minutes in 0..=60 {
        if at(minutes) >= cache.wake_at() {
            written.extend(cache.tick(at(minutes)).iter().map(|event| event.series));
        }
        report(&mut cache, &occurrence("web", ""), minutes);
    }
    let counts: Vec<_> = written.iter().map(|series| series.unwrap().count).collect();
    assert_eq!(counts, [30, 60]);
    assert_eq!(count(&cache.close()), Some(61), "and at the end");
}

#[test]
fn e6_memory_is_bounded_and_what_makes_room_is_written() {
    let mut cache = SeriesCache::new(at(0));
    for _ in 0..3 {
        report(&mut cache, &occurrence("first", ""), 0);
    }
    let mut written = 0;
    for index in 0..MEMORY {
        written += report(&mut cache, &occurrence(&format!("pod-{index}"), ""), 0).len();
    }
    assert_eq!(written, MEMORY + 1);
    assert_eq!(cache.running.values().count(), MEMORY);
}
