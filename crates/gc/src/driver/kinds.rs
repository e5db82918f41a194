use std::sync::Arc;

use evenkeel_client::{DiscoveredResource, Discovery};
use evenkeel_meta::{ApiResource, GroupResource};
use hashbrown::{HashMap, HashSet};
use parking_lot::RwLock;

/// `apiVersion` and `kind`, as objects and references write them.
type KindKey = (Box<str>, Box<str>);

/// Under which path each kind is served, in every version, as discovery last told.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    served: RwLock<HashMap<KindKey, Arc<ApiResource>>>,
    /// Resources that refused a strategic merge patch, as custom resources do.
    merge_only: RwLock<HashSet<GroupResource>>,
}

impl Kinds {
    /// Where the objects of a kind are, if it is served.
    pub(crate) fn find(&self, api_version: &str, kind: &str) -> Option<Arc<ApiResource>> {
        let key = (Box::from(api_version), Box::from(kind));
        self.served.read().get(&key).cloned()
    }

    /// Takes a discovery over; says whether anything changed. What a group said before counts on
    /// while it does not answer.
    pub(crate) fn update(&self, discovery: &Discovery) -> bool {
        let silent: HashSet<&str> = discovery
            .failures
            .iter()
            .map(|failure| failure.group_version.as_str())
            .collect();
        let mut served = HashMap::new();
        for found in &discovery.resources {
            let resource = &found.api_resource;
            let key = (
                resource.api_version().into_owned().into(),
                Box::from(&*resource.kind),
            );
            // The main resource of a kind comes before others that answer with it.
            served
                .entry(key)
                .or_insert_with(|| Arc::new(resource.clone()));
        }
        let mut current = self.served.write();
        for (key, resource) in current.iter() {
            if silent.contains(&*key.0) {
                served
                    .entry(key.clone())
                    .or_insert_with(|| Arc::clone(resource));
            }
        }
        let changed = served != *current;
        *current = served;
        changed
    }

    /// All kinds that are served.
    pub(crate) fn all(&self) -> Vec<Arc<ApiResource>> {
        self.served.read().values().cloned().collect()
    }

    pub(crate) fn knows_strategic_merge(&self, resource: &ApiResource) -> bool {
        !self.merge_only.read().contains(&resource.group_resource())
    }

    pub(crate) fn remember_merge_only(&self, resource: &ApiResource) {
        self.merge_only.write().insert(resource.group_resource());
    }
}

/// Events are never owned by what they are about, and there are too many of them (G3).
pub(crate) fn ignored_by_default() -> HashSet<GroupResource> {
    let events = |group: &'static str| GroupResource {
        group: group.into(),
        resource: "events".into(),
    };
    [events(""), events("events.k8s.io")].into_iter().collect()
}

/// The resources to watch: all that can be deleted, listed and watched, each in the version that
/// the server prefers, but for those that are ignored (G3).
pub(crate) fn deletable(
    discovery: &Discovery,
    ignored: &HashSet<GroupResource>,
) -> Vec<ApiResource> {
    let mut seen = HashSet::new();
    let usable = |found: &&DiscoveredResource| {
        ["delete", "list", "watch"]
            .iter()
            .all(|verb| found.can(verb))
    };
    discovery
        .resources
        .iter()
        .filter(usable)
        .map(|found| &found.api_resource)
        // Preferred versions come first; some resources are served only in another one.
        .filter(|resource| seen.insert(resource.group_resource()))
        .filter(|resource| !ignored.contains(&resource.group_resource()))
        .cloned()
        .collect()
}
