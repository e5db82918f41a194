use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn shard_of(changes: usize) -> (Arc<Revisions>, Shard) {
    let revisions = Arc::new(Revisions::new());
    let limits = HistoryLimits {
        changes,
        bytes: 1 << 20,
    };
    let shard = Shard::new(Arc::clone(&revisions), limits);
    (revisions, shard)
}

fn draft(name: &str, value: u64) -> Draft {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n", "resourceVersion": "ignored"},
        "data": {"value": value.to_string()},
    });
    Draft::encode(&object, None, Box::default()).unwrap()
}

fn put(shard: &Shard, name: &str, value: u64) -> u64 {
    let key = object_key(Some("n"), name);
    let expected = shard.get(&key).map(|record| record.revision());
    shard
        .put(&key, expected, draft(name, value))
        .unwrap()
        .revision()
}

fn remove(shard: &Shard, name: &str) -> u64 {
    let key = object_key(Some("n"), name);
    let expected = shard.get(&key).unwrap().revision();
    shard.remove(&key, expected).unwrap().revision()
}

/// `name=value` of every object, as of a revision.
fn state(shard: &Shard, after: Option<&str>, at: Option<u64>) -> Result<Vec<String>, Compacted> {
    let mut seen = Vec::new();
    shard.scan(&KeyRange::All, after, at, |key, record| {
        let object = record.decode().unwrap();
        seen.push(format!(
            "{}={}",
            &key[2..],
            object["data"]["value"].as_str().unwrap()
        ));
        true
    })?;
    Ok(seen)
}

