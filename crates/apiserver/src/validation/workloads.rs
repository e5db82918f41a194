use serde_json::Value;

use super::pod;
use super::read::{entries, get, list, number, optional_text, text};
use super::report::{Path, Raw, Report};
use super::selectors;
use super::storage;

const IMMUTABLE: &str = "field is immutable";

pub(super) fn deployment(new: &Value, old: Option<&Value>, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    report.not_negative(&at.field("replicas"), number(spec, "replicas"));
    let selector = Selector {
        noun: "deployment",
        required: true,
    };
    selector.check(&at, spec, report);
    template(&at, spec, "ReplicaSet", report);
    deployment_strategy(&at.field("strategy"), get(spec, "strategy"), report);
    report.not_negative(
        &at.field("minReadySeconds"),
        number(spec, "minReadySeconds"),
    );
    report.not_negative(
        &at.field("revisionHistoryLimit"),
        number(spec, "revisionHistoryLimit"),
    );
    let deadline = number(spec, "progressDeadlineSeconds");
    report.not_negative(&at.field("progressDeadlineSeconds"), deadline);
    if let Some(deadline) =
        deadline.filter(|deadline| *deadline <= number(spec, "minReadySeconds").unwrap_or(0))
    {
        report.invalid(
            &at.field("progressDeadlineSeconds"),
            deadline,
            "must be greater than minReadySeconds",
        );
    }
    immutable_selector(&at, spec, old, report);
}

pub(super) fn replica_set(new: &Value, old: Option<&Value>, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    report.not_negative(&at.field("replicas"), number(spec, "replicas"));
    report.not_negative(
        &at.field("minReadySeconds"),
        number(spec, "minReadySeconds"),
    );
    // The real server takes the other kind's word here.
    let selector = Selector {
        noun: "deployment",
        required: true,
    };
    selector.check(&at, spec, report);
    template(&at, spec, "ReplicaSet", report);
    immutable_selector(&at, spec, old, report);
}

pub(super) fn replication_controller(new: &Value, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    report.not_negative(&at.field("replicas"), number(spec, "replicas"));
    report.not_negative(
        &at.field("minReadySeconds"),
        number(spec, "minReadySeconds"),
    );
    if entries(spec, "selector").next().is_none() {
        report.required(&at.field("selector"), "");
    }
    template(&at, spec, "ReplicationController", report);
}

