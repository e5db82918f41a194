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

    /// The resource of this group and plural, in the version that the server prefers.
    #[must_use]
    pub fn by_resource(&self, resource: &GroupResource) -> Option<&DiscoveredResource> {
        let mut named = self.resources.iter().filter(|found| {
            found.api_resource.plural == resource.resource
                && found.api_resource.group == resource.group
        });
        let first = named.next()?;
        match first.preferred {
            true => Some(first),
            false => named.find(|found| found.preferred).or(Some(first)),
        }
    }

    /// What a person means by `deployments`, `deployment`, `deploy`, `deployments.apps`,
    /// `deployments.v1.apps` or `Deployment`.
    ///
    /// A plural or singular name wins over a short name, an earlier group over a later one,
    /// and a group's preferred version over its others (client-go D5, D6).
    #[must_use]
    pub fn find(&self, text: &str) -> Option<&DiscoveredResource> {
        let lower = text.to_lowercase();
        let (name, rest) = match lower.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (lower.as_str(), None),
        };
        let in_group = |found: &&DiscoveredResource| match rest {
            None => true,
            Some(rest) => is_qualified_by(&found.api_resource, rest),
        };
        let candidates = || self.resources.iter().filter(in_group);
        let by_name = |found: &&DiscoveredResource| {
            found.api_resource.plural == name
                || found.singular == name
                || found.api_resource.kind.to_lowercase() == name
        };
        let by_short_name =
            |found: &&DiscoveredResource| found.short_names.iter().any(|short| short == name);
        best(candidates().filter(by_name)).or_else(|| best(candidates().filter(by_short_name)))
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

/// The first in the server's order, but in the preferred version of its group.
fn best<'a>(
    mut found: impl Iterator<Item = &'a DiscoveredResource>,
) -> Option<&'a DiscoveredResource> {
    let first = found.next()?;
    if first.preferred {
        return Some(first);
    }
    let group = &first.api_resource.group;
    found
        .find(|other| other.preferred && other.api_resource.group == *group)
        .or(Some(first))
}
