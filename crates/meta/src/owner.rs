use serde::{Deserialize, Serialize};

use crate::{MetaView, Resource, Uid};

/// `metadata.ownerReferences[]`: an object that this one depends on.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// `group/version`, or `version` for the core group.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name; it lives in the dependent's namespace or in none.
    pub name: String,
    /// The owner's identity. A reference to another UID of the same name is dangling.
    pub uid: Uid,
    /// Whether the owner is *the* managing controller; at most one reference says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether foreground deletion of the owner waits for this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

/// A borrowed owner reference, whatever type it is stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerView<'a> {
    /// `group/version`, or `version` for the core group.
    pub api_version: &'a str,
    /// The owner's kind.
    pub kind: &'a str,
    /// The owner's name.
    pub name: &'a str,
    /// The owner's identity.
    pub uid: &'a str,
    /// Whether the owner is the managing controller; absent is false.
    pub controller: bool,
    /// Whether foreground deletion of the owner waits for this object; absent is false.
    pub block_owner_deletion: bool,
}

impl OwnerReference {
    /// A reference to `owner`, which must come from the server: without a UID it would be dangling.
    ///
    /// Not as the managing controller, and not blocking. Whether the owner *may* own an object
    /// depends on both: [`MetaMut`](crate::MetaMut) checks that, and keeps the other owners.
    #[must_use]
    pub fn to<O: Resource>(owner: &O) -> Self {
        let resource = O::api_resource();
        let meta = owner.metadata();
        Self {
            api_version: resource.api_version().into_owned(),
            kind: resource.kind.into_owned(),
            name: meta.name().to_owned(),
            uid: meta.uid().unwrap_or_default().into(),
            controller: None,
            block_owner_deletion: None,
        }
    }

    /// The borrowed form.
    #[must_use]
    pub fn view(&self) -> OwnerView<'_> {
        OwnerView {
            api_version: &self.api_version,
            kind: &self.kind,
            name: &self.name,
            uid: self.uid.as_str(),
            controller: self.controller.unwrap_or_default(),
            block_owner_deletion: self.block_owner_deletion.unwrap_or_default(),
        }
    }
}