pub(super) fn stateful_set(new: &Value, old: Option<&Value>, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    let management = text(spec, "podManagementPolicy");
    if !matches!(management, "OrderedReady" | "Parallel") {
        report.invalid(
            &at.field("podManagementPolicy"),
            management,
            "must be 'OrderedReady' or 'Parallel'",
        );
    }
    let strategy = get(spec, "updateStrategy");
    let at_strategy = at.field("updateStrategy");
    let rolling = get(strategy, "rollingUpdate");
    let at_rolling = at_strategy.field("rollingUpdate");
    match text(strategy, "type") {
        "RollingUpdate" => {
            report.not_negative(&at_rolling.field("partition"), number(rolling, "partition"));
        }
        "OnDelete" if rolling.is_object() => {
            let shown = internal(
                rolling,
                &[
                    ("partition", "Partition"),
                    ("maxUnavailable", "MaxUnavailable"),
                ],
            );
            report.invalid(
                &at_rolling,
                shown,
                "only allowed for updateStrategy 'RollingUpdate'",
            );
        }
        "OnDelete" => {}
        _ => {
            let shown = internal(
                strategy,
                &[("type", "Type"), ("rollingUpdate", "RollingUpdate")],
            );
            report.invalid(&at_strategy, shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
    let retention = get(spec, "persistentVolumeClaimRetentionPolicy");
    let at_retention = at.field("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        report.one_of(
            &at_retention.field(field),
            optional_text(retention, field),
            &["Retain", "Delete"],
        );
    }
    report.not_negative(&at.field("replicas"), number(spec, "replicas"));
    report.not_negative(
        &at.field("minReadySeconds"),
        number(spec, "minReadySeconds"),
    );
    let ordinals = at.field("ordinals");
    report.not_negative(
        &ordinals.field("start"),
        number(get(spec, "ordinals"), "start"),
    );
    let selector = Selector {
        noun: "statefulset",
        required: true,
    };
    selector.check(&at, spec, report);
    let service = text(spec, "serviceName");
    if !service.is_empty() {
        report.complaints(
            &at.field("serviceName"),
            service,
            &super::names::dns_label(service),
        );
    }
    template(&at, spec, "StatefulSet", report);
    for (index, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
        let claims = at.field("volumeClaimTemplates");
        let at = claims.index(index);
        storage::claim_spec(&at.field("spec"), get(claim, "spec"), report);
    }
    if let Some(old) = old {
        stateful_set_update(spec, get(old, "spec"), report);
    }
}

fn stateful_set_update(new: &Value, old: &Value, report: &mut Report) {
    let at = Path::root("spec");
    for field in [
        "serviceName",
        "podManagementPolicy",
        "selector",
        "volumeClaimTemplates",
    ] {
        if get(new, field) != get(old, field) {
            report.invalid(&at.field(field), get(new, field), IMMUTABLE);
        }
    }
}

pub(super) fn daemon_set(new: &Value, old: Option<&Value>, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    let selector = Selector {
        noun: "daemonset",
        required: false,
    };
    selector.check(&at, spec, report);
    template(&at, spec, "DaemonSet", report);
    report.not_negative(
        &at.field("minReadySeconds"),
        number(spec, "minReadySeconds"),
    );
    daemon_set_strategy(
        &at.field("updateStrategy"),
        get(spec, "updateStrategy"),
        report,
    );
    report.not_negative(
        &at.field("revisionHistoryLimit"),
        number(spec, "revisionHistoryLimit"),
    );
    immutable_selector(&at, spec, old, report);
}

fn daemon_set_strategy(at: &Path<'_>, strategy: &Value, report: &mut Report) {
    let at_rolling = at.field("rollingUpdate");
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = get(strategy, "rollingUpdate");
            let (surge, unavailable) = (get(rolling, "maxSurge"), get(rolling, "maxUnavailable"));
            portion(
                &at_rolling.field("maxUnavailable"),
                unavailable,
                true,
                report,
            );
            portion(&at_rolling.field("maxSurge"), surge, true, report);
            match (is_zero(surge), is_zero(unavailable)) {
                (true, true) => {
                    report.required(
                        &at_rolling.field("maxUnavailable"),
                        "cannot be 0 when maxSurge is 0",
                    );
                }
                (false, false) => report.invalid(
                    &at_rolling.field("maxSurge"),
                    surge,
                    "may not be set when maxUnavailable is non-zero",
                ),
                _ => {}
            }
        }
        _ => {
            let shown = internal(
                strategy,
                &[("type", "Type"), ("rollingUpdate", "RollingUpdate")],
            );
            report.not_supported(at, shown, &["RollingUpdate", "OnDelete"]);
        }
    }
}

fn deployment_strategy(at: &Path<'_>, strategy: &Value, report: &mut Report) {
    let rolling = get(strategy, "rollingUpdate");
    let at_rolling = at.field("rollingUpdate");
    match text(strategy, "type") {
        "Recreate" if rolling.is_object() => {
            report.forbidden(
                &at_rolling,
                "may not be specified when strategy `type` is 'Recreate'",
            );
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let (surge, unavailable) = (get(rolling, "maxSurge"), get(rolling, "maxUnavailable"));
            let at_unavailable = at_rolling.field("maxUnavailable");
            portion(&at_unavailable, unavailable, false, report);
            portion(&at_rolling.field("maxSurge"), surge, false, report);
            if is_zero(unavailable) && is_zero(surge) {
                report.invalid(
                    &at_unavailable,
                    unavailable,
                    "may not be 0 when `maxSurge` is 0",
                );
            }
            not_above_all(&at_unavailable, unavailable, report);
        }
        _ => {
            let shown = internal(
                strategy,
                &[("type", "Type"), ("rollingUpdate", "RollingUpdate")],
            );
            report.not_supported(at, shown, &["Recreate", "RollingUpdate"]);
        }
    }
}

