use evenkeel_meta::{ApiResource, GroupResource, GroupVersionKind};

use super::{DiscoveredResource, Discovery};

impl Discovery {
    /// The resource whose objects are of this kind in this version.
    #[must_use]
    pub fn by_kind(&self, kind: &GroupVersionKind) -> Option<&DiscoveredResource> {
        self.resources.iter().find(|found| {
            let own = &found.api_resource;
            own.kind == kind.kind && own.group == kind.group && own.version == kind.version
        })
    }

    /// The resource whose objects are of this kind, in the version that the server prefers.
    #[must_use]
    pub fn by_group_kind(&self, group: &str, kind: &str) -> Option<&DiscoveredResource> {
        preferred(
            self.resources.iter().filter(|found| {
                found.api_resource.kind == kind && found.api_resource.group == group
            }),
        )
    }

    /// The resource of this group and plural, in the version that the server prefers.
    #[must_use]
    pub fn by_resource(&self, resource: &GroupResource) -> Option<&DiscoveredResource> {
        preferred(self.resources.iter().filter(|found| {
            found.api_resource.plural == resource.resource
                && found.api_resource.group == resource.group
        }))
    }

    /// What a person means by `deployments`, `deployment`, `deploy`, `deployments.apps`,
    /// `deployments.v1.apps` or `Deployment`: the first of [`find_all`](Self::find_all).
    #[must_use]
    pub fn find(&self, text: &str) -> Option<&DiscoveredResource> {
        self.find_all(text).into_iter().next()
    }

    /// All resources that a person may mean by a name, the likeliest first.
    ///
    /// A plural, a singular or a kind wins over a short name, an earlier group over a later
    /// one, and a group's preferred version over its others, each resource being there once.
    /// A group may be cut short where no group has that very name: `deploy.ap` (client-go D5,
    /// D6).
    #[must_use]
    pub fn find_all(&self, text: &str) -> Vec<&DiscoveredResource> {
        let lower = text.to_lowercase();
        let (name, group) = match lower.split_once('.') {
            Some((name, group)) => (name, Some(group)),
            None => (lower.as_str(), None),
        };
        let by_name = |found: &DiscoveredResource| {
            found.api_resource.plural == name
                || found.singular == name
                || found.api_resource.kind.to_lowercase() == name
        };
        let by_short_name =
            |found: &DiscoveredResource| found.short_names.iter().any(|short| short == name);
        let is_in = |found: &DiscoveredResource| {
            group.is_none_or(|group| is_qualified_by(&found.api_resource, group))
        };
        let begins = |found: &DiscoveredResource| {
            group.is_some_and(|group| found.api_resource.group.starts_with(group))
        };
        let mut all = self.distinct(|found| is_in(found) && by_name(found));
        if all.is_empty() {
            all = self.distinct(|found| is_in(found) && by_short_name(found));
        }
        if all.is_empty() {
            all = self.distinct(|found| begins(found) && by_name(found));
        }
        if all.is_empty() {
            all = self.distinct(|found| begins(found) && by_short_name(found));
        }
        all
    }

    /// Each resource of those that are meant, once: in the preferred version if that is meant.
    fn distinct(&self, is_meant: impl Fn(&DiscoveredResource) -> bool) -> Vec<&DiscoveredResource> {
        let mut all: Vec<&DiscoveredResource> = Vec::new();
        for found in self.resources.iter().filter(|found| is_meant(found)) {
            let same = all.iter_mut().find(|other| {
                other.api_resource.plural == found.api_resource.plural
                    && other.api_resource.group == found.api_resource.group
            });
            match same {
                None => all.push(found),
                Some(other) if found.preferred && !other.preferred => *other = found,
                Some(_) => {}
            }
        }
        all
    }

    /// The preferred version of each resource.
    pub fn preferred(&self) -> impl Iterator<Item = &DiscoveredResource> {
        self.resources.iter().filter(|found| found.preferred)
    }

    /// The preferred version of each resource that has all these verbs.
    pub fn with_verbs<'a>(
        &'a self,
        verbs: &'a [&str],
    ) -> impl Iterator<Item = &'a DiscoveredResource> {
        self.preferred()
            .filter(move |found| verbs.iter().all(|verb| found.can(verb)))
    }
}

/// `apps`, or `v1.apps`, or `v1` for the core group.
fn is_qualified_by(resource: &ApiResource, text: &str) -> bool {
    if resource.group == text {
        return true;
    }
    match text.split_once('.') {
        Some((version, group)) => resource.version == version && resource.group == group,
        None => resource.group.is_empty() && resource.version == text,
    }
}

/// The preferred version, or else the first.
fn preferred<'a>(
    mut versions: impl Iterator<Item = &'a DiscoveredResource>,
) -> Option<&'a DiscoveredResource> {
    let first = versions.next()?;
    if first.preferred {
        return Some(first);
    }
    versions.find(|other| other.preferred).or(Some(first))
}
