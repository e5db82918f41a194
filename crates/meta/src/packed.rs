//! Metadata in a few small, shareable texts.

mod decode;
mod interner;
mod own;
#[cfg(test)]
mod tests;
mod text;

pub use self::interner::Interner;

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use self::own::Own;
use self::text::{Reader, push_number, push_text};
use crate::{
    Meta, MetaView, ObjectKey, OwnerReference, OwnerView, ResourceVersion, Timestamp, Uid,
};

/// Object metadata without `managedFields`, immutable, in as little memory as it can be read from.
///
/// It holds what [`Meta`] holds and takes its place in projections that are cached by the
/// hundred thousand; [`Metadata`](crate::Metadata), the metadata-only object, is made of it. What
/// siblings have in common (labels, annotations, owners) is one allocation each, and an
/// [`Interner`] makes equal ones the same: caches have one, for types whose
/// [`packed_mut`](crate::Object::packed_mut) leads to it.
///
/// ```
/// use evenkeel_meta::{MetaView, PackedMeta};
///
/// let meta: PackedMeta = serde_json::from_str(
///     r#"{"namespace":"shop","name":"web-1","labels":{"app":"web"},"managedFields":[{}]}"#,
/// )?;
/// assert_eq!(meta.label("app"), Some("web"));
/// assert_eq!(meta.to_meta().labels.len(), 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Cost
///
/// 48 bytes, the key, some 50 bytes for UID, version and times, and the texts of labels,
/// annotations and owners with a byte or two around each. Reading a field walks over what lies
/// before it: tens of nanoseconds. Reading allocates only for an opaque resource version.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedMeta {
    key: ObjectKey,
    /// What is the object's alone: numbers, then the UID up to the end.
    own: Box<str>,
    shared: Arc<Shared>,
}

/// What the pods of one ReplicaSet have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Shared {
    /// Keys and values in turn, in key order.
    labels: Arc<str>,
    annotations: Arc<str>,
    /// `generateName`, finalizers, owners.
    rest: Arc<str>,
}

fn pack_pairs<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Arc<str> {
    let mut out = String::new();
    for (key, value) in pairs {
        push_text(&mut out, key);
        push_text(&mut out, value);
    }
    to_shared(&out)
}

fn pack_rest<'a>(
    generate_name: Option<&str>,
    finalizers: impl ExactSizeIterator<Item = &'a str>,
    owners: impl Iterator<Item = (OwnerView<'a>, [Option<bool>; 2])>,
) -> Arc<str> {
    let mut out = String::new();
    push_number(&mut out, generate_name.is_some().into());
    if let Some(generate_name) = generate_name {
        push_text(&mut out, generate_name);
    }
    push_number(&mut out, finalizers.len() as u64);
    finalizers.for_each(|finalizer| push_text(&mut out, finalizer));
    for (owner, flags) in owners {
        for text in [owner.api_version, owner.kind, owner.name, owner.uid] {
            push_text(&mut out, text);
        }
        flags
            .iter()
            .for_each(|flag| push_number(&mut out, flag.map_or(0, |flag| 1 + u64::from(flag))));
    }
    // Most objects that have none of these share nothing at all.
    if out == NOTHING {
        return Arc::default();
    }
    to_shared(&out)
}

/// No `generateName`, no finalizers, no owners.
const NOTHING: &str = "\0\0";

fn to_shared(text: &str) -> Arc<str> {
    match text {
        "" => Arc::default(),
        text => Arc::from(text),
    }
}

impl PackedMeta {
    /// Takes `key` in place of its own, which goes, if they are equal.
    pub fn adopt_key(&mut self, key: &ObjectKey) {
        if self.key == *key {
            self.key = key.clone();
        }
    }

    /// The unpacked form, whose fields can be changed.
    #[must_use]
    pub fn to_meta(&self) -> Meta {
        let own = Own::read(&self.own);
        let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        Meta {
            name: self.name().to_owned(),
            generate_name: self.generate_name().map(str::to_owned),
            namespace: self.namespace().map(str::to_owned),
            uid: own.uid.map(Uid::from),
            resource_version: own.resource_version,
            generation: own.generation,
            creation_timestamp: own.created,
            deletion_timestamp: own.deleted,
            deletion_grace_period_seconds: own.grace,
            labels: self.labels().map(text).collect(),
            annotations: self.annotations().map(text).collect(),
            finalizers: self.finalizers().map(str::to_owned).collect(),
            owner_references: self.owner_references().collect(),
        }
    }

    /// The prefix from which the server made the name.
    #[must_use]
    pub fn generate_name(&self) -> Option<&str> {
        let mut rest = Reader::new(&self.shared.rest);
        (rest.number() != 0).then(|| rest.text())
    }