/// A number that is not negative, or a percentage.
pub(super) fn portion(at: &Path<'_>, value: &Value, at_most_all: bool, report: &mut Report) {
    match value {
        Value::String(text) if percentage(text).is_none() => report.invalid(
            at,
            text.as_str(),
            "a valid percent string must be a numeric string followed by an ending '%' \
             (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        ),
        Value::Number(number) => report.not_negative(at, number.as_i64()),
        _ => {}
    }
    if at_most_all {
        not_above_all(at, value, report);
    }
}

fn not_above_all(at: &Path<'_>, value: &Value, report: &mut Report) {
    if let Some(text) = value.as_str()
        && percentage(text).is_some_and(|percent| percent > 100)
    {
        report.invalid(at, text, "must not be greater than 100%");
    }
}

fn percentage(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => percentage(text) == Some(0),
        Value::Number(number) => number.as_i64() == Some(0),
        _ => true,
    }
}

/// How a kind words the rules of its selector.
struct Selector {
    noun: &'static str,
    required: bool,
}

impl Selector {
    fn check(&self, at: &Path<'_>, spec: &Value, report: &mut Report) {
        let selector = get(spec, "selector");
        let labels = get(get(get(spec, "template"), "metadata"), "labels");
        let at_selector = at.field("selector");
        let before = report.len();
        if selector.is_null() {
            if self.required {
                report.required(&at_selector, "");
            }
        } else {
            selectors::check(&at_selector, selector, report);
            if selectors::is_empty(selector) {
                let why = format!("empty selector is invalid for {}", self.noun);
                report.invalid(&at_selector, selector, &why);
                return;
            }
        }
        if report.len() > before && !selector.is_null() {
            report.invalid(&at_selector, selector, "invalid label selector");
            return;
        }
        if selector.is_null() || !selectors::matches(selector, labels) {
            let template = at.field("template");
            let metadata = template.field("metadata");
            report.invalid(
                &metadata.field("labels"),
                labels,
                "`selector` does not match template `labels`",
            );
        }
    }
}

/// The template of a kind whose pods always run; `kind` is the one that the real server names.
fn template(at: &Path<'_>, spec: &Value, kind: &str, report: &mut Report) {
    let claims = list(spec, "volumeClaimTemplates").iter();
    let claims: Vec<&str> = claims
        .map(|claim| text(get(claim, "metadata"), "name"))
        .collect();
    let template = get(spec, "template");
    let at = at.field("template");
    pod::template(&at, template, &claims, report);
    let at = at.field("spec");
    let pod = get(template, "spec");
    if let Some(policy) = optional_text(pod, "restartPolicy").filter(|policy| *policy != "Always")
        && matches!(policy, "OnFailure" | "Never")
    {
        report.not_supported(&at.field("restartPolicy"), policy, &["Always"]);
    }
    if number(pod, "activeDeadlineSeconds").is_some() {
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        report.forbidden(&at.field("activeDeadlineSeconds"), &why);
    }
}

fn immutable_selector(at: &Path<'_>, spec: &Value, old: Option<&Value>, report: &mut Report) {
    let Some(old) = old else { return };
    let selector = get(spec, "selector");
    if selector != get(get(old, "spec"), "selector") {
        report.invalid(&at.field("selector"), selector, IMMUTABLE);
    }
}

/// An object as the real server shows its internal form: fields by their Go names.
pub(super) fn internal(object: &Value, fields: &[(&str, &str)]) -> Raw {
    let fields: Vec<String> = fields
        .iter()
        .map(|(json, go)| format!("\"{go}\":{}", get(object, json)))
        .collect();
    Raw(format!("{{{}}}", fields.join(",")))
}
