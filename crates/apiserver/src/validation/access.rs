use evenkeel_meta::GroupVersionKind;
use serde_json::Value;

use super::names;
use super::read::{get, list, text};
use super::report::{Path, Report};
use super::workloads::internal;

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn role(kind: &GroupVersionKind, new: &Value, report: &mut Report) {
    let at = Path::root("rules");
    for (index, rule) in list(new, "rules").iter().enumerate() {
        let at = at.index(index);
        let urls = list(rule, "nonResourceURLs");
        if urls.is_empty() {
            if list(rule, "apiGroups").is_empty() {
                report.required(
                    &at.field("apiGroups"),
                    "resource rules must supply at least one api group",
                );
            }
            if list(rule, "resources").is_empty() {
                report.required(
                    &at.field("resources"),
                    "resource rules must supply at least one resource",
                );
            }
        } else if kind.kind == "Role" {
            let why = "namespaced rules cannot apply to non-resource URLs";
            report.invalid(
                &at.field("nonResourceURLs"),
                get(rule, "nonResourceURLs"),
                why,
            );
        }
        if list(rule, "verbs").is_empty() {
            report.required(&at.field("verbs"), "");
        }
    }
}

pub(super) fn binding(
    kind: &GroupVersionKind,
    new: &Value,
    old: Option<&Value>,
    report: &mut Report,
) {
    let reference = get(new, "roleRef");
    let at = Path::root("roleRef");
    let roles: &[&str] = if kind.kind == "RoleBinding" {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    report.one_of(&at.field("kind"), Some(text(reference, "kind")), roles);
    let role = text(reference, "name");
    if role.is_empty() {
        report.required(&at.field("name"), "");
    } else {
        report.complaints(&at.field("name"), role, &names::path_segment(role));
    }
    let at_subjects = Path::root("subjects");
    for (index, subject) in list(new, "subjects").iter().enumerate() {
        let at = at_subjects.index(index);
        let name = text(subject, "name");
        let group = text(subject, "apiGroup");
        if name.is_empty() {
            report.required(&at.field("name"), "");
        }
        match text(subject, "kind") {
            "ServiceAccount" => {
                if !name.is_empty() {
                    report.complaints(&at.field("name"), name, &names::dns_subdomain(name));
                }
                report.one_of(&at.field("apiGroup"), Some(group), &[""]);
            }
            "User" | "Group" => report.one_of(&at.field("apiGroup"), Some(group), &[RBAC]),
            other => report.not_supported(
                &at.field("kind"),
                other,
                &["ServiceAccount", "User", "Group"],
            ),
        }
    }
    if old.is_some_and(|old| get(old, "roleRef") != reference) {
        let shown = internal(
            reference,
            &[("apiGroup", "APIGroup"), ("kind", "Kind"), ("name", "Name")],
        );
        report.invalid(&at, shown, "field is immutable");
    }
}
