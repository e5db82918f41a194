use evenkeel_meta::GroupVersionKind;
use serde_json::Value;

use super::names::{self, Complaints};
use super::read::{entries, get, optional_text};
use super::report::{Path, Report};

const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// Name, labels and annotations. An object's name cannot change, so it is looked at once.
pub(super) fn check(kind: &GroupVersionKind, new: &Value, is_create: bool, report: &mut Report) {
    let metadata = get(new, "metadata");
    let at = Path::root("metadata");
    if is_create {
        let form = name_form(kind);
        match (
            optional_text(metadata, "generateName"),
            optional_text(metadata, "name"),
        ) {
            // The name that was made of the prefix would only repeat its faults.
            (Some(prefix), name) if !names::generated(prefix, form).is_empty() => {
                report.complaints(
                    &at.field("generateName"),
                    prefix,
                    &names::generated(prefix, form),
                );
                if name.is_none_or(str::is_empty) {
                    return;
                }
            }
            (_, Some(name)) if !name.is_empty() => {
                report.complaints(&at.field("name"), name, &form(name));
            }
            _ => {}
        }
    }
    labels(&at.field("labels"), get(metadata, "labels"), report);
    annotations(&at.field("annotations"), metadata, report);
}

fn name_form(kind: &GroupVersionKind) -> fn(&str) -> Complaints {
    match (&*kind.group, &*kind.kind) {
        ("", "Namespace" | "Service") => names::dns_label,
        ("apps", "StatefulSet") => names::dns_label,
        ("batch", "CronJob") => cron_job,
        ("rbac.authorization.k8s.io", _) => names::path_segment,
        ("apiregistration.k8s.io" | "certificates.k8s.io", _) => names::path_segment,
        _ => names::dns_subdomain,
    }
}

/// Leaves room for what is appended for its Jobs.
fn cron_job(name: &str) -> Complaints {
    let mut complaints = names::dns_subdomain(name);
    if name.len() > 52 {
        complaints.push(names::longer_than(52));
    }
    complaints
}

pub(super) fn labels(at: &Path<'_>, labels: &Value, report: &mut Report) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        report.complaints(at, key, &names::qualified(key));
        let value = value.as_str().unwrap_or_default();
        report.complaints(at, value, &names::label_value(value));
    }
}

pub(super) fn annotations(at: &Path<'_>, metadata: &Value, report: &mut Report) {
    let mut size = 0;
    for (key, value) in entries(metadata, "annotations") {
        // The case of the domain does not matter.
        report.complaints(at, key, &names::qualified(&key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATION_BYTES {
        report.too_long(at, MAX_ANNOTATION_BYTES);
    }
}
