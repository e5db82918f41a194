//! The columns of nodes, namespaces, configuration, storage and events.

use evenkeel_meta::Timestamp;
use serde_json::Value;

use super::column::{age, count, created_at, entries, list, name, string, text_or_none, wide};
use super::{Column, duration};
use crate::object::{field, text};

pub(super) fn columns(group: &str, plural: &str) -> Option<Vec<Column>> {
    Some(match (group, plural) {
        ("", "namespaces") => vec![
            name(),
            string("Status", |it, _| it["status"]["phase"].clone()),
            age(),
        ],
        ("", "nodes") => nodes(),
        ("", "configmaps") => vec![
            name(),
            string("Data", |it, _| entries(it, &["data", "binaryData"])),
            age(),
        ],
        ("", "secrets") => vec![
            name(),
            string("Type", |it, _| text_or_none(it, &["type"])),
            string("Data", |it, _| entries(it, &["data"])),
            age(),
        ],
        ("" | "events.k8s.io", "events") => events(),
        ("coordination.k8s.io", "leases") => vec![
            name(),
            string("Holder", |it, _| {
                text(it, &["spec", "holderIdentity"])
                    .unwrap_or_default()
                    .into()
            }),
            age(),
        ],
        ("", "persistentvolumeclaims") => vec![
            name(),
            string("Status", |it, _| {
                match field(it, &["metadata", "deletionTimestamp"]) {
                    Some(_) => "Terminating".into(),
                    None => text(it, &["status", "phase"]).unwrap_or_default().into(),
                }
            }),
            string("Volume", |it, _| {
                text(it, &["spec", "volumeName"]).unwrap_or_default().into()
            }),
            string("Capacity", |it, _| {
                text(it, &["status", "capacity", "storage"])
                    .unwrap_or_default()
                    .into()
            }),
            string("Access Modes", |it, _| {
                access_modes(it, &["status", "accessModes"]).into()
            }),
            string("StorageClass", |it, _| {
                text(it, &["spec", "storageClassName"])
                    .unwrap_or_default()
                    .into()
            }),
            string("VolumeAttributesClass", |it, _| {
                unset(it, &["spec", "volumeAttributesClassName"])
            }),
            age(),
            wide("VolumeMode", |it, _| unset(it, &["spec", "volumeMode"])),
        ],
        ("", "persistentvolumes") => vec![
            name(),
            string("Capacity", |it, _| {
                text(it, &["spec", "capacity", "storage"])
                    .unwrap_or_default()
                    .into()
            }),
            string("Access Modes", |it, _| {
                access_modes(it, &["spec", "accessModes"]).into()
            }),
            string("Reclaim Policy", |it, _| {
                text(it, &["spec", "persistentVolumeReclaimPolicy"])
                    .unwrap_or_default()
                    .into()
            }),
            string("Status", |it, _| {
                match field(it, &["metadata", "deletionTimestamp"]) {
                    Some(_) => "Terminating".into(),
                    None => text(it, &["status", "phase"]).unwrap_or_default().into(),
                }
            }),
            string("Claim", |it, _| {
                let part = |name: &str| text(it, &["spec", "claimRef", name]);
                part("name").map_or(Value::from(""), |name| {
                    format!("{}/{name}", part("namespace").unwrap_or_default()).into()
                })
            }),
            string("StorageClass", |it, _| {
                text(it, &["spec", "storageClassName"])
                    .unwrap_or_default()
                    .into()
            }),
            string("VolumeAttributesClass", |it, _| {
                unset(it, &["spec", "volumeAttributesClassName"])
            }),
            string("Reason", |it, _| {
                text(it, &["status", "reason"]).unwrap_or_default().into()
            }),
            age(),
            wide("VolumeMode", |it, _| unset(it, &["spec", "volumeMode"])),
        ],
        ("", "limitranges") => vec![name(), created_at()],
        ("apiextensions.k8s.io", "customresourcedefinitions") => vec![name(), created_at()],
        ("storage.k8s.io", "storageclasses") => vec![
            name(),
            string("Provisioner", |it, _| {
                text(it, &["provisioner"]).unwrap_or_default().into()
            }),
            string("ReclaimPolicy", |it, _| {
                text(it, &["reclaimPolicy"]).unwrap_or("Delete").into()
            }),
            string("VolumeBindingMode", |it, _| {
                unset(it, &["volumeBindingMode"])
            }),
            string("AllowVolumeExpansion", |it, _| {
                let allowed = field(it, &["allowVolumeExpansion"])
                    .and_then(Value::as_bool)
                    .unwrap_or(false);
                allowed.to_string().into()
            }),
            age(),
        ],
        _ => return None,
    })
}

