use serde_json::{Map, Value};

use super::pod;
use super::read::{get, list, number, text};
use super::report::{Path, Report};

const FROZEN: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// A pod that replaces `old`: nearly all of its spec stays as it is.
pub(super) fn check(new: &Value, old: &Value, report: &mut Report) {
    let at = Path::root("spec");
    let (spec, old_spec) = (get(new, "spec"), get(old, "spec"));
    addresses(get(new, "status"), report);
    if spec == old_spec {
        return;
    }
    pod::spec(&at, spec, &[], report);
    for containers in ["containers", "initContainers"] {
        if list(spec, containers).len() != list(old_spec, containers).len() {
            report.forbidden(
                &at.field(containers),
                &format!("pod updates may not add or remove {}", plural(containers)),
            );
            return;
        }
    }
    deadline(&at, spec, old_spec, report);
    gates(&at, spec, old_spec, report);
    tolerations(&at, spec, old_spec, report);
    if frozen(spec, old_spec) != frozen(old_spec, old_spec) {
        report.forbidden(&at, FROZEN);
    }
}

fn plural(containers: &str) -> &str {
    if containers == "containers" {
        "containers"
    } else {
        "init containers"
    }
}

/// May be set, and shortened.
fn deadline(at: &Path<'_>, spec: &Value, old: &Value, report: &mut Report) {
    let at = at.field("activeDeadlineSeconds");
    match (
        number(spec, "activeDeadlineSeconds"),
        number(old, "activeDeadlineSeconds"),
    ) {
        (Some(new), Some(old)) if new > old => {
            report.invalid(&at, new, "must be less than or equal to previous value");
        }
        (None, Some(_)) => {
            report.invalid(
                &at,
                &Value::Null,
                "must not update from a positive integer to nil value",
            );
        }
        _ => {}
    }
}

fn gates(at: &Path<'_>, spec: &Value, old: &Value, report: &mut Report) {
    for (index, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        if !list(old, "schedulingGates")
            .iter()
            .any(|old| text(old, "name") == name)
        {
            let gates = at.field("schedulingGates");
            let at = gates.index(index);
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            report.forbidden(&at.field("name"), &why);
        }
    }
}

fn tolerations(at: &Path<'_>, spec: &Value, old: &Value, report: &mut Report) {
    // How long a toleration lasts may change.
    let lasting = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Value::Object(toleration) = &mut toleration {
            toleration.remove("tolerationSeconds");
        }
        toleration
    };
    let new: Vec<Value> = list(spec, "tolerations").iter().map(lasting).collect();
    if !list(old, "tolerations")
        .iter()
        .all(|old| new.contains(&lasting(old)))
    {
        report.forbidden(
            &at.field("tolerations"),
            "existing toleration can not be modified except its tolerationSeconds",
        );
    }
}

/// The spec with all that may change taken from `reference`.
fn frozen(spec: &Value, reference: &Value) -> Value {
    let mut frozen = spec.as_object().cloned().unwrap_or_default();
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        copy(&mut frozen, reference, field);
    }
    if !list(reference, "schedulingGates").is_empty() {
        // What no node was chosen for may still say where it wants to go.
        for field in ["nodeSelector", "affinity"] {
            copy(&mut frozen, reference, field);
        }
    }
    if number(reference, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0)
        && number(spec, "terminationGracePeriodSeconds") == Some(1)
    {
        copy(&mut frozen, reference, "terminationGracePeriodSeconds");
    }
    for containers in ["containers", "initContainers"] {
        let old = list(reference, containers);
        if let Some(Value::Array(new)) = frozen.get_mut(containers) {
            for (new, old) in new.iter_mut().zip(old) {
                if let Value::Object(new) = new {
                    copy(new, old, "image");
                }
            }
        }
    }
    Value::Object(frozen)
}

fn copy(to: &mut Map<String, Value>, from: &Value, field: &str) {
    match from.get(field) {
        Some(value) => to.insert(field.to_owned(), value.clone()),
        None => to.remove(field),
    };
}

fn addresses(status: &Value, report: &mut Report) {
    let at = Path::root("status");
    for (index, ip) in list(status, "podIPs").iter().enumerate() {
        let ips = at.field("podIPs");
        pod::ip_address(&ips.index(index), text(ip, "ip"), report);
    }
}
