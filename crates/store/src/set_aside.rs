use std::borrow::Cow;

use evenkeel_meta::{Meta, MetaView, OwnerReference, Uid};

use crate::index::IndexFailure;

/// An object that the store could not take, kept by its metadata.
///
/// The rest of the collection goes on. If the store held an earlier state of the object, it goes
/// on showing that; the entry here says that the state is stale, and since which resource
/// version. It ends when the object changes into one that can be taken, or is deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct SetAside {
    /// The metadata of the state that could not be taken.
    pub metadata: Meta,
    /// What is wrong with it.
    pub reason: SetAsideReason,
}

/// Why an object was set aside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetAsideReason {
    /// It does not decode as the store's type.
    #[error("does not decode: {message}")]
    Undecodable {
        /// What the decoder said.
        message: String,
    },
    /// The informer's transform failed for it.
    #[error("transform: {message}")]
    Transform {
        /// What the transform said, or how it panicked.
        message: String,
    },
    /// An index function failed for it.
    #[error("index {index:?}: {message}")]
    Index {
        /// The index.
        index: Cow<'static, str>,
        /// What the function said, or how it panicked.
        message: Cow<'static, str>,
    },
}

impl From<IndexFailure> for SetAsideReason {
    fn from(IndexFailure { index, message }: IndexFailure) -> Self {
        Self::Index { index, message }
    }
}

/// The metadata that any view gives, as one type.
pub(crate) fn copy_metadata(view: &impl MetaView) -> Meta {
    let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    Meta {
        name: view.name().to_owned(),
        namespace: view.namespace().map(str::to_owned),
        uid: view.uid().map(Uid::from),
        resource_version: view.resource_version(),
        generation: view.generation(),
        creation_timestamp: view.creation_timestamp(),
        deletion_timestamp: view.deletion_timestamp(),
        labels: view.labels().map(text).collect(),
        annotations: view.annotations().map(text).collect(),
        finalizers: view.finalizers().map(str::to_owned).collect(),
        owner_references: view
            .owners()
            .map(|owner| OwnerReference {
                api_version: owner.api_version.to_owned(),
                kind: owner.kind.to_owned(),
                name: owner.name.to_owned(),
                uid: Uid::from(owner.uid),
                controller: owner.controller.then_some(true),
                block_owner_deletion: owner.block_owner_deletion.then_some(true),
            })
            .collect(),
        ..Meta::default()
    }
}
