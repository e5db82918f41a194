//! What a controller has written and its stores have not shown yet.
//!
//! A controller that acts on a store that does not hold its own last write yet acts twice:
//! that is how surplus pods are made (bug client-go B31, kcm K12). The ledger notes the
//! resource version of each write by the key on whose behalf it was made; the key is held
//! back until the store of that resource has reached it. Resource versions are only ever
//! compared within one resource, and a deletion waits for the absence of its UID.
//!
//! Pure: events and the time go in, released keys come out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use evenkeel_meta::{ResourceVersion, Uid};
use evenkeel_pace::Moment;

/// Which of the controller's stores, by position.
pub(crate) type SourceId = usize;

/// See the [module](self).
pub(crate) struct Ledger<K> {
    sources: Vec<Source<K>>,
    /// Keys with writes not seen yet: how many, and since when the oldest waits.
    held: HashMap<K, Held>,
}

struct Source<K> {
    /// How far the store is.
    seen: u64,
    /// Whether the store has shown a write of this ledger.
    proven: bool,
    /// The highest version that was given up waiting for.
    missed: u64,
    /// Objects whose absence was given up waiting for.
    lingering: HashSet<Uid>,
    /// Keys that wait for the store to reach a version.
    versions: BTreeMap<u64, Vec<K>>,
    /// Keys that wait for an object to be gone.
    deletions: HashMap<Uid, Vec<K>>,
}

#[derive(Clone, Copy)]
struct Held {
    writes: u32,
    since: Moment,
}

impl<K: Clone + Eq + Hash> Ledger<K> {
    pub(crate) fn new() -> Self {
        Self {
            sources: Vec::new(),
            held: HashMap::new(),
        }
    }

    /// One more store.
    pub(crate) fn add_source(&mut self) -> SourceId {
        self.sources.push(Source {
            seen: 0,
            proven: false,
            missed: 0,
            lingering: HashSet::new(),
            versions: BTreeMap::new(),
            deletions: HashMap::new(),
        });
        self.sources.len() - 1
    }

    /// `key` made a write that is done when the store of `source` reaches `version`.
    ///
    /// A version without an order cannot be waited for; it is not noted.
    pub(crate) fn wrote(
        &mut self,
        source: SourceId,
        key: &K,
        version: &ResourceVersion,
        now: Moment,
    ) {
        let (Some(source), Some(version)) = (self.sources.get_mut(source), version.as_number())
        else {
            return;
        };
        if version > source.seen {
            source
                .versions
                .entry(version)
                .or_default()
                .push(key.clone());
            self.hold(key, now);
        } else {
            source.proven = true;
        }
    }

    /// `key` deleted an object that the store of `source` still shows.
    pub(crate) fn deleted(&mut self, source: SourceId, key: &K, uid: Uid, now: Moment) {
        let Some(source) = self.sources.get_mut(source) else {
            return;
        };
        source.deletions.entry(uid).or_default().push(key.clone());
        self.hold(key, now);
    }

    /// The store of `source` has reached `version`; answers the keys that no longer wait for anything.
    pub(crate) fn saw_version(&mut self, source: SourceId, version: &ResourceVersion) -> Vec<K> {
        let (Some(source), Some(version)) = (self.sources.get_mut(source), version.as_number())
        else {
            return Vec::new();
        };
        source.seen = source.seen.max(version);
        let later = source.versions.split_off(&(version + 1));
        let reached = std::mem::replace(&mut source.versions, later);
        source.proven |= !reached.is_empty();
        self.release(reached.into_values().flatten())
    }

    /// The object `uid` is gone from the store of `source`; answers the keys that no longer
    /// wait for anything.
    pub(crate) fn saw_deletion(&mut self, source: SourceId, uid: &str) -> Vec<K> {
        let waiting = self.sources.get_mut(source).and_then(|source| {
            source.lingering.remove(uid);
            source.deletions.remove(uid)
        });
        self.release(waiting.into_iter().flatten())
    }

    /// Whether the store of `source` has shown a write that was noted here, and with it
    /// everything that was written before; and every write that was given up waiting for.
    pub(crate) fn is_proven(&self, source: SourceId) -> bool {
        self.sources.get(source).is_some_and(|source| {
            source.proven && source.seen >= source.missed && source.lingering.is_empty()
        })
    }

    /// Whether `key` waits for a write to be seen.
    pub(crate) fn holds(&self, key: &K) -> bool {
        self.held.contains_key(key)
    }

    /// Whether any key waits for a write to be seen.
    pub(crate) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Forgets what `key` waits for; answers since when it waited.
    pub(crate) fn give_up(&mut self, key: &K) -> Option<Moment> {
        let held = self.held.remove(key)?;
        for source in &mut self.sources {
            let Source {
                missed, lingering, ..
            } = source;
            source.versions.retain(|version, keys| {
                let before = keys.len();
                keys.retain(|other| other != key);
                if keys.len() < before {
                    *missed = (*missed).max(*version);
                }
                !keys.is_empty()
            });
            source.deletions.retain(|uid, keys| {
                let before = keys.len();
                keys.retain(|other| other != key);
                if keys.len() < before {
                    lingering.insert(uid.clone());
                }
                !keys.is_empty()
            });
        }
        Some(held.since)
    }

