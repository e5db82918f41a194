//! Owner references that the garbage collector will not trip over.

use crate::{Meta, MetaView, ObjectKey, OwnerReference, Resource, Scope};

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

/// Write access to the owners in object metadata, whatever it is stored in.
///
/// There is one reference for each owner: setting one that is there already replaces it, and
/// those of other owners stay. What is refused changes nothing.
///
/// ```
/// use evenkeel_meta::{Meta, MetaMut, MetaView};
/// # use evenkeel_meta::{ApiResource, Object, Resource, Scope};
/// # struct ConfigMap { metadata: Meta }
/// # impl Object for ConfigMap {
/// #     type Meta = Meta;
/// #     fn metadata(&self) -> &Meta { &self.metadata }
/// # }
/// # impl Resource for ConfigMap {
/// #     fn api_resource() -> ApiResource {
/// #         ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced)
/// #     }
/// # }
/// # let owner: Meta = serde_json::from_str(r#"{"name": "web", "namespace": "shop", "uid": "u1"}"#)?;
/// # let config_map = ConfigMap { metadata: owner };
///
/// // The metadata of what is to be owned; `ObjectMeta` of k8s-openapi works as well.
/// let mut part: Meta = serde_json::from_str(r#"{"name": "part", "namespace": "shop"}"#)?;
/// part.set_controller(&config_map)?;
/// assert_eq!(part.controller().unwrap().name, "web");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait MetaMut: MetaView {
    /// Puts a reference in the place of those with the same UID, or behind all others.
    ///
    /// It is not looked at: [`set_controller`](Self::set_controller) and
    /// [`add_owner`](Self::add_owner) are what checks that the owner may own this object.
    fn put_owner(&mut self, reference: OwnerReference);

    /// Takes the references to the object with this UID out; whether there was one.
    ///
    /// An object that has lost its last owner stays.
    fn remove_owner(&mut self, uid: &str) -> bool;

    /// Makes `owner` the managing controller: this object goes with it, and a deletion of the
    /// owner in the foreground waits for this object.
    ///
    /// Namespace and name of this object are to be set before.
    ///
    /// # Errors
    ///
    /// When the owner may not own this object, or another controls it already. The same owner
    /// under another UID is another: it was deleted and made anew.
    fn set_controller<O: Resource>(&mut self, owner: &O) -> Result<(), OwnershipError>
    where
        Self: Sized,
    {
        let reference = reference(self, owner)?;
        if let Some(other) = self.controller()
            && *other.uid != *reference.uid.as_str()
        {
            return Err(OwnershipError::Controlled {
                dependent: self.key(),
                by: format!("{} {}", other.kind, other.name),
            });
        }
        self.put_owner(OwnerReference {
            controller: Some(true),
            block_owner_deletion: Some(true),
            ..reference
        });
        Ok(())
    }

    /// Makes `owner` one of the owners: this object goes when the last of them is gone.
    ///
    /// One that is an owner already stays what it is, the managing controller too. Namespace and
    /// name of this object are to be set before.
    ///
    /// # Errors
    ///
    /// When the owner may not own this object.
    fn add_owner<O: Resource>(&mut self, owner: &O) -> Result<(), OwnershipError>
    where
        Self: Sized,
    {
        let mut reference = reference(self, owner)?;
        let there = || {
            let uid = reference.uid.as_str();
            self.owners().filter(move |one| *one.uid == *uid)
        };
        let controller = there().any(|one| one.controller);
        let blocks = there().any(|one| one.block_owner_deletion);
        reference.controller = controller.then_some(true);
        reference.block_owner_deletion = blocks.then_some(true);
        self.put_owner(reference);
        Ok(())
    }
}

/// A reference to `owner`, if it may own an object with this metadata.
fn reference<O: Resource>(
    dependent: &impl MetaView,
    owner: &O,
) -> Result<OwnerReference, OwnershipError> {
    let reference = OwnerReference::to(owner);
    let owner = owner.metadata();
    if reference.uid.is_empty() {
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

/// Puts a reference in the place of the first one with its UID, or behind all others. Further ones go:
/// nothing keeps writers from putting two there, and of two that control the API server takes none.
pub(crate) fn put<R, U: PartialEq>(owners: &mut Vec<R>, reference: R, uid: impl Fn(&R) -> &U) {
    let place = owners.iter().position(|one| uid(one) == uid(&reference));
    let mut is_first = true;
    owners.retain(|one| uid(one) != uid(&reference) || std::mem::take(&mut is_first));
    match place {
        Some(place) => owners[place] = reference,
        None => owners.push(reference),
    }
}

impl MetaMut for Meta {
    fn put_owner(&mut self, reference: OwnerReference) {
        put(&mut self.owner_references, reference, |one| &one.uid);
    }

    fn remove_owner(&mut self, uid: &str) -> bool {
        let before = self.owner_references.len();
        self.owner_references.retain(|one| one.uid.as_str() != uid);
        self.owner_references.len() < before
    }
}

#[cfg(test)]
mod tests;
