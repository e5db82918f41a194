use evenkeel_meta::{ApiResource, DynamicObject, Meta, MicroTime, Scope, Timestamp, TypeMeta};
use serde_json::{Value, json};

use super::CandidateSpec;

/// `coordination.k8s.io/v1beta1` `LeaseCandidate`.
pub(super) const CANDIDATES: ApiResource = ApiResource::new_static(
    "coordination.k8s.io",
    "v1beta1",
    "LeaseCandidate",
    "leasecandidates",
    Scope::Namespaced,
);

/// The object when it is new.
pub(super) fn object(
    namespace: &str,
    name: &str,
    spec: &CandidateSpec,
    renewed: MicroTime,
) -> DynamicObject {
    let spec = json!({
        "leaseName": spec.lease,
        "binaryVersion": spec.binary_version,
        "emulationVersion": spec.emulation_version,
        "strategy": spec.strategy,
        "renewTime": renewed.to_string(),
    });
    DynamicObject {
        types: TypeMeta {
            api_version: CANDIDATES.api_version().into_owned(),
            kind: CANDIDATES.kind.clone().into_owned(),
        },
        metadata: Meta {
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
            ..Meta::default()
        },
        data: [("spec".to_owned(), spec)].into_iter().collect(),
        ..DynamicObject::default()
    }
}

/// Sets the time; the rest stays as it was read.
///
/// Always after the last ping, or a server whose clock is ahead would go on asking, and this
/// candidate go on answering.
pub(super) fn renew(object: &mut DynamicObject, now: MicroTime) {
    let asked = time(object, "pingTime").map_or(i64::MIN, |ping| ping.0.as_microsecond());
    let after = asked.saturating_add(1).max(now.0.as_microsecond());
    let renewed = MicroTime(Timestamp::from_microsecond(after));
    if let Some(Value::Object(spec)) = object.data.get_mut("spec") {
        spec.insert("renewTime".to_owned(), renewed.to_string().into());
    }
}

/// Whether the control plane has asked since the last renewal. Both times are the object's:
/// no clock is compared with another.
pub(super) fn is_pinged(object: &DynamicObject) -> bool {
    match (time(object, "pingTime"), time(object, "renewTime")) {
        (Some(pinged), Some(renewed)) => pinged.0.as_microsecond() > renewed.0.as_microsecond(),
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn time(object: &DynamicObject, field: &str) -> Option<MicroTime> {
    let value = object.data.get("spec")?.get(field)?;
    serde_json::from_value(value.clone()).ok()
}
