use std::collections::BTreeSet;

use serde_json::Value;

use super::names;
use super::pod;
use super::probes;
use super::read::{entries, get, list, number, optional_text, text};
use super::report::{Path, Report};
use crate::schema::Quantity;

/// The containers of a pod; `volumes` are the names of its volumes.
pub(super) fn check(at: &Path<'_>, spec: &Value, volumes: &BTreeSet<&str>, report: &mut Report) {
    let containers = list(spec, "containers");
    if containers.is_empty() {
        report.required(&at.field("containers"), "");
    }
    let mut names = BTreeSet::new();
    let mut host_ports = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let list = at.field("containers");
        let at = list.index(index);
        self::container(&at, container, volumes, &mut names, report);
        ports(
            &at.field("ports"),
            self::list(container, "ports"),
            &mut host_ports,
            report,
        );
        probes::of_container(&at, container, report);
    }
    for (index, container) in self::list(spec, "initContainers").iter().enumerate() {
        let list = at.field("initContainers");
        let at = list.index(index);
        self::container(&at, container, volumes, &mut names, report);
        let always = text(container, "restartPolicy") == "Always";
        for probe in [
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            if !always && get(container, probe).is_object() {
                report.forbidden(
                    &at.field(probe),
                    "may not be set for init containers without restartPolicy=Always",
                );
            }
        }
        ports(
            &at.field("ports"),
            self::list(container, "ports"),
            &mut BTreeSet::new(),
            report,
        );
    }
}

fn container<'a>(
    at: &Path<'_>,
    container: &'a Value,
    volumes: &BTreeSet<&str>,
    names: &mut BTreeSet<&'a str>,
    report: &mut Report,
) {
    let name = text(container, "name");
    if name.is_empty() {
        report.required(&at.field("name"), "");
    } else {
        report.complaints(&at.field("name"), name, &names::dns_label(name));
        if !names.insert(name) {
            report.duplicate(&at.field("name"), name);
        }
    }
    let image = text(container, "image");
    if image.is_empty() {
        report.required(&at.field("image"), "");
    } else if image.trim() != image {
        report.invalid(
            &at.field("image"),
            image,
            "must not have leading or trailing whitespace",
        );
    }
    let message_policy = optional_text(container, "terminationMessagePolicy");
    report.one_of(
        &at.field("terminationMessagePolicy"),
        message_policy,
        &["File", "FallbackToLogsOnError"],
    );
    environment(&at.field("env"), list(container, "env"), report);
    mounts(
        &at.field("volumeMounts"),
        list(container, "volumeMounts"),
        volumes,
        report,
    );
    let pull_policy = optional_text(container, "imagePullPolicy");
    report.one_of(
        &at.field("imagePullPolicy"),
        pull_policy,
        &["Always", "IfNotPresent", "Never"],
    );
    resources(&at.field("resources"), get(container, "resources"), report);
    pod::security_context(
        &at.field("securityContext"),
        get(container, "securityContext"),
        report,
    );
}

fn ports<'a>(
    at: &Path<'_>,
    ports: &'a [Value],
    host_ports: &mut BTreeSet<(&'a str, &'a str, i64)>,
    report: &mut Report,
) {
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = at.index(index);
        let name = text(port, "name");
        let complaints = if name.is_empty() {
            Vec::new()
        } else {
            names::port_name(name)
        };
        if !complaints.is_empty() {
            report.complaints(&at.field("name"), name, &complaints);
        } else if !name.is_empty() && !names.insert(name) {
            report.duplicate(&at.field("name"), name);
        }
        match number(port, "containerPort").unwrap_or(0) {
            0 => report.required(&at.field("containerPort"), ""),
            number => port_number(&at.field("containerPort"), number, report),
        }
        if let Some(number) = number(port, "hostPort").filter(|number| *number != 0) {
            port_number(&at.field("hostPort"), number, report);
        }
        report.one_of(
            &at.field("protocol"),
            optional_text(port, "protocol"),
            &["SCTP", "TCP", "UDP"],
        );
    }
    for (index, port) in ports.iter().enumerate() {
        let Some(number) = number(port, "hostPort").filter(|number| *number != 0) else {
            continue;
        };
        let (protocol, ip) = (text(port, "protocol"), text(port, "hostIP"));
        if !host_ports.insert((protocol, ip, number)) {
            let at = at.index(index);
            report.duplicate(
                &at.field("hostPort"),
                format!("{protocol}/{ip}/{number}").as_str(),
            );
        }
    }
}

pub(super) fn port_number(at: &Path<'_>, number: i64, report: &mut Report) {
    if !(1..=65535).contains(&number) {
        report.invalid(at, number, "must be between 1 and 65535, inclusive");
    }
}