#[test]
fn an_encoded_object_carries_its_revision_and_its_parts() {
    let record = draft("a", 1).seal(1_234);
    let object: Value = serde_json::from_slice(record.data()).unwrap();
    assert_eq!(object["metadata"]["resourceVersion"], "1234");
    assert!(
        record
            .data()
            .starts_with(b"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",")
    );
    let metadata: Value = serde_json::from_slice(record.metadata_json()).unwrap();
    assert_eq!(metadata, object["metadata"]);
    assert!(record.untyped_tail().starts_with(b"\"metadata\":"));
    assert_eq!(record.meta().name, "a");

    let later = record.restamp(99_999);
    let object: Value = serde_json::from_slice(later.data()).unwrap();
    assert_eq!(object["metadata"]["resourceVersion"], "99999");
    let metadata: Value = serde_json::from_slice(later.metadata_json()).unwrap();
    assert_eq!(metadata, object["metadata"]);

    let unstored = draft("a", 1).seal_unstored();
    let object: Value = serde_json::from_slice(unstored.data()).unwrap();
    assert!(object["metadata"]["resourceVersion"].is_null());
    let metadata: Value = serde_json::from_slice(unstored.metadata_json()).unwrap();
    assert_eq!(metadata, object["metadata"]);
}

#[test]
fn equal_but_for_the_revision_is_the_same() {
    let record = draft("a", 1).seal(1_234);
    assert!(draft("a", 1).same_as(&record));
    assert!(!draft("a", 2).same_as(&record));
    assert!(!draft("b", 1).same_as(&record));
}

#[test]
fn a_write_from_another_state_is_refused() {
    let (_, shard) = shard_of(10);
    let key = object_key(Some("n"), "a");
    let first = put(&shard, "a", 1);
    assert!(shard.put(&key, None, draft("a", 2)).is_err());
    assert!(shard.put(&key, Some(first + 1), draft("a", 2)).is_err());
    put(&shard, "a", 2);
    assert!(shard.remove(&key, first).is_err());
    assert!(
        shard
            .put(&object_key(Some("n"), "b"), Some(first), draft("b", 1))
            .is_err()
    );
}

#[test]
fn the_past_can_be_read_as_far_as_the_window_reaches() {
    let (_, shard) = shard_of(4);
    let first = put(&shard, "a", 1);
    let second = put(&shard, "b", 1);
    put(&shard, "a", 2);
    remove(&shard, "b");
    let now = put(&shard, "c", 1);
    assert_eq!(state(&shard, None, None).unwrap(), ["a=2", "c=1"]);
    assert_eq!(state(&shard, None, Some(now)).unwrap(), ["a=2", "c=1"]);
    assert_eq!(state(&shard, None, Some(second)).unwrap(), ["a=1", "b=1"]);
    assert_eq!(state(&shard, Some("n/a"), Some(second)).unwrap(), ["b=1"]);
    // The window holds four changes: it forgot the first one, whose state is still known.
    assert_eq!(state(&shard, None, Some(first)).unwrap(), ["a=1"]);
    assert!(state(&shard, None, Some(first - 1)).is_err());
}

#[test]
fn changes_are_read_by_cursor() {
    let (revisions, shard) = shard_of(10);
    let start = revisions.current();
    for value in 0..5 {
        put(&shard, "a", value);
    }
    let (some, complete) = shard.changes_after(start, 2).unwrap();
    assert_eq!((some.len(), complete), (2, start + 2));
    let (rest, complete) = shard.changes_after(complete, 10).unwrap();
    assert_eq!((rest.len(), complete), (3, start + 5));
    assert_eq!(rest[0].kind, ChangeKind::Modified);
    // Other resources move the revision on, not this window.
    let other = Shard::new(
        Arc::clone(&revisions),
        HistoryLimits {
            changes: 1,
            bytes: 1 << 20,
        },
    );
    put(&other, "x", 1);
    let (none, complete) = shard.changes_after(start + 5, 10).unwrap();
    assert_eq!((none.len(), complete), (0, start + 6));

    shard.compact(start + 3);
    assert_eq!(
        shard.changes_after(start + 2, 10).unwrap_err().oldest,
        start + 3
    );
    assert_eq!(shard.changes_after(start + 3, 10).unwrap().0.len(), 2);
}

#[test]
fn the_window_is_bounded_in_bytes_too() {
    let revisions = Arc::new(Revisions::new());
    let limits = HistoryLimits {
        changes: 1_000,
        bytes: 300,
    };
    let shard = Shard::new(Arc::clone(&revisions), limits);
    let start = revisions.current();
    for value in 0..20 {
        put(&shard, "a", value);
    }
    assert!(shard.changes_after(start, 100).is_err());
    assert!(shard.changes_after(revisions.current() - 1, 100).is_ok());
}

#[test]
fn a_namespace_is_a_range_of_keys() {
    let range = KeyRange::of(Some("n"), None, true);
    let inside = |key: &str| {
        let bounds: (std::ops::Bound<Key>, std::ops::Bound<Key>) = range.bounds(None);
        std::ops::RangeBounds::contains(&bounds, &Key::from(key))
    };
    for (key, expected) in [
        ("n/a", true),
        ("n/", true),
        ("n-x/a", false),
        ("n0/a", false),
        ("m/a", false),
    ] {
        assert_eq!(
            (inside(key), range.contains(key)),
            (expected, expected),
            "{key}"
        );
    }
}

#[tokio::test]
async fn reaching_a_revision_wakes_those_who_wait_for_it() {
    let (revisions, shard) = shard_of(10);
    let target = revisions.current() + 2;
    let waiting = tokio::spawn({
        let revisions = Arc::clone(&revisions);
        async move { revisions.reached(target).await }
    });
    tokio::task::yield_now().await;
    put(&shard, "a", 1);
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    put(&shard, "a", 2);
    waiting.await.unwrap();
}

#[test]
fn writers_of_several_threads_lose_nothing() {
    let (revisions, shard) = shard_of(100_000);
    let start = revisions.current();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let shard = &shard;
            scope.spawn(move || {
                for value in 0..200 {
                    // All of them on one object, and one each on their own.
                    let key = object_key(Some("n"), "shared");
                    loop {
                        let expected = shard.get(&key).map(|record| record.revision());
                        if shard.put(&key, expected, draft("shared", value)).is_ok() {
                            break;
                        }
                    }
                    put(shard, &format!("own-{thread}"), value);
                }
            });
        }
    });
    let (changes, complete) = shard.changes_after(start, usize::MAX).unwrap();
    assert_eq!((changes.len(), complete), (1_600, start + 1_600));
    let revisions: Vec<u64> = changes.iter().map(|change| change.revision()).collect();
    assert_eq!(
        revisions,
        (start + 1..=start + 1_600).collect::<Vec<_>>(),
        "in order, without a gap"
    );
}
