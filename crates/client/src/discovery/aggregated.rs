use evenkeel_meta::{ApiResource, Scope};
use serde::Deserialize;

use super::{DiscoveredResource, DiscoveredSubresource, Discovery, DiscoveryFailure};

/// `apidiscovery.k8s.io/v2` `APIGroupDiscoveryList`: everything in one answer.
#[derive(Deserialize)]
pub(super) struct GroupList {
    #[serde(default)]
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Named,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize, Default)]
struct Named {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Resource>,
    /// `Stale` when the server behind it does not answer.
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource: String,
    #[serde(default)]
    response_kind: Option<Kind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    subresources: Vec<Subresource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subresource {
    subresource: String,
    #[serde(default)]
    response_kind: Option<Kind>,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    kind: String,
}

impl GroupList {
    pub(super) fn add_to(self, discovery: &mut Discovery) {
        for group in self.items {
            let name = group.metadata.name;
            // A version that is stale is passed over (client-go D2).
            let mut preferred = true;
            let none_is_fresh = group.versions.iter().all(|v| v.freshness == "Stale");
            for version in group.versions {
                if version.freshness == "Stale" {
                    discovery.failures.push(DiscoveryFailure {
                        group_version: super::plain::group_version(&name, &version.version),
                        error: None,
                        place: discovery.resources.len(),
                        preferred: preferred && none_is_fresh,
                    });
                    preferred &= !none_is_fresh;
                    continue;
                }
                let resources = version.resources.into_iter();
                discovery.resources.extend(
                    resources
                        .filter_map(|resource| resource.found(&name, &version.version, preferred)),
                );
                preferred = false;
            }
        }
    }
}

impl Resource {
    /// `None` for an entry that is there only for its subresources.
    fn found(self, group: &str, version: &str, preferred: bool) -> Option<DiscoveredResource> {
        let kind = self.response_kind.filter(|kind| !kind.kind.is_empty())?;
        Some(DiscoveredResource {
            api_resource: ApiResource {
                group: group.to_owned().into(),
                version: version.to_owned().into(),
                kind: kind.kind.into(),
                plural: self.resource.into(),
                scope: match self.scope.as_str() {
                    "Namespaced" => Scope::Namespaced,
                    _ => Scope::Cluster,
                },
            },
            verbs: self.verbs,
            short_names: self.short_names,
            singular: self.singular_resource,
            categories: self.categories,
            subresources: self
                .subresources
                .into_iter()
                .map(|sub| DiscoveredSubresource {
                    name: sub.subresource,
                    kind: sub.response_kind.map(|kind| kind.kind).unwrap_or_default(),
                    verbs: sub.verbs,
                })
                .collect(),
            preferred,
        })
    }
}
