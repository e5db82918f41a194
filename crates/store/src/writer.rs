use std::fmt::{self, Write as _};
use std::sync::Arc;

use evenkeel_meta::{Meta, MetaView, Object, ObjectKey, ResourceVersion};

use crate::contents::Contents;
use crate::index::AddIndexError;
use crate::set_aside::{SetAside, SetAsideReason, copy_metadata};
use crate::store::{Shared, Store};
use crate::trie::Difference;

/// The one who fills a [`Store`].
///
/// Informers have one of their own; take one yourself to fill a store from elsewhere, such as a
/// test's fixtures. Writes are shown to readers by [`publish`](Self::publish), all at once, and
/// those of a replacement by [`end_replace`](Self::end_replace).
///
/// ```
/// use std::sync::Arc;
/// use evenkeel_meta::{Meta, Metadata, ObjectKey};
/// use evenkeel_store::Writer;
///
/// let (mut writer, store) = Writer::new();
/// let metadata = Meta { name: "a".into(), namespace: Some("ns".into()), ..Meta::default() };
/// writer.put(Arc::new(Metadata::from(metadata)))?;
/// assert!(store.is_empty(), "not published yet");
/// writer.publish();
/// assert!(store.contains(&ObjectKey::namespaced("ns", "a")));
/// # Ok::<(), evenkeel_store::Refused<Metadata>>(())
/// ```
pub struct Writer<K> {
    shared: Arc<Shared<K>>,
    replacement: Option<Contents<K>>,
    /// Marks what the replacement under way has seen.
    stamp: u32,
    key: String,
}

/// An object that was [set aside](SetAside) instead of being put in place.
#[derive(Debug, thiserror::Error)]
#[error("{key} is set aside: {}", set_aside.reason)]
pub struct Refused<K> {
    /// The object's key.
    pub key: ObjectKey,
    /// What is kept of it, and what is wrong with it.
    pub set_aside: Arc<SetAside>,
    /// Whether the store had set aside just this state for just this reason already.
    pub again: bool,
    /// An object of that key and another UID that the store held until now: the write has
    /// removed it.
    pub gone: Option<Arc<K>>,
}

/// What a write replaced.
#[derive(Debug)]
pub struct Put<K> {
    /// The object's key.
    pub key: ObjectKey,
    /// The state that was there before. During a replacement: the state that the replacement
    /// has for it so far.
    pub old: Option<Arc<K>>,
}