    /// Seconds between the deletion and the object's end.
    #[must_use]
    pub fn deletion_grace_period_seconds(&self) -> Option<i64> {
        Own::read(&self.own).grace
    }

    fn owner_references(&self) -> impl Iterator<Item = OwnerReference> {
        self.read_owners().map(
            |(owner, [controller, block_owner_deletion])| OwnerReference {
                api_version: owner.api_version.to_owned(),
                kind: owner.kind.to_owned(),
                name: owner.name.to_owned(),
                uid: Uid::from(owner.uid),
                controller,
                block_owner_deletion,
            },
        )
    }

    fn read_owners(&self) -> impl Iterator<Item = (OwnerView<'_>, [Option<bool>; 2])> {
        let (mut rest, finalizers) = self.read_finalizers();
        for _ in 0..finalizers {
            rest.text();
        }
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut owner = OwnerView {
                api_version: rest.text(),
                kind: rest.text(),
                name: rest.text(),
                uid: rest.text(),
                controller: false,
                block_owner_deletion: false,
            };
            let flags = [rest.number(), rest.number()].map(|flag| match flag {
                0 => None,
                flag => Some(flag == 2),
            });
            [owner.controller, owner.block_owner_deletion] = flags.map(Option::unwrap_or_default);
            Some((owner, flags))
        })
    }

    /// Where the finalizers begin, and how many there are.
    fn read_finalizers(&self) -> (Reader<'_>, u64) {
        let mut rest = Reader::new(&self.shared.rest);
        if rest.number() != 0 {
            rest.text();
        }
        let count = rest.number();
        (rest, count)
    }
}

impl MetaView for PackedMeta {
    const WHOLE: bool = true;

    fn name(&self) -> &str {
        self.key.name()
    }

    fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    fn uid(&self) -> Option<&str> {
        Own::read(&self.own).uid
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        Own::read(&self.own).resource_version
    }

    fn generation(&self) -> Option<i64> {
        Own::read(&self.own).generation
    }

    fn creation_timestamp(&self) -> Option<Timestamp> {
        Own::read(&self.own).created
    }

    fn deletion_timestamp(&self) -> Option<Timestamp> {
        Own::read(&self.own).deleted
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        Reader::new(&self.shared.labels).pairs()
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        Reader::new(&self.shared.annotations).pairs()
    }

    fn label(&self, key: &str) -> Option<&str> {
        find(self.labels(), key)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        find(self.annotations(), key)
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        let (mut rest, count) = self.read_finalizers();
        (0..count).map(move |_| rest.text())
    }

    fn owners(&self) -> impl Iterator<Item = OwnerView<'_>> {
        self.read_owners().map(|(owner, _)| owner)
    }

    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    fn held_key(&self) -> Option<&ObjectKey> {
        Some(&self.key)
    }
}

fn find<'a>(mut pairs: impl Iterator<Item = (&'a str, &'a str)>, key: &str) -> Option<&'a str> {
    pairs
        .find(|(there, _)| *there == key)
        .map(|(_, value)| value)
}

impl From<&Meta> for PackedMeta {
    fn from(meta: &Meta) -> Self {
        let own = Own {
            resource_version: meta.resource_version.clone(),
            generation: meta.generation,
            created: meta.creation_timestamp,
            deleted: meta.deletion_timestamp,
            grace: meta.deletion_grace_period_seconds,
            uid: meta.uid.as_ref().map(Uid::as_str),
        };
        let owners = meta.owner_references.iter();
        let owners = owners.map(|owner| {
            let flags = [owner.controller, owner.block_owner_deletion];
            (owner.view(), flags)
        });
        Self {
            key: ObjectKey::new(meta.namespace.as_deref(), &meta.name),
            own: own.pack(),
            shared: Arc::new(Shared {
                labels: pack_pairs(MetaView::labels(meta)),
                annotations: pack_pairs(MetaView::annotations(meta)),
                rest: pack_rest(
                    meta.generate_name.as_deref(),
                    meta.finalizers.iter().map(String::as_str),
                    owners,
                ),
            }),
        }
    }
}

impl From<Meta> for PackedMeta {
    fn from(meta: Meta) -> Self {
        Self::from(&meta)
    }
}

impl From<PackedMeta> for Meta {
    fn from(packed: PackedMeta) -> Self {
        packed.to_meta()
    }
}

impl Default for PackedMeta {
    fn default() -> Self {
        Self::from(&Meta::default())
    }
}

impl Serialize for PackedMeta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_meta().serialize(serializer)
    }
}

impl fmt::Debug for PackedMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_meta(), f)
    }
}