    fn hold(&mut self, key: &K, now: Moment) {
        let held = self.held.entry(key.clone()).or_insert(Held {
            writes: 0,
            since: now,
        });
        held.writes += 1;
    }

    fn release(&mut self, keys: impl Iterator<Item = K>) -> Vec<K> {
        let mut released = Vec::new();
        for key in keys {
            let Some(held) = self.held.get_mut(&key) else {
                continue;
            };
            held.writes -= 1;
            if held.writes == 0 {
                self.held.remove(&key);
                released.push(key);
            }
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Moment = Moment::ORIGIN;

    fn ledger(sources: usize) -> Ledger<&'static str> {
        let mut ledger = Ledger::new();
        (0..sources).for_each(|id| assert_eq!(ledger.add_source(), id));
        ledger
    }

    fn version(number: u64) -> ResourceVersion {
        number.into()
    }

    #[test]
    fn client_go_b31_a_key_is_held_until_its_last_write_is_seen() {
        let mut ledger = ledger(2);
        ledger.wrote(0, &"web", &version(20), START);
        ledger.wrote(1, &"web", &version(21), START);
        assert!(ledger.holds(&"web"));
        assert!(ledger.saw_version(0, &version(19)).is_empty());
        assert!(
            ledger.saw_version(0, &version(25)).is_empty(),
            "the other store is behind"
        );
        assert_eq!(ledger.saw_version(1, &version(21)), ["web"]);
        assert!(!ledger.holds(&"web"));
    }

    #[test]
    fn versions_of_one_resource_say_nothing_about_another() {
        let mut ledger = ledger(2);
        ledger.saw_version(1, &version(100));
        ledger.wrote(0, &"web", &version(20), START);
        assert!(ledger.holds(&"web"));
    }

    #[test]
    fn a_write_that_was_seen_already_holds_nothing() {
        let mut ledger = ledger(1);
        ledger.saw_version(0, &version(20));
        ledger.wrote(0, &"web", &version(20), START);
        ledger.wrote(0, &"web", &ResourceVersion::parse("opaque"), START);
        assert!(!ledger.holds(&"web"));
    }

    #[test]
    fn a_store_is_proven_by_a_write_that_it_has_shown() {
        let mut ledger = ledger(2);
        ledger.saw_version(0, &version(10));
        assert!(!ledger.is_proven(0), "what others wrote proves nothing");
        ledger.wrote(0, &"web", &version(20), START);
        ledger.saw_version(0, &version(19));
        assert!(!ledger.is_proven(0));
        ledger.saw_version(0, &version(20));
        assert!(ledger.is_proven(0) && !ledger.is_proven(1));
        ledger.saw_version(1, &version(30));
        ledger.wrote(1, &"web", &version(25), START);
        assert!(ledger.is_proven(1), "the store was faster than the answer");
    }

    #[test]
    fn a_store_that_was_given_up_waiting_for_is_proven_when_it_catches_up() {
        let mut ledger = ledger(1);
        ledger.wrote(0, &"web", &version(20), START);
        ledger.saw_version(0, &version(20));
        ledger.wrote(0, &"web", &version(30), START);
        ledger.deleted(0, &"web", "u1".into(), START);
        assert!(ledger.is_proven(0), "it is waited for");
        ledger.give_up(&"web");
        assert!(!ledger.is_proven(0));
        ledger.saw_version(0, &version(31));
        assert!(!ledger.is_proven(0), "the deletion is still to come");
        ledger.saw_deletion(0, "u1");
        assert!(ledger.is_proven(0));
    }

    #[test]
    fn a_deletion_waits_for_the_absence_of_the_uid() {
        let mut ledger = ledger(1);
        ledger.deleted(0, &"web", "u1".into(), START);
        ledger.wrote(0, &"web", &version(5), START);
        assert!(ledger.saw_version(0, &version(9)).is_empty());
        assert!(ledger.saw_deletion(0, "u2").is_empty());
        assert_eq!(ledger.saw_deletion(0, "u1"), ["web"]);
    }

    #[test]
    fn giving_up_forgets_every_write_of_the_key_and_no_other() {
        let mut ledger = ledger(1);
        ledger.wrote(0, &"a", &version(5), START);
        ledger.wrote(0, &"b", &version(5), START);
        ledger.deleted(0, &"a", "u1".into(), START);
        assert_eq!(ledger.give_up(&"a"), Some(START));
        assert_eq!(ledger.give_up(&"a"), None);
        assert_eq!(ledger.saw_version(0, &version(5)), ["b"]);
    }
}
