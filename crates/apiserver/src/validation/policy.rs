use serde_json::Value;

use super::read::{get, list, number, optional_text, text};
use super::report::{Path, Report};
use super::rollout::portion;
use super::selectors;
use super::workloads::internal;

const MAX_USER_PRIORITY: i64 = 1_000_000_000;

pub(super) fn disruption_budget(new: &Value, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    let (available, unavailable) = (get(spec, "minAvailable"), get(spec, "maxUnavailable"));
    if !available.is_null() && !unavailable.is_null() {
        let fields = [
            ("minAvailable", "MinAvailable"),
            ("selector", "Selector"),
            ("maxUnavailable", "MaxUnavailable"),
            ("unhealthyPodEvictionPolicy", "UnhealthyPodEvictionPolicy"),
        ];
        report.invalid(
            &at,
            internal(spec, &fields),
            "minAvailable and maxUnavailable cannot be both set",
        );
    }
    portion(&at.field("minAvailable"), available, true, report);
    portion(&at.field("maxUnavailable"), unavailable, true, report);
    selectors::check(&at.field("selector"), get(spec, "selector"), report);
    let policy = optional_text(spec, "unhealthyPodEvictionPolicy");
    report.one_of(
        &at.field("unhealthyPodEvictionPolicy"),
        policy,
        &["AlwaysAllow", "IfHealthyBudget"],
    );
}

pub(super) fn autoscaler(new: &Value, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    let (least, most) = (
        number(spec, "minReplicas").unwrap_or(1),
        number(spec, "maxReplicas").unwrap_or(0),
    );
    report.not_negative(&at.field("minReplicas"), Some(least));
    if most < least {
        report.invalid(
            &at.field("maxReplicas"),
            most,
            "must be greater than or equal to `minReplicas`",
        );
    }
    let target = get(spec, "scaleTargetRef");
    let at_target = at.field("scaleTargetRef");
    for field in ["kind", "name"] {
        if text(target, field).is_empty() {
            report.required(&at_target.field(field), "");
        }
    }
    if text(target, "apiVersion").is_empty() {
        report.invalid(
            &at_target.field("apiVersion"),
            "",
            "apiVersion must specify API group",
        );
    }
    if most == 0 {
        report.required(&at.field("maxReplicas"), "");
    }
    let wakes = |metric: &Value| matches!(text(metric, "type"), "Object" | "External");
    if least == 0 && !list(spec, "metrics").iter().any(wakes) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        report.forbidden(&at.field("metrics"), why);
    }
}

pub(super) fn priority_class(new: &Value, old: Option<&Value>, report: &mut Report) {
    let name = text(get(new, "metadata"), "name");
    let value = number(new, "value").unwrap_or(0);
    if !name.starts_with("system-") && value > MAX_USER_PRIORITY {
        let why =
            format!("maximum allowed value of a user defined priority is {MAX_USER_PRIORITY}");
        report.forbidden(&Path::root("value"), &why);
    }
    let preemption = optional_text(new, "preemptionPolicy");
    report.one_of(
        &Path::root("preemptionPolicy"),
        preemption,
        &["PreemptLowerPriority", "Never"],
    );
    let Some(old) = old else { return };
    if number(old, "value").unwrap_or(0) != value {
        report.forbidden(&Path::root("value"), "may not be changed in an update.");
    }
    if optional_text(old, "preemptionPolicy") != preemption {
        report.invalid(
            &Path::root("preemptionPolicy"),
            get(new, "preemptionPolicy"),
            "field is immutable",
        );
    }
}
