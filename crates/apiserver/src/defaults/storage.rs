use serde_json::{Map, Value, json};

use super::{child, default};

pub(super) fn persistent_volume(object: &mut Map<String, Value>) {
    default(child(object, "status"), "phase", "Pending");
    let spec = child(object, "spec");
    default(spec, "persistentVolumeReclaimPolicy", "Retain");
    default(spec, "volumeMode", "Filesystem");
}

pub(super) fn persistent_volume_claim(object: &mut Map<String, Value>) {
    default(child(object, "status"), "phase", "Pending");
    default(child(object, "spec"), "volumeMode", "Filesystem");
}

pub(super) fn storage_class(object: &mut Map<String, Value>) {
    default(object, "reclaimPolicy", "Delete");
    default(object, "volumeBindingMode", "Immediate");
}

pub(super) fn csi_driver(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    default(spec, "attachRequired", true);
    default(spec, "podInfoOnMount", false);
    default(spec, "storageCapacity", false);
    default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    default(spec, "volumeLifecycleModes", json!(["Persistent"]));
    default(spec, "requiresRepublish", false);
    default(spec, "seLinuxMount", false);
}
