//! Kinds without pods in them.

use serde_json::Value;

use super::names;
use super::pod::annotation;
use super::read::{entries, flag, get, list, map, number, text};
use super::report::{Path, Report};

/// What a ConfigMap or Secret may hold.
const MAX_DATA_BYTES: usize = 1024 * 1024;
const IMMUTABLE: &str = "field is immutable";
const FROZEN: &str = "field is immutable when `immutable` is set";
const NO_FINALIZER: &str = "name is neither a standard finalizer name nor is it fully qualified";

pub(super) fn config_map(new: &Value, old: Option<&Value>, report: &mut Report) {
    let (data, binary) = (Path::root("data"), Path::root("binaryData"));
    let mut size = 0;
    for (key, value) in entries(new, "data") {
        report.complaints(&data.key(key), key, &names::config_key(key));
        if map(new, "binaryData").is_some_and(|binary| binary.contains_key(key)) {
            report.invalid(
                &data.key(key),
                key.as_str(),
                "duplicate of key present in binaryData",
            );
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(new, "binaryData") {
        report.complaints(&binary.key(key), key, &names::config_key(key));
        size += value.as_str().map_or(0, |text| text.len() / 4 * 3);
    }
    if size > MAX_DATA_BYTES {
        report.too_long(&Path::root("").key(""), MAX_DATA_BYTES);
    }
    if let Some(old) = old.filter(|old| flag(old, "immutable")) {
        frozen(new, old, &["immutable", "data", "binaryData"], report);
    }
}

pub(super) fn secret(new: &Value, old: Option<&Value>, report: &mut Report) {
    let data = Path::root("data");
    let mut size = 0;
    for (key, value) in entries(new, "data") {
        report.complaints(&data.key(key), key, &names::config_key(key));
        size += value.as_str().map_or(0, |text| text.len() / 4 * 3);
    }
    if size > MAX_DATA_BYTES {
        report.too_long(&data, MAX_DATA_BYTES);
    }
    let has = |key: &str| map(new, "data").is_some_and(|data| data.contains_key(key));
    let needed: &[&str] = match text(new, "type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        // Either will do.
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            &["username", "password"]
        }
        "kubernetes.io/service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            if annotation(new, name).is_none_or(str::is_empty) {
                let metadata = Path::root("metadata");
                let annotations = metadata.field("annotations");
                report.required(&annotations.key(name), "");
            }
            &[]
        }
        _ => &[],
    };
    for key in needed.iter().filter(|key| !has(key)) {
        report.required(&data.key(key), "");
    }
    let Some(old) = old else { return };
    if text(new, "type") != text(old, "type") {
        report.invalid(&Path::root("type"), text(new, "type"), IMMUTABLE);
    }
    if flag(old, "immutable") {
        frozen(new, old, &["immutable", "data"], report);
    }
}

fn frozen(new: &Value, old: &Value, fields: &[&str], report: &mut Report) {
    for field in fields
        .iter()
        .filter(|field| get(new, field) != get(old, field))
    {
        report.forbidden(&Path::root(field), FROZEN);
    }
}

pub(super) fn namespace(new: &Value, report: &mut Report) {
    let at = Path::root("spec");
    for finalizer in list(get(new, "spec"), "finalizers")
        .iter()
        .filter_map(Value::as_str)
    {
        if finalizer != "kubernetes" && !finalizer.contains('/') {
            report.invalid(&at.field("finalizers"), finalizer, NO_FINALIZER);
        }
    }
}

pub(super) fn lease(new: &Value, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    if let Some(seconds) = number(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        report.invalid(
            &at.field("leaseDurationSeconds"),
            seconds,
            "must be greater than 0",
        );
    }
    report.not_negative(
        &at.field("leaseTransitions"),
        number(spec, "leaseTransitions"),
    );
}

/// An event is in the namespace of what it is about.
pub(super) fn event(new: &Value, report: &mut Report) {
    let namespace = text(get(new, "metadata"), "namespace");
    let involved = text(get(new, "involvedObject"), "namespace");
    if !involved.is_empty() && !namespace.is_empty() && involved != namespace {
        let at = Path::root("involvedObject");
        report.invalid(
            &at.field("namespace"),
            involved,
            "does not match event.namespace",
        );
    }
}