impl<K: Object + 'static> Writer<K> {
    /// An empty store and its writer, with a hash of its own.
    #[must_use]
    pub fn new() -> (Self, Store<K>) {
        Self::with_seed(fastrand::u64(..))
    }

    /// As [`new`](Self::new), with a hash that is the same each time: for runs that can be repeated.
    #[must_use]
    pub fn with_seed(seed: u64) -> (Self, Store<K>) {
        let shared = Arc::new(Shared::new(seed));
        let writer = Self {
            shared: Arc::clone(&shared),
            replacement: None,
            stamp: 0,
            key: String::new(),
        };
        (writer, Store::new(shared))
    }

    /// Puts an object in place of an earlier state of it, if there is one.
    ///
    /// # Errors
    ///
    /// An index function failed. The object has been [set aside](SetAside) then.
    pub fn put(&mut self, mut object: Arc<K>) -> Result<Put<K>, Refused<K>> {
        self.spell_key(object.metadata());
        let mut draft = self.shared.draft.lock();
        let replacing = self.replacement.is_some();
        let contents = self.replacement.as_mut().unwrap_or(&mut *draft);
        let key = match contents.objects.get_key_value(self.key.as_str()) {
            Some((key, old)) if replacing && is_same_state(&**old, &*object) => {
                // An unchanged object keeps its allocation, and the copy that came is dropped here.
                let (key, old) = (key.clone(), Some(Arc::clone(old)));
                contents.objects.mark(&key, self.stamp);
                contents.set_aside.remove(&key);
                return Ok(Put { key, old });
            }
            Some((key, _)) => {
                // An object that others hold already stays as it is.
                let own = Arc::get_mut(&mut object);
                if let Some(metadata) = own.and_then(K::packed_mut) {
                    metadata.adopt_key(key);
                }
                // What holds another key has the store take that one: one text, not two.
                object.metadata().held_key().unwrap_or(key).clone()
            }
            None => object.metadata().key(),
        };
        match contents.put(key.clone(), object, self.stamp) {
            Ok(old) => Ok(Put { key, old }),
            Err((failure, object)) => {
                let metadata = copy_metadata(object.metadata());
                Err(keep_aside(
                    contents,
                    key,
                    metadata,
                    failure.into(),
                    self.stamp,
                ))
            }
        }
    }

    /// Keeps an object that cannot be put in place, by its metadata; see [`SetAside`].
    pub fn set_aside(&mut self, metadata: Meta, reason: SetAsideReason) -> Refused<K> {
        let mut draft = self.shared.draft.lock();
        let contents = self.replacement.as_mut().unwrap_or(&mut *draft);
        keep_aside(contents, metadata.key(), metadata, reason, self.stamp)
    }

    /// Forgets an object.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Arc<K>> {
        let mut draft = self.shared.draft.lock();
        self.replacement.as_mut().unwrap_or(&mut *draft).remove(key)
    }

    /// Says which version the contents are the state of, once the writes up to now are published.
    pub fn set_resource_version(&mut self, version: ResourceVersion) {
        self.shared.draft.lock().resource_version = version;
    }

    /// Shows readers everything that was written, in one step.
    pub fn publish(&mut self) {
        let draft = self.shared.draft.lock();
        self.shared.publish(&draft);
    }

    /// Begins to replace the contents by a new list. Until [`end_replace`](Self::end_replace),
    /// writes go to the replacement and readers see the old contents; what the two have in
    /// common is in memory once. A replacement under way is dropped.
    pub fn begin_replace(&mut self) {
        self.replacement = Some(self.shared.draft.lock().clone());
        // 0 is what entries carry that no replacement has seen.
        self.stamp = self.stamp.wrapping_add(1).max(1);
    }

    /// Drops the replacement under way.
    pub fn abort_replace(&mut self) {
        self.replacement = None;
    }

    /// Puts the replacement in place and publishes it: what it did not name is gone. `rewound`
    /// says that `version` is of another history than the versions before it.
    ///
    /// Without a replacement under way this only sets the version and publishes.
    pub fn end_replace(&mut self, version: ResourceVersion, rewound: bool) -> Replaced<K> {
        let mut draft = self.shared.draft.lock();
        let before = draft.clone();
        if let Some(mut contents) = self.replacement.take() {
            for key in contents.set_aside.unmarked(self.stamp) {
                contents.set_aside.remove(&key);
            }
            for key in contents.objects.unmarked(self.stamp) {
                contents.remove(&key);
            }
            adopt_indexes(&mut contents, &draft);
            *draft = contents;
        }
        draft.synced = true;
        draft.epoch += u64::from(rewound);
        draft.resource_version = version;
        self.shared.publish(&draft);
        Replaced {
            before,
            after: draft.clone(),
        }
    }

    /// The key's text, built without allocating.
    fn spell_key(&mut self, metadata: &impl MetaView) {
        self.key.clear();
        if let Some(namespace) = metadata.namespace().filter(|ns| !ns.is_empty()) {
            self.key.push_str(namespace);
            self.key.push('/');
        }
        // Writing to a String cannot fail.
        let _ = self.key.write_str(metadata.name());
    }
}

