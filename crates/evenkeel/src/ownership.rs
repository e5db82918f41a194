//! Owner references that the garbage collector will not trip over.

use evenkeel_meta::{MetaView, Object, ObjectKey, OwnerReference, Resource, Scope};

/// One object cannot own another.
///
/// The API server accepts such a reference; the collector then deletes the dependent, or keeps it
/// for ever (contracts gc G23, G24).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnershipError {
    /// The owner was not read from a server.
    #[error("{kind} {owner} cannot own anything: it has no UID")]
    NoUid {
        /// The owner's kind.
        kind: String,
        /// The owner.
        owner: ObjectKey,
    },
    /// A namespaced owner owns in its own namespace only.
    #[error("{kind} {owner} cannot own {dependent}, which is in {}", place(.dependent))]
    OtherNamespace {
        /// The owner's kind.
        kind: String,
        /// The owner.
        owner: ObjectKey,
        /// What it was to own.
        dependent: ObjectKey,
    },
    /// At most one reference is the managing controller's.
    #[error("{dependent} is controlled by {by} already")]
    Controlled {
        /// What was to be controlled.
        dependent: ObjectKey,
        /// The other controller: kind and name.
        by: String,
    },
}

fn place(key: &ObjectKey) -> String {
    match key.namespace() {
        Some(namespace) => format!("namespace {namespace}"),
        None => "no namespace".to_owned(),
    }
}

/// The reference that makes `owner` the managing controller of `dependent`: the dependent goes
/// with it, and a deletion in the foreground waits for the dependent.
///
/// What [`owns`](crate::ControllerBuilder::owns) of a controller goes by.
///
/// ```
/// use evenkeel::controlled_by;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
///
/// # let owner: ConfigMap = serde_json::from_str(
/// #     r#"{"metadata": {"name": "web", "namespace": "shop", "uid": "u1"}}"#)?;
/// let mut secret = Secret::default();
/// secret.metadata.name = Some("web-password".to_owned());
/// secret.metadata.namespace = Some("shop".to_owned());
/// secret.metadata.owner_references = Some(vec![controlled_by(&owner, &secret)?.into()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When the owner may not own the dependent, or another controls it already. The same owner
/// under another UID is another: it was deleted and made anew.
pub fn controlled_by<O: Resource>(
    owner: &O,
    dependent: &impl Object,
) -> Result<OwnerReference, OwnershipError> {
    let reference = owned_by(owner, dependent)?;
    let meta = dependent.metadata();
    if let Some(other) = meta.controller()
        && *other.uid != *reference.uid.as_str()
    {
        return Err(OwnershipError::Controlled {
            dependent: meta.key(),
            by: format!("{} {}", other.kind, other.name),
        });
    }
    Ok(OwnerReference {
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..reference
    })
}

/// The reference that makes `owner` one of the owners of `dependent`: the dependent goes when the
/// last of them is gone.
///
/// # Errors
///
/// When the owner may not own the dependent.
pub fn owned_by<O: Resource>(
    owner: &O,
    dependent: &impl Object,
) -> Result<OwnerReference, OwnershipError> {
    let reference = OwnerReference::to(owner);
    let (owner, dependent) = (owner.metadata(), dependent.metadata());
    if reference.uid.as_str().is_empty() {
        return Err(OwnershipError::NoUid {
            kind: reference.kind,
            owner: owner.key(),
        });
    }
    if O::api_resource().scope == Scope::Namespaced && owner.namespace() != dependent.namespace() {
        return Err(OwnershipError::OtherNamespace {
            kind: reference.kind,
            owner: owner.key(),
            dependent: dependent.key(),
        });
    }
    Ok(reference)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Node};
    use serde_json::{Value, json};

    use super::*;

    fn object<T: serde::de::DeserializeOwned>(metadata: &Value) -> T {
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    fn owner() -> ConfigMap {
        object(&json!({"name": "web", "namespace": "shop", "uid": "u1"}))
    }

    #[test]
    fn a_controller_controls_and_blocks_and_an_owner_does_neither() {
        let part: ConfigMap = object(&json!({"name": "part", "namespace": "shop"}));
        let reference = controlled_by(&owner(), &part).unwrap();
        let view = reference.view();
        assert_eq!(
            (view.api_version, view.kind, view.name, view.uid),
            ("v1", "ConfigMap", "web", "u1")
        );
        assert!(view.controller && view.block_owner_deletion);
        let reference = owned_by(&owner(), &part).unwrap();
        assert_eq!(
            (reference.controller, reference.block_owner_deletion),
            (None, None)
        );
    }

    #[test]
    fn gc_g24_ownership_across_namespaces_is_refused() {
        let elsewhere: ConfigMap = object(&json!({"name": "part", "namespace": "other"}));
        let error = controlled_by(&owner(), &elsewhere).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ConfigMap shop/web cannot own other/part, which is in namespace other"
        );
        let node: Node = object(&json!({"name": "n1"}));
        let error = owned_by(&owner(), &node).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ConfigMap shop/web cannot own n1, which is in no namespace"
        );
        // What is in no namespace may own anything.
        let node: Node = object(&json!({"name": "n1", "uid": "u2"}));
        assert!(owned_by(&node, &elsewhere).is_ok());
        assert!(owned_by(&node, &node).is_ok());
    }

    #[test]
    fn an_owner_that_no_server_knows_is_refused() {
        let draft: ConfigMap = object(&json!({"name": "web", "namespace": "shop"}));
        let error = owned_by(&draft, &owner()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ConfigMap shop/web cannot own anything: it has no UID"
        );
    }

    #[test]
    fn another_controller_is_not_displaced_not_even_a_namesake() {
        let part = |uid: &str| -> ConfigMap {
            object(
                &json!({"name": "part", "namespace": "shop", "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": uid, "controller": true},
                ]}),
            )
        };
        assert!(controlled_by(&owner(), &part("u1")).is_ok());
        let error = controlled_by(&owner(), &part("u0")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "shop/part is controlled by ConfigMap web already"
        );
        assert!(owned_by(&owner(), &part("u0")).is_ok());
    }
}
