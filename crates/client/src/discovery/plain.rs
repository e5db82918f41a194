use evenkeel_meta::{ApiResource, Scope};
use serde::Deserialize;

use super::{DiscoveredResource, DiscoveredSubresource};

/// `APIVersions` of `/api`.
#[derive(Deserialize)]
pub(super) struct CoreVersions {
    #[serde(default)]
    pub(super) versions: Vec<String>,
}

/// `APIGroupList` of `/apis`.
#[derive(Deserialize)]
pub(super) struct GroupList {
    #[serde(default)]
    pub(super) groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Group {
    pub(super) name: String,
    #[serde(default)]
    pub(super) versions: Vec<GroupVersion>,
    #[serde(default)]
    pub(super) preferred_version: Option<GroupVersion>,
}

#[derive(Deserialize)]
pub(super) struct GroupVersion {
    pub(super) version: String,
}

/// `APIResourceList` of one group version.
#[derive(Deserialize)]
pub(super) struct ResourceList {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    /// `pods`, or `pods/status` for a subresource.
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
}

/// `apps/v1`, or `v1` for the core group.
pub(super) fn group_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

impl ResourceList {
    pub(super) fn found(
        self,
        group: &str,
        version: &str,
        preferred: bool,
    ) -> Vec<DiscoveredResource> {
        let (subresources, resources): (Vec<_>, Vec<_>) = self
            .resources
            .into_iter()
            .partition(|resource| resource.name.contains('/'));
        let mut found: Vec<_> = resources
            .into_iter()
            .map(|resource| resource.found(group, version, preferred))
            .collect();
        for sub in subresources {
            let Some((parent, name)) = sub.name.split_once('/') else {
                continue;
            };
            let parent = found
                .iter_mut()
                .find(|resource| resource.api_resource.plural == parent);
            if let Some(parent) = parent {
                parent.subresources.push(DiscoveredSubresource {
                    name: name.to_owned(),
                    kind: sub.kind,
                    verbs: sub.verbs,
                });
            }
        }
        found
    }
}

impl Resource {
    fn found(self, group: &str, version: &str, preferred: bool) -> DiscoveredResource {
        // Old servers leave the singular out.
        let singular = match self.singular_name.as_str() {
            "" => self.kind.to_lowercase(),
            _ => self.singular_name,
        };
        DiscoveredResource {
            api_resource: ApiResource {
                group: group.to_owned().into(),
                version: version.to_owned().into(),
                kind: self.kind.into(),
                plural: self.name.into(),
                scope: if self.namespaced {
                    Scope::Namespaced
                } else {
                    Scope::Cluster
                },
            },
            verbs: self.verbs,
            short_names: self.short_names,
            singular,
            categories: self.categories,
            subresources: Vec::new(),
            preferred,
        }
    }
}