fn nodes() -> Vec<Column> {
    vec![
        name(),
        string("Status", |it, _| node_status(it).into()),
        string("Roles", |it, _| node_roles(it).into()),
        age(),
        string("Version", |it, _| {
            text(it, &["status", "nodeInfo", "kubeletVersion"])
                .unwrap_or_default()
                .into()
        }),
        wide("Internal-IP", |it, _| node_address(it, "InternalIP")),
        wide("External-IP", |it, _| node_address(it, "ExternalIP")),
        wide("OS-Image", |it, _| node_info(it, "osImage")),
        wide("Kernel-Version", |it, _| node_info(it, "kernelVersion")),
        wide("Container-Runtime", |it, _| {
            node_info(it, "containerRuntimeVersion")
        }),
    ]
}

fn node_status(node: &Value) -> String {
    let ready = list(node, &["status", "conditions"])
        .iter()
        .find(|condition| text(condition, &["type"]) == Some("Ready"));
    let mut status = match ready.and_then(|condition| text(condition, &["status"])) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if field(node, &["spec", "unschedulable"]).and_then(Value::as_bool) == Some(true) {
        status += ",SchedulingDisabled";
    }
    status
}

fn node_roles(node: &Value) -> String {
    let labels = field(node, &["metadata", "labels"]).and_then(Value::as_object);
    let roles: Vec<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) if !role.is_empty() => Some(role),
                _ if key == "kubernetes.io/role" => value.as_str(),
                _ => None,
            },
        )
        .collect();
    if roles.is_empty() {
        "<none>".to_owned()
    } else {
        roles.join(",")
    }
}

fn node_address(node: &Value, kind: &str) -> Value {
    let found = list(node, &["status", "addresses"])
        .iter()
        .find(|address| text(address, &["type"]) == Some(kind))
        .and_then(|address| text(address, &["address"]));
    found.unwrap_or("<none>").into()
}

fn node_info(node: &Value, name: &str) -> Value {
    text(node, &["status", "nodeInfo", name])
        .filter(|info| !info.is_empty())
        .unwrap_or("<unknown>")
        .into()
}

fn events() -> Vec<Column> {
    vec![
        string("Last Seen", |it, now| {
            seen(it, now, &["series", "lastObservedTime"], "lastTimestamp").into()
        }),
        string("Type", |it, _| {
            text(it, &["type"]).unwrap_or_default().into()
        }),
        string("Reason", |it, _| {
            text(it, &["reason"]).unwrap_or_default().into()
        }),
        string("Object", |it, _| involved(it).into()),
        wide("Subobject", |it, _| {
            text(it, &["involvedObject", "fieldPath"])
                .unwrap_or_default()
                .into()
        }),
        wide("Source", |it, _| event_source(it).into()),
        string("Message", |it, _| {
            text(it, &["message"])
                .or_else(|| text(it, &["note"]))
                .unwrap_or_default()
                .trim()
                .into()
        }),
        wide("First Seen", |it, now| {
            seen(it, now, &["eventTime"], "firstTimestamp").into()
        }),
        wide("Count", |it, _| {
            count(it, &["count"]).max(1).to_string().into()
        }),
        Column {
            priority: 1,
            ..name()
        },
    ]
}

/// Who reports, and from where; in both forms of events.
fn event_source(event: &Value) -> String {
    let part = |paths: [&[&str]; 2]| {
        paths
            .iter()
            .find_map(|path| text(event, path).filter(|part| !part.is_empty()))
            .unwrap_or_default()
    };
    let old = part([&["source", "component"], &["deprecatedSource", "component"]]);
    let (component, host) = if old.is_empty() {
        (
            part([&["reportingComponent"], &["reportingController"]]),
            part([&["reportingInstance"], &[]]),
        )
    } else {
        (
            old,
            part([&["source", "host"], &["deprecatedSource", "host"]]),
        )
    };
    if host.is_empty() {
        component.to_owned()
    } else {
        format!("{component}, {host}")
    }
}

fn seen(event: &Value, now: Timestamp, micro: &[&str], classic: &str) -> String {
    let time = field(event, &[classic])
        .or_else(|| field(event, micro))
        .or_else(|| field(event, &["eventTime"]))
        .or_else(|| field(event, &["firstTimestamp"]));
    duration::since(time, now)
}

fn involved(event: &Value) -> String {
    let part = |name: &str| {
        text(event, &["involvedObject", name]).or_else(|| text(event, &["regarding", name]))
    };
    let kind = part("kind").unwrap_or_default().to_ascii_lowercase();
    match part("name") {
        Some(name) if !name.is_empty() => format!("{kind}/{name}"),
        _ => kind,
    }
}

fn access_modes(object: &Value, path: &[&str]) -> String {
    let short = |mode: &str| match mode {
        "ReadWriteOnce" => Some("RWO"),
        "ReadOnlyMany" => Some("ROX"),
        "ReadWriteMany" => Some("RWX"),
        "ReadWriteOncePod" => Some("RWOP"),
        _ => None,
    };
    let modes: Vec<&str> = list(object, path)
        .iter()
        .filter_map(Value::as_str)
        .filter_map(short)
        .collect();
    modes.join(",")
}

fn unset(object: &Value, path: &[&str]) -> Value {
    text(object, path)
        .filter(|text| !text.is_empty())
        .unwrap_or("<unset>")
        .into()
}
