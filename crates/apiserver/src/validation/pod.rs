use serde_json::Value;

use super::containers;
use super::metadata;
use super::names;
use super::read::{get, list, map, number, optional_text, text};
use super::report::{Path, Report};
use super::volumes;

/// A new pod.
pub(super) fn check(pod: &Value, report: &mut Report) {
    let at = Path::root("spec");
    spec(&at, get(pod, "spec"), &[], report);
    if !list(get(pod, "spec"), "ephemeralContainers").is_empty() {
        report.forbidden(&at.field("ephemeralContainers"), "cannot be set on create");
    }
}

/// A pod template: what new pods are made of. They get `claims` as volumes besides their own.
pub(super) fn template(at: &Path<'_>, template: &Value, claims: &[&str], report: &mut Report) {
    let metadata = get(template, "metadata");
    metadata::labels(&at.field("labels"), get(metadata, "labels"), report);
    metadata::annotations(&at.field("annotations"), metadata, report);
    let at = at.field("spec");
    let spec = get(template, "spec");
    self::spec(&at, spec, claims, report);
    if !list(spec, "ephemeralContainers").is_empty() {
        report.forbidden(
            &at.field("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        );
    }
}

pub(super) fn spec(at: &Path<'_>, spec: &Value, claims: &[&str], report: &mut Report) {
    let mut volumes = volumes::check(&at.field("volumes"), list(spec, "volumes"), report);
    volumes.extend(claims);
    containers::check(at, spec, &volumes, report);
    report.one_of(
        &at.field("restartPolicy"),
        optional_text(spec, "restartPolicy"),
        &["Always", "OnFailure", "Never"],
    );
    report.one_of(
        &at.field("dnsPolicy"),
        optional_text(spec, "dnsPolicy"),
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    );
    metadata::labels(&at.field("nodeSelector"), get(spec, "nodeSelector"), report);
    security_context(
        &at.field("securityContext"),
        get(spec, "securityContext"),
        report,
    );
    affinity(&at.field("affinity"), get(spec, "affinity"), report);
    for (field, form) in [
        (
            "serviceAccountName",
            names::dns_subdomain as fn(&str) -> names::Complaints,
        ),
        ("nodeName", names::dns_subdomain),
        ("hostname", names::dns_label),
        ("subdomain", names::dns_label),
    ] {
        if let Some(name) = optional_text(spec, field).filter(|name| !name.is_empty()) {
            report.complaints(&at.field(field), name, &form(name));
        }
    }
    if let Some(seconds) = number(spec, "activeDeadlineSeconds")
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        report.invalid(
            &at.field("activeDeadlineSeconds"),
            seconds,
            "must be between 1 and 2147483647, inclusive",
        );
    }
    tolerations(&at.field("tolerations"), list(spec, "tolerations"), report);
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let aliases = at.field("hostAliases");
        let at = aliases.index(index);
        ip_address(&at.field("ip"), text(alias, "ip"), report);
    }
    topology(
        &at.field("topologySpreadConstraints"),
        list(spec, "topologySpreadConstraints"),
        report,
    );
}

pub(super) fn ip_address(at: &Path<'_>, text: &str, report: &mut Report) {
    if text.parse::<std::net::IpAddr>().is_err() {
        report.invalid(
            at,
            text,
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        );
    }
}

/// User and group numbers, of a pod or a container.
pub(super) fn security_context(at: &Path<'_>, context: &Value, report: &mut Report) {
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        if let Some(id) =
            number(context, field).filter(|id| !(0..=i64::from(i32::MAX)).contains(id))
        {
            report.invalid(
                &at.field(field),
                id,
                "must be between 0 and 2147483647, inclusive",
            );
        }
    }
}

fn affinity(at: &Path<'_>, affinity: &Value, report: &mut Report) {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let node = at.field("nodeAffinity");
    let selector = get(get(affinity, "nodeAffinity"), required);
    if selector.is_object() && list(selector, "nodeSelectorTerms").is_empty() {
        let at = node.field(required);
        report.required(
            &at.field("nodeSelectorTerms"),
            "must have at least one node selector term",
        );
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        let at = at.field(field);
        for (index, term) in list(get(affinity, field), required).iter().enumerate() {
            let terms = at.field(required);
            let at = terms.index(index);
            if text(term, "topologyKey").is_empty() {
                report.required(&at.field("topologyKey"), "can not be empty");
            }
        }
    }
}

pub(super) fn tolerations(at: &Path<'_>, tolerations: &[Value], report: &mut Report) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let at = at.index(index);
        let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
        if !key.is_empty() {
            report.complaints(&at.field("key"), key, &names::qualified(key));
        }
        if key.is_empty() && operator != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            report.invalid(&at.field("operator"), operator, why);
        }
        if number(toleration, "tolerationSeconds").is_some()
            && text(toleration, "effect") != "NoExecute"
        {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            report.invalid(&at.field("effect"), text(toleration, "effect"), why);
        }
        match operator {
            "" | "Equal" => {
                let value = text(toleration, "value");
                report.complaints(&at.field("operator"), value, &names::label_value(value));
            }
            "Exists" if !text(toleration, "value").is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                report.invalid(&at.field("operator"), text(toleration, "value"), why);
            }
            "Exists" => {}
            other => report.not_supported(&at.field("operator"), other, &["Equal", "Exists"]),
        }
        let effect = optional_text(toleration, "effect").filter(|effect| !effect.is_empty());
        report.one_of(
            &at.field("effect"),
            effect,
            &["NoSchedule", "PreferNoSchedule", "NoExecute"],
        );
    }
}

fn topology(at: &Path<'_>, constraints: &[Value], report: &mut Report) {
    for (index, constraint) in constraints.iter().enumerate() {
        let at = at.index(index);
        if let Some(skew) = number(constraint, "maxSkew").filter(|skew| *skew <= 0) {
            report.invalid(&at.field("maxSkew"), skew, "must be greater than zero");
        }
        if text(constraint, "topologyKey").is_empty() {
            report.required(&at.field("topologyKey"), "can not be empty");
        }
        let when = optional_text(constraint, "whenUnsatisfiable");
        report.one_of(
            &at.field("whenUnsatisfiable"),
            when,
            &["DoNotSchedule", "ScheduleAnyway"],
        );
    }
}

/// An annotation of an object.
pub(super) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    map(get(object, "metadata"), "annotations")?
        .get(key)?
        .as_str()
}
