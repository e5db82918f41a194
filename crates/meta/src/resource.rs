use std::borrow::Cow;
use std::fmt;

use crate::Object;

/// A kind that is known when the program is compiled.
///
/// With the feature `kube`, every `kube_core::Resource` whose dynamic type is `()` has it:
/// k8s-openapi's types and those of `#[derive(CustomResource)]`.
pub trait Resource: Object {
    /// Where the kind is served. Cheap, but not free: callers keep the answer.
    fn api_resource() -> ApiResource;
}

/// Whether objects live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// One object a name in the whole cluster.
    Cluster,
    /// One object a name in each namespace.
    Namespaced,
}

/// A served resource: what its kind is called and under which path it is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiResource {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// API version, such as `v1`.
    pub version: Cow<'static, str>,
    /// Kind, such as `Pod`.
    pub kind: Cow<'static, str>,
    /// Path segment, such as `pods`.
    pub plural: Cow<'static, str>,
    /// Whether objects live in a namespace.
    pub scope: Scope,
}

/// A group and a resource of it: what errors and RBAC name (`deployments.apps`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupResource {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// Path segment, such as `pods`.
    pub resource: Cow<'static, str>,
}

/// A kind in one version of its group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionKind {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// API version, such as `v1`.
    pub version: Cow<'static, str>,
    /// Kind, such as `Pod`.
    pub kind: Cow<'static, str>,
}

impl ApiResource {
    /// A resource that is known when the program is compiled.
    #[must_use]
    pub const fn new_static(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
        scope: Scope,
    ) -> Self {
        Self {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            kind: Cow::Borrowed(kind),
            plural: Cow::Borrowed(plural),
            scope,
        }
    }

    /// `group/version`, or `version` for the core group.
    #[must_use]
    pub fn api_version(&self) -> Cow<'static, str> {
        api_version(&self.group, &self.version)
    }

    /// The group and the plural.
    #[must_use]
    pub fn group_resource(&self) -> GroupResource {
        GroupResource {
            group: self.group.clone(),
            resource: self.plural.clone(),
        }
    }

    /// The group, version and kind.
    #[must_use]
    pub fn group_version_kind(&self) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
        }
    }

    /// The path of the collection: of one namespace, or of the whole cluster when none is given.
    ///
    /// A namespace is ignored for cluster-scoped resources.
    #[must_use]
    pub fn collection_path(&self, namespace: Option<&str>) -> String {
        let mut path = String::with_capacity(64);
        if self.group.is_empty() {
            path.push_str("/api/");
        } else {
            path.push_str("/apis/");
            path.push_str(&self.group);
            path.push('/');
        }
        path.push_str(&self.version);
        if let (Scope::Namespaced, Some(namespace)) = (self.scope, namespace) {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        path
    }

    /// The path of one object.
    #[must_use]
    pub fn object_path(&self, namespace: Option<&str>, name: &str) -> String {
        let mut path = self.collection_path(namespace);
        path.push('/');
        path.push_str(name);
        path
    }
}

impl fmt::Display for ApiResource {
    /// `deployments.apps`, or `pods` for the core group.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dotted(f, &self.plural, &self.group)
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dotted(f, &self.resource, &self.group)
    }
}

impl GroupVersionKind {
    /// From an object's `apiVersion` and `kind`.
    #[must_use]
    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned().into(),
            version: version.to_owned().into(),
            kind: kind.to_owned().into(),
        }
    }

    /// `group/version`, or `version` for the core group.
    #[must_use]
    pub fn api_version(&self) -> Cow<'static, str> {
        api_version(&self.group, &self.version)
    }
}

impl fmt::Display for GroupVersionKind {
    /// `apps/v1, Kind=Deployment`, as Kubernetes writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

#[expect(
    clippy::ptr_arg,
    reason = "a static version stays borrowed, which `&str` would forget"
)]
fn api_version(group: &Cow<'static, str>, version: &Cow<'static, str>) -> Cow<'static, str> {
    if group.is_empty() {
        version.clone()
    } else {
        Cow::Owned(format!("{group}/{version}"))
    }
}

fn write_dotted(f: &mut fmt::Formatter<'_>, resource: &str, group: &str) -> fmt::Result {
    f.write_str(resource)?;
    if !group.is_empty() {
        f.write_str(".")?;
        f.write_str(group)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_the_api_conventions() {
        let pods = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
        let nodes = ApiResource::new_static("", "v1", "Node", "nodes", Scope::Cluster);
        let sets =
            ApiResource::new_static("apps", "v1", "ReplicaSet", "replicasets", Scope::Namespaced);
        assert_eq!(pods.collection_path(None), "/api/v1/pods");
        assert_eq!(
            pods.object_path(Some("ns"), "a"),
            "/api/v1/namespaces/ns/pods/a"
        );
        assert_eq!(nodes.object_path(Some("ignored"), "n"), "/api/v1/nodes/n");
        assert_eq!(
            sets.collection_path(Some("ns")),
            "/apis/apps/v1/namespaces/ns/replicasets"
        );
        assert_eq!(sets.to_string(), "replicasets.apps");
        assert_eq!(sets.api_version(), "apps/v1");
        assert_eq!(
            sets.group_version_kind().to_string(),
            "apps/v1, Kind=ReplicaSet"
        );
        assert_eq!(pods.group_version_kind().to_string(), "/v1, Kind=Pod");
    }
}
