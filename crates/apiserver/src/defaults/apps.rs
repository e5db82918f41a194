use serde_json::{Map, Value};

use super::{child, default, existing, is, items, pod, storage};

pub(super) fn deployment(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    pod::template(spec, "template");
    default(spec, "replicas", 1);
    let strategy = child(spec, "strategy");
    default(strategy, "type", "RollingUpdate");
    if is(strategy, "type", "RollingUpdate") {
        let rolling = child(strategy, "rollingUpdate");
        default(rolling, "maxUnavailable", "25%");
        default(rolling, "maxSurge", "25%");
    }
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
}

pub(super) fn replica_set(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    pod::template(spec, "template");
    default(spec, "replicas", 1);
}

/// The annotation stands for a field that a former version had, and is always there.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(super) fn daemon_set(object: &mut Map<String, Value>) {
    default(
        child(child(object, "metadata"), "annotations"),
        TEMPLATE_GENERATION,
        "1",
    );
    let spec = child(object, "spec");
    pod::template(spec, "template");
    let strategy = child(spec, "updateStrategy");
    default(strategy, "type", "RollingUpdate");
    if is(strategy, "type", "RollingUpdate") {
        let rolling = child(strategy, "rollingUpdate");
        default(rolling, "maxUnavailable", 1);
        default(rolling, "maxSurge", 0);
    }
    default(spec, "revisionHistoryLimit", 10);
}

pub(super) fn stateful_set(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    pod::template(spec, "template");
    default(spec, "podManagementPolicy", "OrderedReady");
    let strategy = child(spec, "updateStrategy");
    if !strategy.contains_key("type") {
        default(strategy, "type", "RollingUpdate");
        child(strategy, "rollingUpdate");
    }
    if is(strategy, "type", "RollingUpdate")
        && let Some(rolling) = existing(strategy, "rollingUpdate")
    {
        default(rolling, "partition", 0);
        default(rolling, "maxUnavailable", 1);
    }
    let retention = child(spec, "persistentVolumeClaimRetentionPolicy");
    default(retention, "whenDeleted", "Retain");
    default(retention, "whenScaled", "Retain");
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    for claim in items(spec, "volumeClaimTemplates") {
        storage::persistent_volume_claim(claim);
        default(claim, "apiVersion", "v1");
        default(claim, "kind", "PersistentVolumeClaim");
    }
}

pub(super) fn replication_controller(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    pod::template(spec, "template");
    default(spec, "replicas", 1);
    let labels = spec
        .get("template")
        .and_then(|template| template.pointer("/metadata/labels"))
        .cloned();
    if let Some(labels) = labels {
        default(spec, "selector", labels.clone());
        default(child(object, "metadata"), "labels", labels);
    }
}
