use super::text::{Reader, push_number, push_signed, push_text};
use crate::{ResourceVersion, Timestamp};

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
pub(super) struct Own<'a> {
    pub(super) resource_version: Option<ResourceVersion>,
    pub(super) generation: Option<i64>,
    pub(super) created: Option<Timestamp>,
    pub(super) deleted: Option<Timestamp>,
    pub(super) grace: Option<i64>,
    pub(super) uid: Option<&'a str>,
}

impl Own<'_> {
    pub(super) fn pack(&self) -> Box<str> {
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

    pub(super) fn read(text: &str) -> Own<'_> {
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
