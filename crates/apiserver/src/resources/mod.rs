//! The served resources: what each row of the table means and how to find it.

mod builtin;
mod registry;

use std::borrow::Cow;
use std::sync::Arc;

use evenkeel_meta::{ApiResource, GroupResource, GroupVersionKind, Scope};

use crate::schema::Schema;
use crate::storage::Shard;
use crate::table::Column;
use crate::view::View;

pub(crate) use builtin::BUILTIN;
pub(crate) use registry::{Group, Registry, Version};

/// One served resource: a row of the built-in table, or a version of a custom resource.
#[derive(Clone)]
pub(crate) struct Resource {
    pub(crate) api: ApiResource,
    pub(crate) singular: Cow<'static, str>,
    pub(crate) list_kind: Cow<'static, str>,
    pub(crate) short_names: Cow<'static, [Cow<'static, str>]>,
    pub(crate) categories: Cow<'static, [Cow<'static, str>]>,
    pub(crate) rules: Rules,
    pub(crate) subresources: Cow<'static, [Subresource]>,
    /// What field selectors may name beside `metadata.name` and `metadata.namespace`.
    pub(crate) fields: Cow<'static, [SelectableField]>,
    pub(crate) custom: bool,
    /// Warns everybody who uses it.
    pub(crate) deprecation: Option<&'static str>,
    pub(crate) view: View,
    /// `{"kind":..,"apiVersion":..,`: how its objects begin.
    pub(crate) head: String,
    pub(crate) schema: Schema,
    /// Where the `scale` subresource reads and writes.
    pub(crate) scale: ScalePaths,
    /// The columns that a custom resource defines.
    pub(crate) columns: Option<Vec<Column>>,
    pub(crate) shard: Arc<Shard>,
}

/// Where resources differ in what the verbs do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// `metadata.generation` counts changes of the desired state.
    pub(crate) counts_generation: bool,
    /// A PUT without a resource version overwrites.
    pub(crate) unconditional_update: bool,
    /// A PUT of an absent object creates it.
    pub(crate) create_on_update: bool,
    /// A completed deletion answers with the object, not with a Status.
    pub(crate) deletion_answers_object: bool,
    /// Dependents are orphaned when a deletion names no policy.
    pub(crate) orphans_by_default: bool,
    /// Foreground and Orphan are ignored.
    pub(crate) never_collected: bool,
    pub(crate) deletable_as_collection: bool,
    /// Creating it asks something; nothing is stored.
    pub(crate) is_question: bool,
}

/// A subresource, with what it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subresource {
    Status,
    Scale,
    Binding,
    Eviction,
    Finalize,
    Token,
}

/// The fields behind a `scale` subresource.
#[derive(Debug, Clone)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    pub(crate) selector: Option<Vec<String>>,
}

/// A field that a selector may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SelectableField {
    pub(crate) label: Cow<'static, str>,
    pub(crate) path: Cow<'static, [Cow<'static, str>]>,
    /// The value of an absent field.
    pub(crate) default: &'static str,
}

impl Resource {
    pub(crate) fn namespaced(&self) -> bool {
        self.api.scope == Scope::Namespaced
    }

    pub(crate) fn group_resource(&self) -> GroupResource {
        self.api.group_resource()
    }

    pub(crate) fn gvk(&self) -> GroupVersionKind {
        self.api.group_version_kind()
    }

    /// How objects of a type begin.
    pub(crate) fn head(api: &ApiResource) -> String {
        format!(
            "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",",
            api.kind,
            api.api_version()
        )
    }

    pub(crate) fn has(&self, subresource: Subresource) -> bool {
        self.subresources.contains(&subresource)
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.api.group == group && self.api.plural == plural
    }
}

impl Default for ScalePaths {
    fn default() -> Self {
        let path = |parent: &str, name: &str| vec![parent.to_owned(), name.to_owned()];
        Self {
            spec_replicas: path("spec", "replicas"),
            status_replicas: path("status", "replicas"),
            selector: Some(path("spec", "selector")),
        }
    }
}

impl std::fmt::Debug for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Resource({})", self.api)
    }
}

impl Subresource {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [
            Self::Status,
            Self::Scale,
            Self::Binding,
            Self::Eviction,
            Self::Finalize,
            Self::Token,
        ]
        .into_iter()
        .find(|subresource| subresource.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Binding => "binding",
            Self::Eviction => "eviction",
            Self::Finalize => "finalize",
            Self::Token => "token",
        }
    }

    /// The verbs that discovery lists.
    pub(crate) fn verbs(self) -> &'static [&'static str] {
        match self {
            Self::Status | Self::Scale => &["get", "patch", "update"],
            Self::Finalize => &["update"],
            Self::Binding | Self::Eviction | Self::Token => &["create"],
        }
    }
}
