//! What a server serves.

mod aggregated;
mod cache;
mod fetch;
mod lookup;
mod mapper;
mod plain;
#[cfg(test)]
mod tests;

pub use self::cache::DiscoveryCache;
pub use self::mapper::{MapError, Match, RestMapper};

use evenkeel_meta::{ApiResource, Scope};

use crate::error::Error;

/// The resources that a server serves, core group first, each group's preferred version first.
///
/// An aggregated API that is down costs only its own resources: they are missing here and
/// listed under [`failures`](Self::failures) (client-go D2, B29).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Discovery {
    /// What is served.
    pub resources: Vec<DiscoveredResource>,
    /// What could not be found out.
    pub failures: Vec<DiscoveryFailure>,
}

/// One resource in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveredResource {
    /// Its names and path.
    pub api_resource: ApiResource,
    /// What may be done with it, such as `get`, `list`, `watch`, `delete`.
    pub verbs: Vec<String>,
    /// Short names, such as `po`.
    pub short_names: Vec<String>,
    /// The name of one object of it, such as `pod`.
    pub singular: String,
    /// Groups of resources that it belongs to, such as `all`.
    pub categories: Vec<String>,
    /// What is served below an object, such as `status` and `scale`.
    pub subresources: Vec<DiscoveredSubresource>,
    /// Whether this is the version of its group that the server prefers.
    pub preferred: bool,
}

/// A subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveredSubresource {
    /// Its path segment, such as `scale`.
    pub name: String,
    /// The kind of its bodies.
    pub kind: String,
    /// What may be done with it.
    pub verbs: Vec<String>,
}

/// A group version that could not be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DiscoveryFailure {
    /// Such as `metrics.k8s.io/v1beta1`.
    pub group_version: String,
    /// Why; `None` when the server itself only says that it is stale.
    pub error: Option<Error>,
    /// Where its resources belong among the others.
    place: usize,
    /// Whether it is the version of its group that the server prefers.
    preferred: bool,
}

impl DiscoveryFailure {
    /// Its group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.group_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// Whether it may well be readable a little later.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        self.error.as_ref().is_none_or(Error::is_retryable)
    }
}

impl DiscoveredResource {
    /// Whether `verb` may be used on it.
    #[must_use]
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|own| own == verb)
    }

    /// Whether objects live in a namespace.
    #[must_use]
    pub fn is_namespaced(&self) -> bool {
        self.api_resource.scope == Scope::Namespaced
    }

    /// Whether it has this subresource.
    #[must_use]
    pub fn has_subresource(&self, name: &str) -> bool {
        self.subresources.iter().any(|own| own.name == name)
    }
}

impl std::fmt::Display for DiscoveryFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.error {
            Some(error) => write!(f, "{}: {error}", self.group_version),
            None => write!(f, "{}: stale", self.group_version),
        }
    }
}
