//! Finding a resource by its path.

use std::cmp::Reverse;
use std::sync::Arc;

use super::Resource;

/// Every served resource, in the order of discovery. Immutable: a change of custom
/// resources replaces it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registry {
    groups: Vec<Group>,
}

/// One API group.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// The preferred version first.
    pub(crate) versions: Vec<Version>,
}

/// One version of a group.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) resources: Vec<Arc<Resource>>,
}

impl Registry {
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    pub(crate) fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.group(group)?
            .versions
            .iter()
            .find(|known| known.name == version)
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.version(group, version)?
            .resources
            .iter()
            .find(|resource| resource.api.plural == plural)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups
            .iter()
            .flat_map(|group| &group.versions)
            .flat_map(|version| &version.resources)
    }

    pub(crate) fn add(&mut self, resource: Arc<Resource>) {
        let (group, version) = (resource.api.group.clone(), resource.api.version.clone());
        let at = match self.groups.iter().position(|known| known.name == group) {
            Some(at) => at,
            None => {
                self.groups.push(Group {
                    name: group.into_owned(),
                    versions: Vec::new(),
                });
                self.groups.len() - 1
            }
        };
        let versions = &mut self.groups[at].versions;
        match versions.iter_mut().find(|known| known.name == version) {
            Some(known) => known.resources.push(resource),
            None => {
                versions.push(Version {
                    name: version.into_owned(),
                    resources: vec![resource],
                });
                versions.sort_by_key(|version| Reverse(priority(&version.name)));
            }
        }
    }

    /// Removes every version of a custom resource, and what is empty then.
    pub(crate) fn remove(&mut self, group: &str, plural: &str) {
        for known in self.groups.iter_mut().filter(|known| known.name == group) {
            for version in &mut known.versions {
                version
                    .resources
                    .retain(|resource| !resource.custom || resource.api.plural != plural);
            }
            known
                .versions
                .retain(|version| !version.resources.is_empty());
        }
        self.groups.retain(|group| !group.versions.is_empty());
    }
}

/// Stable versions before betas before alphas, higher numbers first; other names last.
fn priority(version: &str) -> (u8, u32, u32) {
    let parse = || -> Option<(u8, u32, u32)> {
        let rest = version.strip_prefix('v')?;
        for (rank, stage) in [(2, "beta"), (1, "alpha")] {
            if let Some((major, minor)) = rest.split_once(stage) {
                return Some((rank, major.parse().ok()?, minor.parse().ok()?));
            }
        }
        Some((3, rest.parse().ok()?, 0))
    };
    parse().unwrap_or((0, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_by_maturity() {
        let mut versions = ["v1alpha1", "foo", "v2", "v1beta2", "v1", "v1beta1", "v10"];
        versions.sort_by_key(|version| Reverse(priority(version)));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]
        );
    }
}
