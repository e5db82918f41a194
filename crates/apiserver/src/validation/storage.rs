use serde_json::Value;

use super::names;
use super::read::{get, list, optional_text, text};
use super::report::{Path, Report};
use crate::schema::Quantity;

const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const FROZEN: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

pub(super) fn persistent_volume_claim(new: &Value, old: Option<&Value>, report: &mut Report) {
    let at = Path::root("spec");
    claim_spec(&at, get(new, "spec"), report);
    if let Some(old) = old {
        let bound = text(get(old, "status"), "phase") == "Bound";
        if frozen(new, get(old, "spec"), bound) != frozen(old, get(old, "spec"), bound) {
            report.forbidden(&at, FROZEN);
        }
    }
}

/// What a claim asks for; also that of a StatefulSet's template.
pub(super) fn claim_spec(at: &Path<'_>, spec: &Value, report: &mut Report) {
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        report.required(
            &at.field("accessModes"),
            "at least 1 access mode is required",
        );
    }
    for mode in modes {
        report.one_of(&at.field("accessModes"), mode.as_str(), &ACCESS_MODES);
    }
    let resources = at.field("resources");
    let requests = get(get(spec, "resources"), "requests");
    match requests
        .get("storage")
        .and_then(Value::as_str)
        .map(|text| (text, text.parse::<Quantity>()))
    {
        None => report.required(&resources.key("storage"), ""),
        Some((text, Ok(quantity))) if quantity.is_negative() || text == "0" => {
            report.invalid(&resources.key("storage"), text, "must be greater than zero");
        }
        Some(_) => {}
    }
    if let Some(class) = optional_text(spec, "storageClassName").filter(|class| !class.is_empty()) {
        report.complaints(
            &at.field("storageClassName"),
            class,
            &names::dns_subdomain(class),
        );
    }
    report.one_of(
        &at.field("volumeMode"),
        optional_text(spec, "volumeMode"),
        &["Block", "Filesystem"],
    );
}

/// The spec without what may still be set or changed.
fn frozen(claim: &Value, old: &Value, bound: bool) -> Value {
    let mut spec = get(claim, "spec").clone();
    if let Value::Object(spec) = &mut spec {
        for field in ["volumeName", "storageClassName"] {
            if old.get(field).is_none() {
                spec.remove(field);
            }
        }
        if bound {
            spec.remove("volumeAttributesClassName");
            if let Some(Value::Object(resources)) = spec.get_mut("resources") {
                resources.remove("requests");
            }
        }
    }
    spec
}
