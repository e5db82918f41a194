//! The rules of `metadata` that hold for every type.

use evenkeel_meta::{StatusCause, Timestamp};
use serde_json::{Map, Value};

use crate::object::restore;
use crate::validation::qualified_name;

const GC_ORPHAN: &str = "orphan";
const GC_FOREGROUND: &str = "foregroundDeletion";
const NAMESPACE_FINALIZER: &str = "kubernetes";

/// What a create request may not choose.
pub(crate) fn begin(
    metadata: &mut Map<String, Value>,
    uid: String,
    now: Timestamp,
    counts_generation: bool,
) {
    for name in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
    ] {
        metadata.remove(name);
    }
    metadata.insert("uid".into(), uid.into());
    metadata.insert("creationTimestamp".into(), now.to_string().into());
    if counts_generation {
        metadata.insert("generation".into(), 1.into());
    }
}

/// Restores what an update may not change and did not try to.
pub(crate) fn carry_over(metadata: &mut Map<String, Value>, live: &Map<String, Value>) {
    for name in ["uid", "namespace", "name"] {
        if metadata.get(name).is_none_or(is_empty) {
            restore(metadata, Some(live), name);
        }
    }
    // Neither time can be changed or removed by an update: what was sent is ignored.
    restore(metadata, Some(live), "creationTimestamp");
    restore(metadata, Some(live), "deletionTimestamp");
    if !metadata.contains_key("deletionGracePeriodSeconds") {
        restore(metadata, Some(live), "deletionGracePeriodSeconds");
    }
    restore(metadata, Some(live), "generation");
    metadata.remove("selfLink");
    restore(metadata, Some(live), "resourceVersion");
}

/// Drops owner references that occur twice; says whose.
pub(crate) fn drop_duplicate_owners(
    metadata: &mut Map<String, Value>,
    after_patch: bool,
) -> Option<String> {
    let owners = metadata.get_mut("ownerReferences")?.as_array_mut()?;
    let mut duplicates: Vec<String> = Vec::new();
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    for owner in owners.drain(..) {
        if kept.contains(&owner) {
            duplicates.push(text(&owner, "uid").to_owned());
        } else {
            kept.push(owner);
        }
    }
    *owners = kept;
    if duplicates.is_empty() {
        return None;
    }
    let when = if after_patch {
        " after mutating admission happens"
    } else {
        ""
    };
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, \
         and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        duplicates.join(", ")
    ))
}

/// The faults in finalizers and owner references, and in what an update may not change.
pub(crate) fn causes(
    metadata: &Map<String, Value>,
    live: Option<&Map<String, Value>>,
) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    check_finalizers(metadata, &mut causes);
    check_owners(metadata, &mut causes);
    if let Some(live) = live {
        check_immutable(metadata, live, &mut causes);
        check_new_finalizers(metadata, live, &mut causes);
    }
    causes
}

fn check_finalizers(metadata: &Map<String, Value>, causes: &mut Vec<StatusCause>) {
    let (mut orphan, mut foreground) = (false, false);
    for (at, finalizer) in strings(metadata, "finalizers").enumerate() {
        match finalizer {
            GC_ORPHAN => orphan = true,
            GC_FOREGROUND => foreground = true,
            NAMESPACE_FINALIZER => {}
            other => check_finalizer(at, other, causes),
        }
    }
    if orphan && foreground {
        let finalizers = metadata.get("finalizers").cloned().unwrap_or_default();
        causes.push(invalid(
            "metadata.finalizers",
            &finalizers,
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
}

fn check_owners(metadata: &Map<String, Value>, causes: &mut Vec<StatusCause>) {
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    let mut controller: Option<String> = None;
    for (at, owner) in owners.into_iter().flatten().enumerate() {
        let field = |name: &str| format!("metadata.ownerReferences[{at}].{name}");
        for name in ["apiVersion", "kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                causes.push(StatusCause {
                    reason: "FieldValueRequired".into(),
                    message: "Required value: must not be empty".into(),
                    field: field(name),
                });
            }
        }
        let (api_version, kind, name) = (
            text(owner, "apiVersion"),
            text(owner, "kind"),
            text(owner, "name"),
        );
        if api_version.matches('/').count() > 1 {
            causes.push(invalid(
                field("apiVersion"),
                &Value::from(api_version),
                "must be <group>/<version> or <version>",
            ));
        }
        if api_version == "v1" && kind == "Event" {
            causes.push(invalid(
                format!("metadata.ownerReferences[{at}]"),
                owner,
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            let this = format!("{kind}/{name}");
            match &controller {
                Some(first) => causes.push(invalid(
                    "metadata.ownerReferences",
                    &Value::Array(owners.cloned().unwrap_or_default()),
                    &format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    ),
                )),
                None => controller = Some(this),
            }
        }
    }
}

fn check_immutable(
    metadata: &Map<String, Value>,
    live: &Map<String, Value>,
    causes: &mut Vec<StatusCause>,
) {
    for name in ["name", "namespace", "uid", "deletionGracePeriodSeconds"] {
        let (new, old) = (metadata.get(name), live.get(name));
        if new != old {
            causes.push(invalid(
                format!("metadata.{name}"),
                new.unwrap_or(&Value::Null),
                "field is immutable",
            ));
        }
    }
}

fn check_new_finalizers(
    metadata: &Map<String, Value>,
    live: &Map<String, Value>,
    causes: &mut Vec<StatusCause>,
) {
    if !live.contains_key("deletionTimestamp") {
        return;
    }
    let added: Vec<String> = strings(metadata, "finalizers")
        .filter(|new| !strings(live, "finalizers").any(|old| old == *new))
        .map(|new| format!("{new:?}"))
        .collect();
    if !added.is_empty() {
        causes.push(StatusCause {
            reason: "FieldValueForbidden".into(),
            message: format!(
                "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            ),
            field: "metadata.finalizers".into(),
        });
    }
}

fn invalid(field: impl Into<String>, value: &Value, why: &str) -> StatusCause {
    StatusCause {
        reason: "FieldValueInvalid".into(),
        message: format!("Invalid value: {value}: {why}"),
        field: field.into(),
    }
}

fn check_finalizer(at: usize, name: &str, causes: &mut Vec<StatusCause>) {
    let complaints = qualified_name(name);
    let qualified = name.contains('/');
    for why in &complaints {
        causes.push(invalid("metadata.finalizers", &Value::from(name), why));
    }
    if complaints.is_empty() && !qualified {
        causes.push(invalid(
            format!("metadata.finalizers[{at}]"),
            &Value::from(name),
            "name is neither a standard finalizer name nor is it fully qualified",
        ));
    }
}

fn strings<'a>(metadata: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a str> {
    metadata
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}
