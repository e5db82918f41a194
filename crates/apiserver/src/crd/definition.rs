//! What a definition says.

use std::borrow::Cow;
use std::sync::Arc;

use evenkeel_meta::{ApiResource, Scope};
use serde_json::Value;

use crate::object::{field, text};
use crate::resources::{Resource, Rules, ScalePaths, SelectableField, Subresource};
use crate::schema::Schema;
use crate::storage::Shard;
use crate::table::custom_columns;
use crate::view::View;

/// A definition's value, read where it is needed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Definition<'a>(pub(crate) &'a Value);

const RULES: Rules = Rules {
    counts_generation: true,
    unconditional_update: false,
    create_on_update: false,
    deletion_answers_object: false,
    orphans_by_default: false,
    never_collected: false,
    deletable_as_collection: true,
    is_question: false,
};

impl<'a> Definition<'a> {
    pub(crate) fn group(self) -> &'a str {
        self.spec("group")
    }

    pub(crate) fn plural(self) -> &'a str {
        self.name("plural")
    }

    pub(crate) fn kind(self) -> &'a str {
        self.name("kind")
    }

    pub(crate) fn singular(self) -> String {
        match self.name("singular") {
            "" => self.kind().to_ascii_lowercase(),
            singular => singular.to_owned(),
        }
    }

    pub(crate) fn list_kind(self) -> String {
        match self.name("listKind") {
            "" => format!("{}List", self.kind()),
            list_kind => list_kind.to_owned(),
        }
    }

    pub(crate) fn scope(self) -> Scope {
        if self.spec("scope") == "Cluster" {
            Scope::Cluster
        } else {
            Scope::Namespaced
        }
    }

    /// A name of `spec.names`, empty if absent.
    pub(crate) fn name(self, name: &str) -> &'a str {
        text(self.0, &["spec", "names", name]).unwrap_or_default()
    }

    pub(crate) fn names(self, name: &str) -> Vec<Cow<'static, str>> {
        let list = field(self.0, &["spec", "names", name]).and_then(Value::as_array);
        let names = list.into_iter().flatten().filter_map(Value::as_str);
        names.map(|name| name.to_owned().into()).collect()
    }

    pub(crate) fn versions(self) -> &'a [Value] {
        let versions = field(self.0, &["spec", "versions"]).and_then(Value::as_array);
        versions.map_or(&[], Vec::as_slice)
    }

    pub(crate) fn spec(self, name: &str) -> &'a str {
        text(self.0, &["spec", name]).unwrap_or_default()
    }

    /// The served versions as resources over one storage.
    pub(crate) fn resources(self, shard: &Arc<Shard>) -> Vec<Arc<Resource>> {
        let served = self
            .versions()
            .iter()
            .filter(|version| version["served"] == Value::Bool(true));
        served
            .map(|version| Arc::new(self.resource(version, Arc::clone(shard))))
            .collect()
    }

    fn resource(self, version: &Value, shard: Arc<Shard>) -> Resource {
        let api = ApiResource {
            group: self.group().to_owned().into(),
            version: text(version, &["name"])
                .unwrap_or_default()
                .to_owned()
                .into(),
            kind: self.kind().to_owned().into(),
            plural: self.plural().to_owned().into(),
            scope: self.scope(),
        };
        let mut subresources = Vec::new();
        if field(version, &["subresources", "status"]).is_some() {
            subresources.push(Subresource::Status);
        }
        let scale = field(version, &["subresources", "scale"]);
        if scale.is_some() {
            subresources.push(Subresource::Scale);
        }
        Resource {
            head: Resource::head(&api),
            schema: Schema::custom(api.group_version_kind(), version),
            api,
            singular: self.singular().into(),
            list_kind: self.list_kind().into(),
            short_names: self.names("shortNames").into(),
            categories: self.names("categories").into(),
            rules: RULES,
            subresources: subresources.into(),
            fields: selectable_fields(version).into(),
            custom: true,
            deprecation: None,
            view: View::Retyped,
            scale: scale.map_or_else(ScalePaths::default, scale_paths),
            columns: Some(custom_columns(version)),
            shard,
        }
    }
}

fn selectable_fields(version: &Value) -> Vec<SelectableField> {
    let fields = field(version, &["selectableFields"]).and_then(Value::as_array);
    let paths = fields
        .into_iter()
        .flatten()
        .filter_map(|field| text(field, &["jsonPath"]));
    paths
        .map(|path| {
            let label = path.trim_start_matches('.').to_owned();
            SelectableField {
                path: label
                    .split('.')
                    .map(|part| Cow::Owned(part.to_owned()))
                    .collect(),
                label: label.into(),
                default: "",
            }
        })
        .collect()
}

fn scale_paths(scale: &Value) -> ScalePaths {
    let path = |name: &str| {
        let text = text(scale, &[name]).filter(|text| !text.is_empty())?;
        Some(
            text.trim_start_matches('.')
                .split('.')
                .map(str::to_owned)
                .collect(),
        )
    };
    let default = ScalePaths::default();
    ScalePaths {
        spec_replicas: path("specReplicasPath").unwrap_or(default.spec_replicas),
        status_replicas: path("statusReplicasPath").unwrap_or(default.status_replicas),
        selector: path("labelSelectorPath"),
    }
}
