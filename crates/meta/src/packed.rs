//! Metadata in a few small, shareable texts.

mod decode;
mod interner;
#[cfg(test)]
mod tests;
mod text;

pub use self::interner::Interner;

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use self::text::{Reader, push_number, push_signed, push_text};
use crate::{
    Meta, MetaView, ObjectKey, OwnerReference, OwnerView, ResourceVersion, Timestamp, Uid,
};

/// Object metadata without `managedFields`, immutable, in as little memory as it can be read from.
///
/// It holds what [`Meta`] holds and takes its place in projections that are cached by the
/// hundred thousand; [`Metadata`](crate::Metadata), the metadata-only object, is made of it. What
/// siblings have in common (labels, annotations, owners) is one allocation each, and an
/// [`Interner`] makes equal ones the same.
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

/// Which of an object's own fields are there.
#[derive(Clone, Copy)]
struct Fields(u64);

impl Fields {
    const NUMBER: u64 = 1;
    const OPAQUE: u64 = 1 << 1;
    const GENERATION: u64 = 1 << 2;
    const CREATED: u64 = 1 << 3;
    const CREATED_FRACTION: u64 = 1 << 4;
    const UID: u64 = 1 << 5;
    const DELETED: u64 = 1 << 6;
    const DELETED_FRACTION: u64 = 1 << 7;
    const GRACE: u64 = 1 << 8;

    fn has(self, field: u64) -> bool {
        self.0 & field != 0
    }
}

/// An object's own fields, unpacked.
#[derive(Default)]
struct Own<'a> {
    resource_version: Option<ResourceVersion>,
    generation: Option<i64>,
    created: Option<Timestamp>,
    deleted: Option<Timestamp>,
    grace: Option<i64>,
    uid: Option<&'a str>,
}

impl Own<'_> {
    fn pack(&self) -> Box<str> {
        let (created, deleted) = (self.created.map(split), self.deleted.map(split));
        let number = self.resource_version.as_ref();
        let number = number.and_then(ResourceVersion::as_number);
        let opaque = self.resource_version.as_ref();
        let opaque = opaque.filter(|_| number.is_none()).map(ToString::to_string);
        let fraction = |time: Option<(i64, i64)>| time.filter(|(_, nanos)| *nanos != 0);
        let fields = [
            (Fields::NUMBER, number.is_some()),
            (Fields::OPAQUE, opaque.is_some()),
            (Fields::GENERATION, self.generation.is_some()),
            (Fields::CREATED, created.is_some()),
            (Fields::CREATED_FRACTION, fraction(created).is_some()),
            (Fields::UID, self.uid.is_some()),
            (Fields::DELETED, deleted.is_some()),
            (Fields::DELETED_FRACTION, fraction(deleted).is_some()),
            (Fields::GRACE, self.grace.is_some()),
        ];
        let there = fields.iter().filter(|(_, there)| *there);
        let mut out = String::with_capacity(64);
        push_number(&mut out, there.map(|(field, _)| field).sum());
        if let Some(number) = number {
            push_number(&mut out, number);
        }
        if let Some(opaque) = opaque {
            push_text(&mut out, &opaque);
        }
        if let Some(generation) = self.generation {
            push_signed(&mut out, generation);
        }
        for time in [created, deleted] {
            if let Some((seconds, _)) = time {
                push_signed(&mut out, seconds);
            }
            if let Some((_, nanos)) = fraction(time) {
                push_signed(&mut out, nanos);
            }
        }
        if let Some(grace) = self.grace {
            push_signed(&mut out, grace);
        }
        out.push_str(self.uid.unwrap_or_default());
        Box::from(out.as_str())
    }

    fn read(text: &str) -> Own<'_> {
        let mut reader = Reader::new(text);
        let fields = Fields(reader.number());
        let mut own = Own::default();
        if fields.has(Fields::NUMBER) {
            own.resource_version = Some(reader.number().into());
        }
        if fields.has(Fields::OPAQUE) {
            own.resource_version = Some(ResourceVersion::parse(reader.text()));
        }
        if fields.has(Fields::GENERATION) {
            own.generation = Some(reader.signed());
        }
        own.created = read_time(
            &mut reader,
            fields,
            Fields::CREATED,
            Fields::CREATED_FRACTION,
        );
        own.deleted = read_time(
            &mut reader,
            fields,
            Fields::DELETED,
            Fields::DELETED_FRACTION,
        );
        if fields.has(Fields::GRACE) {
            own.grace = Some(reader.signed());
        }
        own.uid = fields.has(Fields::UID).then(|| reader.rest());
        own
    }
}

/// Seconds, and the fraction in nanoseconds, which no server writes here.
fn split(time: Timestamp) -> (i64, i64) {
    let time = jiff::Timestamp::from(time);
    (time.as_second(), time.subsec_nanosecond().into())
}

fn read_time(
    reader: &mut Reader<'_>,
    fields: Fields,
    there: u64,
    fraction: u64,
) -> Option<Timestamp> {
    if !fields.has(there) {
        return None;
    }
    let seconds = reader.signed();
    let nanos = match fields.has(fraction) {
        true => i32::try_from(reader.signed()).unwrap_or_default(),
        false => 0,
    };
    let time = jiff::Timestamp::new(seconds, nanos);
    Some(time.map_or_else(|_| Timestamp::from_second(seconds), Timestamp::from))
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
