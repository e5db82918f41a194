//! Jobs: the generated selector and the labels that it selects.

use serde_json::{Value, json};

use crate::object::{as_map, entry, field, metadata_mut, text};

/// Labels the template with the Job's identity and selects by it, unless the client does.
pub(super) fn prepare_create(job: &mut Value) {
    let manual = field(job, &["spec", "manualSelector"]).and_then(Value::as_bool) == Some(true);
    if manual {
        return;
    }
    let part = |name: &str| {
        text(job, &["metadata", name])
            .unwrap_or_default()
            .to_owned()
    };
    let (uid, name) = (part("uid"), part("name"));
    let spec = entry(as_map(job), "spec");
    let labels = entry(entry(entry(spec, "template"), "metadata"), "labels");
    for prefix in ["", "batch.kubernetes.io/"] {
        labels.insert(format!("{prefix}controller-uid"), uid.as_str().into());
        labels.insert(format!("{prefix}job-name"), name.as_str().into());
    }
    let labels = labels.clone();
    spec.insert(
        "selector".into(),
        json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}),
    );
    let own = entry(metadata_mut(job), "labels");
    if own.is_empty() {
        *own = labels;
    }
}
