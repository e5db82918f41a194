//! DaemonSets: the count of their templates, which an annotation stands for.

use serde_json::Value;

use crate::defaults::TEMPLATE_GENERATION;
use crate::object::{entry, field, metadata_mut, text};

/// Counts templates, whatever the client says.
pub(super) fn carry_over(live: &Value, new: &mut Value) {
    let before = text(live, &["metadata", "annotations", TEMPLATE_GENERATION]);
    let before = before.and_then(|count| count.parse::<i64>().ok());
    let template = |object| field(object, &["spec", "template"]);
    let changed = template(live) != template(new);
    let count = before.unwrap_or(1).saturating_add(i64::from(changed));
    let annotations = entry(metadata_mut(new), "annotations");
    annotations.insert(TEMPLATE_GENERATION.into(), count.to_string().into());
}