/// An earlier state stays, marked as seen: the object is there, only not in a form to show.
/// An earlier *object* of that name does not: it is gone.
fn keep_aside<K: Object + 'static>(
    contents: &mut Contents<K>,
    key: ObjectKey,
    metadata: Meta,
    reason: SetAsideReason,
    stamp: u32,
) -> Refused<K> {
    let is_other = |old: &Arc<K>| match (old.metadata().uid(), &metadata.uid) {
        (Some(old), Some(new)) => old != new.as_str(),
        _ => false,
    };
    let gone = if contents.objects.get(&key).is_some_and(is_other) {
        contents.remove(&key)
    } else {
        contents.objects.mark(&key, stamp);
        None
    };
    let new = SetAside { metadata, reason };
    let (set_aside, again) = match contents.set_aside.get(&key) {
        Some(there) if **there == new => (Arc::clone(there), true),
        _ => (Arc::new(new), false),
    };
    let kept = Arc::clone(&set_aside);
    contents.set_aside.insert_marked(key.clone(), kept, stamp);
    Refused {
        key,
        set_aside,
        again,
        gone,
    }
}

/// Takes over the indexes that were added while the replacement was filled. Objects that one of
/// them fails for are set aside.
fn adopt_indexes<K: Object + 'static>(contents: &mut Contents<K>, draft: &Contents<K>) {
    for index in draft.indexes() {
        while let Err(AddIndexError::Function { key, name, message }) =
            contents.add_index(index.clone())
        {
            let Some(object) = contents.remove(&key) else {
                break;
            };
            let reason = SetAsideReason::Index {
                index: name.into(),
                message: message.into(),
            };
            keep_aside(contents, key, copy_metadata(object.metadata()), reason, 0);
        }
    }
}

/// Whether two objects are one state of one object, as far as the server says.
fn is_same_state<K: Object>(a: &K, b: &K) -> bool {
    let (a, b) = (a.metadata(), b.metadata());
    match (a.resource_version(), b.resource_version()) {
        (Some(version), Some(other)) => {
            version == other && !version.is_unset() && a.uid() == b.uid()
        }
        _ => false,
    }
}

impl<K> Drop for Writer<K> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<K> fmt::Debug for Writer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("replacing", &self.replacement.is_some())
            .finish_non_exhaustive()
    }
}

/// What a replacement changed: the contents before and after it.
pub struct Replaced<K> {
    before: Contents<K>,
    after: Contents<K>,
}

impl<K> Replaced<K> {
    /// The objects that vanished, with their last known state, unless they were only ever set aside.
    pub fn for_each_removed(&self, mut visit: impl FnMut(&ObjectKey, Option<&Arc<K>>)) {
        self.diff(|difference| {
            if let Difference::Removed(key, old) = difference {
                visit(key, Some(old));
            }
        });
        self.diff_set_aside(|difference| match difference {
            Difference::Removed(key, _)
                if !self.before.objects.contains_key(key)
                    && !self.after.objects.contains_key(key) =>
            {
                visit(key, None);
            }
            _ => {}
        });
    }

    /// The objects that are new or changed, with the state before, if there was one.
    pub fn for_each_put(&self, mut visit: impl FnMut(&ObjectKey, Option<&Arc<K>>, &Arc<K>)) {
        self.diff(|difference| match difference {
            Difference::Removed(..) => {}
            Difference::Added(key, new) => visit(key, None, new),
            Difference::Changed(key, old, new) => visit(key, Some(old), new),
        });
    }

    /// The objects that were set aside, in a state or for a reason that is new.
    pub fn for_each_set_aside(&self, mut visit: impl FnMut(&ObjectKey, &SetAside)) {
        self.diff_set_aside(|difference| match difference {
            Difference::Removed(..) => {}
            Difference::Added(key, new) | Difference::Changed(key, _, new) => visit(key, new),
        });
    }

    fn diff<'a>(&'a self, visit: impl FnMut(Difference<'a, ObjectKey, Arc<K>>)) {
        let (before, after) = (&self.before.objects, &self.after.objects);
        before.diff(after, Arc::ptr_eq, visit);
    }

    fn diff_set_aside<'a>(&'a self, visit: impl FnMut(Difference<'a, ObjectKey, Arc<SetAside>>)) {
        let (before, after) = (&self.before.set_aside, &self.after.set_aside);
        before.diff(after, Arc::ptr_eq, visit);
    }
}

impl<K> fmt::Debug for Replaced<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replaced")
            .field("before", &self.before.objects.len())
            .field("after", &self.after.objects.len())
            .finish()
    }
}