/// A port by number or by name.
pub(super) fn port_reference(at: &Path<'_>, port: &Value, report: &mut Report) {
    match port {
        Value::String(name) => report.complaints(at, name, &names::port_name(name)),
        port => port_number(at, port.as_i64().unwrap_or(0), report),
    }
}

fn environment(at: &Path<'_>, variables: &[Value], report: &mut Report) {
    for (index, variable) in variables.iter().enumerate() {
        let at = at.index(index);
        let name = text(variable, "name");
        if name.is_empty() {
            report.required(&at.field("name"), "");
        } else {
            report.complaints(&at.field("name"), name, &names::environment_variable(name));
        }
        let source = get(variable, "valueFrom");
        if source.is_object() {
            variable_source(&at.field("valueFrom"), variable, source, report);
        }
    }
}

fn variable_source(at: &Path<'_>, variable: &Value, source: &Value, report: &mut Report) {
    let mut sources = 0;
    let field = get(source, "fieldRef");
    if field.is_object() {
        sources += 1;
        let at = at.field("fieldRef");
        let path = text(field, "fieldPath");
        if path.is_empty() {
            report.required(&at.field("fieldPath"), "");
        } else if !is_field_label(path) {
            let why = format!("error converting fieldPath: field label not supported: {path}");
            report.invalid(&at.field("fieldPath"), path, &why);
        }
    }
    sources += usize::from(get(source, "resourceFieldRef").is_object());
    for reference in ["configMapKeyRef", "secretKeyRef"] {
        let value = get(source, reference);
        if !value.is_object() {
            continue;
        }
        sources += 1;
        let at = at.field(reference);
        let name = text(value, "name");
        report.complaints(&at.field("name"), name, &names::dns_subdomain(name));
        let key = text(value, "key");
        if key.is_empty() {
            report.required(&at.field("key"), "");
        } else {
            report.complaints(&at.field("key"), key, &names::config_key(key));
        }
    }
    sources += usize::from(get(source, "fileKeyRef").is_object());
    if sources == 0 {
        let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        report.invalid(at, "", why);
    } else if !text(variable, "value").is_empty() {
        report.invalid(at, "", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        report.invalid(
            at,
            "",
            "may not have more than one field specified at a time",
        );
    }
}

/// What of a pod its own containers may be told.
fn is_field_label(path: &str) -> bool {
    let subscripted = ["metadata.labels['", "metadata.annotations['"];
    subscripted
        .iter()
        .any(|start| path.starts_with(start) && path.ends_with("']"))
        || [
            "metadata.annotations",
            "metadata.labels",
            "metadata.name",
            "metadata.namespace",
            "metadata.uid",
            "spec.hostNetwork",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.hostIP",
            "status.hostIPs",
            "status.phase",
            "status.podIP",
            "status.podIPs",
        ]
        .contains(&path)
}

fn mounts(at: &Path<'_>, mounts: &[Value], volumes: &BTreeSet<&str>, report: &mut Report) {
    let mut paths = BTreeSet::new();
    for (index, mount) in mounts.iter().enumerate() {
        let at = at.index(index);
        let (name, path) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            report.required(&at.field("name"), "");
        }
        if !volumes.contains(name) {
            report.not_found(&at.field("name"), name);
        }
        if path.is_empty() {
            report.required(&at.field("mountPath"), "");
        }
        if !paths.insert(path) {
            report.invalid(&at.field("mountPath"), path, "must be unique");
        }
    }
}

fn resources(at: &Path<'_>, resources: &Value, report: &mut Report) {
    let limit_of = |name: &str| quantity(get(get(resources, "limits"), name));
    for (name, value) in entries(resources, "limits") {
        let limits = at.field("limits");
        resource(&limits.key(name), name, value, report);
    }
    for (name, value) in entries(resources, "requests") {
        let requests = at.field("requests");
        resource(&requests.key(name), name, value, report);
        if let (Some(request), Some(limit)) = (quantity(value), limit_of(name))
            && request > limit
        {
            let why = format!("must be less than or equal to {name} limit of {limit}");
            report.invalid(&requests, value, &why);
        }
    }
}

fn resource(at: &Path<'_>, name: &str, value: &Value, report: &mut Report) {
    let complaints = names::qualified(name);
    report.complaints(at, name, &complaints);
    if complaints.is_empty() && !name.contains('/') {
        let standard = ["cpu", "memory", "ephemeral-storage"];
        if !standard.contains(&name) && !name.starts_with("hugepages-") {
            report.invalid(
                at,
                name,
                "must be a standard resource type or fully qualified",
            );
            report.invalid(at, name, "must be a standard resource for containers");
        }
    }
    if quantity(value).is_some_and(Quantity::is_negative) {
        report.invalid(at, value, "must be greater than or equal to 0");
    }
}

fn quantity(value: &Value) -> Option<Quantity> {
    value.as_str()?.parse().ok()
}
