use std::collections::BTreeSet;

use serde_json::Value;

use super::names;
use super::read::{get, optional_text, text};
use super::report::{Path, Report};

/// The order in which the sources of a volume are looked at.
const SOURCES: &[&str] = &[
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "flocker",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// Checks the volumes and gives their names.
pub(super) fn check<'a>(
    at: &Path<'_>,
    volumes: &'a [Value],
    report: &mut Report,
) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, volume) in volumes.iter().enumerate() {
        let at = at.index(index);
        let before = report.len();
        source(&at, volume, report);
        let name = text(volume, "name");
        let complaints = names::dns_label(name);
        if name.is_empty() {
            report.required(&at.field("name"), "");
        } else if !complaints.is_empty() {
            report.complaints(&at.field("name"), name, &complaints);
        } else if names.contains(name) {
            report.duplicate(&at.field("name"), name);
        }
        if report.len() == before {
            names.insert(name);
        }
    }
    names
}

fn source(at: &Path<'_>, volume: &Value, report: &mut Report) {
    let mut found = SOURCES
        .iter()
        .filter(|source| get(volume, source).is_object());
    let Some(first) = found.next() else {
        report.required(at, "must specify a volume type");
        return;
    };
    let source = get(volume, first);
    let at_source = at.field(first);
    match *first {
        "secret" => required(&at_source, source, "secretName", report),
        "configMap" => required(&at_source, source, "name", report),
        "persistentVolumeClaim" => required(&at_source, source, "claimName", report),
        "hostPath" => host_path(&at_source, source, report),
        "nfs" => {
            required(&at_source, source, "server", report);
            required(&at_source, source, "path", report);
        }
        _ => {}
    }
    for other in found {
        report.forbidden(&at.field(other), "may not specify more than 1 volume type");
    }
}

fn required(at: &Path<'_>, source: &Value, field: &str, report: &mut Report) {
    if text(source, field).is_empty() {
        report.required(&at.field(field), "");
    }
}

fn host_path(at: &Path<'_>, source: &Value, report: &mut Report) {
    let path = text(source, "path");
    if path.is_empty() {
        report.required(&at.field("path"), "");
    } else if path.split('/').any(|part| part == "..") {
        report.invalid(&at.field("path"), path, "must not contain '..'");
    }
    let kinds = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    report.one_of(&at.field("type"), optional_text(source, "type"), &kinds);
}
