use evenkeel_meta::{Meta, Metadata, Uid};

use super::*;

fn object(name: &str, uid: &str, version: u64) -> Arc<Metadata> {
    let metadata = Meta {
        name: name.into(),
        uid: Some(Uid::from(uid)),
        resource_version: Some(version.into()),
        ..Meta::default()
    };
    Arc::new(metadata.into())
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::cluster(name)
}

fn added(object: Arc<Metadata>) -> Event<Metadata> {
    Event::Added {
        object,
        initial: false,
    }
}

fn drain(pending: &mut Pending<Metadata>) -> Vec<String> {
    std::iter::from_fn(|| pending.pop())
        .map(|(key, event)| {
            let version = |object: &Arc<Metadata>| object.metadata.resource_version().unwrap();
            match event {
                Event::Added { object, .. } => format!("{key}+{}", version(&object)),
                Event::Updated { old, new } => format!("{key} {}>{}", version(&old), version(&new)),
                Event::Deleted(Deletion::Final(last)) => format!("{key}-{}", version(&last)),
                Event::Deleted(Deletion::Unknown { last_known }) => {
                    format!(
                        "{key}~{}",
                        last_known.as_ref().map(version).unwrap_or_default()
                    )
                }
            }
        })
        .collect()
}

#[test]
fn b9_a_million_updates_of_a_hundred_objects_wait_in_a_hundred_entries() {
    let mut pending = Pending::default();
    for n in 0..1_000_000u64 {
        let name = format!("o{}", n % 100);
        let (old, new) = (object(&name, "u", n), object(&name, "u", n + 100));
        pending.push(&key(&name), Event::Updated { old, new });
    }
    assert_eq!(pending.len(), 100);
    // First old, last new.
    assert_eq!(drain(&mut pending)[0], "o0 0>1000000");
    assert_eq!(pending.len(), 0);
}

#[test]
fn b9_objects_that_came_and_went_unseen_leave_nothing() {
    let mut pending = Pending::default();
    for n in 0..10_000 {
        let name = format!("o{n}");
        pending.push(&key(&name), added(object(&name, "u", 1)));
        let last = object(&name, "u", 2);
        pending.push(&key(&name), Event::Deleted(Deletion::Final(last)));
    }
    assert_eq!((pending.len(), pending.places.len()), (0, 0));
}

#[test]
fn b4_a_new_object_under_an_old_name_is_a_deletion_and_an_addition() {
    let mut pending = Pending::default();
    let key = key("x");
    pending.push(
        &key,
        Event::Updated {
            old: object("x", "1", 1),
            new: object("x", "1", 2),
        },
    );
    pending.push(&key, Event::Deleted(Deletion::Final(object("x", "1", 3))));
    pending.push(&key, added(object("x", "2", 4)));
    pending.push(
        &key,
        Event::Updated {
            old: object("x", "2", 4),
            new: object("x", "2", 5),
        },
    );
    assert_eq!(pending.len(), 1);
    assert_eq!(drain(&mut pending), ["x-3", "x+5"]);

    // Three generations: the middle one was never told, so only the first one's end is.
    pending.push(&key, Event::Deleted(Deletion::Final(object("x", "2", 6))));
    pending.push(&key, added(object("x", "3", 7)));
    pending.push(&key, Event::Deleted(Deletion::Final(object("x", "3", 8))));
    pending.push(&key, added(object("x", "4", 9)));
    assert_eq!(drain(&mut pending), ["x-6", "x+9"]);
}

#[test]
fn client_go_i3_an_update_to_another_uid_never_passes_as_an_update() {
    let mut pending = Pending::default();
    let key = key("x");
    pending.push(
        &key,
        Event::Updated {
            old: object("x", "1", 1),
            new: object("x", "2", 2),
        },
    );
    assert_eq!(drain(&mut pending), ["x~1", "x+2"]);
}

#[test]
fn client_go_q6_a_deletion_of_an_object_never_told_is_told() {
    let mut pending = Pending::default();
    pending.push(
        &key("x"),
        Event::Deleted(Deletion::Final(object("x", "1", 3))),
    );
    assert_eq!(drain(&mut pending), ["x-3"]);
}

#[test]
fn added_then_updated_is_added() {
    let mut pending = Pending::default();
    let initial = Event::Added {
        object: object("x", "1", 1),
        initial: true,
    };
    pending.push(&key("x"), initial);
    pending.push(
        &key("x"),
        Event::Updated {
            old: object("x", "1", 1),
            new: object("x", "1", 2),
        },
    );
    let (_, event) = pending.pop().unwrap();
    assert!(event.is_initial());
    assert_eq!(
        event.object().unwrap().metadata.resource_version(),
        Some(2.into())
    );
}

#[test]
fn places_tell_when_the_first_objects_have_been_taken() {
    let mut pending = Pending::default();
    for name in ["a", "b"] {
        pending.push(&key(name), added(object(name, "1", 1)));
    }
    let end = pending.end();
    pending.push(&key("c"), added(object("c", "1", 1)));
    // What is folded into an early place keeps it.
    pending.push(
        &key("a"),
        Event::Updated {
            old: object("a", "1", 1),
            new: object("a", "1", 2),
        },
    );
    for expected in [false, false, true] {
        assert_eq!(pending.is_past(end), expected);
        pending.pop();
    }
}
