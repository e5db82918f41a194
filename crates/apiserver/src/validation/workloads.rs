use serde_json::Value;

use super::pod;
use super::read::{entries, get, list, number, optional_text, text};
use super::report::{Path, Raw, Report};
use super::rollout;
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
    rollout::deployment(&at.field("strategy"), get(spec, "strategy"), report);
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
    rollout::daemon_set(
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
