//! Ownership of what other writes than apply change.

use serde_json::{Map, Value};

use super::Writer;
use super::compare::compare;
use super::managers::{Manager, Managers, ManagersError, Operation};
use super::reset;
use super::set::FieldSet;
use crate::schema::Schema;

/// Fields that everyone may set and nobody owns.
const UNOWNED: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

pub(super) fn unowned() -> &'static FieldSet {
    static SET: std::sync::OnceLock<FieldSet> = std::sync::OnceLock::new();
    SET.get_or_init(|| {
        let mut set = FieldSet::default();
        for path in UNOWNED {
            set.insert_fields(path);
        }
        set
    })
}

/// Makes the writer the owner of what `new` changes of `live` (`None`: it is created), in
/// `new`'s `managedFields`.
///
/// On the object itself the writer may send `managedFields`; an empty list resets them. An object
/// that has none is not tracked, but from its creation on or from its first apply.
pub(crate) fn track_update(
    schema: &Schema,
    live: Option<&Value>,
    new: &mut Value,
    writer: &Writer<'_>,
) {
    let sent = take_managed_fields(new);
    let kept = live.and_then(|live| live.pointer("/metadata/managedFields"));
    let managers = choose(sent, kept, writer.subresource).unwrap_or_default();
    if managers.is_empty() && live.is_some() {
        return;
    }
    match track(
        schema,
        live.unwrap_or_else(|| schema.zero()),
        new,
        managers,
        writer,
    ) {
        Ok(managers) => managers.store(new),
        // A set that cannot be read stays as it is rather than fail the write.
        Err(_) => put_back(new, kept),
    }
}

pub(super) fn track(
    schema: &Schema,
    live: &Value,
    new: &Value,
    mut managers: Managers,
    writer: &Writer<'_>,
) -> Result<Managers, ManagersError> {
    let comparison =
        compare(schema.root(), live, new).without(&reset::fields(schema, writer.subresource));
    let (written, removed) = comparison.into_written_and_removed();
    managers.take_from_others(None, &[&written, &removed])?;
    let written = written.difference(unowned());
    if !written.is_empty() {
        let api_version = schema.kind().api_version();
        let mut own = Manager::new(
            writer.manager,
            Operation::Update,
            &api_version,
            writer.subresource,
        );
        let fields = match managers.find(&own) {
            Some(before) => before.fields()?.union(written),
            None => written,
        };
        own.set_fields(fields);
        // The real server forgets the time of a scale.
        own.time = (writer.subresource != "scale").then(|| writer.now.to_string());
        managers.replace(own);
    }
    managers.cap()?;
    Ok(managers)
}

/// Gives `new` the times of `old`'s managers when nothing else differs: that is no change.
pub(crate) fn keep_times_if_unchanged(old: &Value, new: &mut Value) {
    const PATH: &str = "/metadata/managedFields";
    let (Some(Value::Array(before)), Some(Value::Array(after))) =
        (old.pointer(PATH), new.pointer(PATH))
    else {
        return;
    };
    let same_but_times = before.len() == after.len()
        && before != after
        && before
            .iter()
            .zip(after)
            .all(|(before, after)| is_same_but_time(before, after));
    if !same_but_times {
        return;
    }
    let mut swap = |entries: Vec<Value>| match new.pointer_mut(PATH) {
        Some(Value::Array(place)) => std::mem::replace(place, entries),
        _ => entries,
    };
    let after = swap(before.clone());
    if new != old
        && let Some(Value::Array(place)) = new.pointer_mut(PATH)
    {
        *place = after;
    }
}

fn is_same_but_time(one: &Value, other: &Value) -> bool {
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        return one == other;
    };
    let timeless =
        |entry: &Map<String, Value>| entry.len() - usize::from(entry.contains_key("time"));
    timeless(one) == timeless(other)
        && one
            .iter()
            .all(|(key, value)| key == "time" || other.get(key) == Some(value))
}

/// Removes `managedFields` from an object.
pub(super) fn take_managed_fields(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

fn put_back(object: &mut Value, fields: Option<&Value>) {
    if let (Some(Value::Object(metadata)), Some(fields)) = (object.get_mut("metadata"), fields) {
        metadata.insert("managedFields".to_owned(), fields.clone());
    }
}

/// The managers to start from: those that the writer sent, or those of the object.
fn choose(
    sent: Option<Value>,
    kept: Option<&Value>,
    subresource: &str,
) -> Result<Managers, ManagersError> {
    if let (Some(Value::Array(sent)), "") = (sent, subresource) {
        let is_reset = match sent.as_slice() {
            [] => true,
            [entry] => entry.as_object().is_some_and(Map::is_empty),
            _ => false,
        };
        if is_reset {
            return Ok(Managers::default());
        }
        if let Ok(managers) = Managers::decode(&sent)
            && !managers.is_empty()
        {
            return Ok(managers);
        }
    }
    match kept {
        Some(Value::Array(kept)) => Managers::decode(kept),
        _ => Ok(Managers::default()),
    }
}
