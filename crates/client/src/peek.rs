//! What can be read of an object that does not decode as a whole.

use std::sync::Arc;

use evenkeel_meta::{ApiResource, Meta, MetaView, Metadata, ResourceVersion, Uid};
use serde::Deserialize;
use serde_json::Value;

use crate::error::DecodeError;
use crate::list::Undecodable;

/// Describes an object that failed to decode with `error`.
pub(crate) fn undecodable(
    bytes: &[u8],
    resource: &ApiResource,
    error: &serde_json::Error,
) -> Undecodable {
    let metadata: Metadata = serde_json::from_slice(bytes).unwrap_or_else(|_| Metadata {
        metadata: identity(bytes),
    });
    let what = format!("{resource} {:?}", metadata.metadata.key().to_string());
    Undecodable {
        metadata: Arc::new(metadata),
        error: DecodeError::new(what, &error),
    }
}

/// The fields that identify an object, each read on its own: one of the wrong type does not
/// spoil the others.
fn identity(bytes: &[u8]) -> Meta {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Loose {
        metadata: Value,
    }
    let loose: Loose = serde_json::from_slice(bytes).unwrap_or_default();
    let text = |field: &str| loose.metadata.get(field).and_then(Value::as_str);
    Meta {
        name: text("name").unwrap_or_default().to_owned(),
        namespace: text("namespace").map(str::to_owned),
        uid: text("uid").map(Uid::from),
        resource_version: text("resourceVersion").map(ResourceVersion::parse),
        ..Meta::default()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::Scope;

    use super::*;

    fn read(text: &str) -> Undecodable {
        let pods = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
        let error = serde_json::from_str::<u8>("{}").unwrap_err();
        undecodable(text.as_bytes(), &pods, &error)
    }

    #[test]
    fn kube_rs_d4_identity_survives_broken_metadata() {
        let broken = read(
            r#"{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7","labels":[1]},"spec":3}"#,
        );
        let meta = &broken.metadata.metadata;
        assert_eq!(meta.key().to_string(), "ns/a");
        assert_eq!(meta.resource_version, Some(7.into()));
        assert!(
            broken
                .error
                .to_string()
                .starts_with(r#"cannot decode pods "ns/a": "#)
        );
    }

    #[test]
    fn kube_rs_d4_good_metadata_is_kept_whole_and_none_is_empty() {
        let labelled = read(r#"{"metadata":{"name":"a","labels":{"x":"y"}},"spec":3}"#);
        assert_eq!(labelled.metadata.metadata.label("x"), Some("y"));
        assert_eq!(read("3").metadata.metadata, Meta::default());
    }
}
