use std::time::Duration;

use evenkeel_meta::{GroupResource, GroupVersionKind};
use tokio::time::Instant;

use super::{DiscoveredResource, Discovery, DiscoveryCache};
use crate::client::Client;
use crate::error::Error;

/// From kinds to resources, from resources to kinds, and from what people type to either.
///
/// Answers come from a [`DiscoveryCache`]. A miss asks the server anew, once, unless what is
/// there is fresh, so that a kind that was defined a moment ago is found and one that does
/// not exist costs a discovery now and then instead of one a lookup. Misses at the same time
/// share one discovery. A hit never waits, whatever group is down (client-go D5, D6).
///
/// # Cancel safety
///
/// Any lookup may be dropped at any time.
#[derive(Clone, Debug)]
pub struct RestMapper {
    cache: DiscoveryCache,
    fresh_for: Duration,
}

/// What a person means by a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The likeliest.
    pub resource: DiscoveredResource,
    /// What else it could have meant; worth a warning.
    pub others: Vec<GroupResource>,
}

/// Why a lookup found nothing.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The server does not serve it, as far as one can tell: the group versions in `unknown`
    /// could not be read.
    #[error("the server serves no {wanted}{}", but(unknown))]
    NotServed {
        /// Such as `apps/v1, Kind=Deployment`.
        wanted: String,
        /// Each with the reason: `metrics.k8s.io/v1beta1: stale`.
        unknown: Vec<String>,
    },
    /// The server could not be asked.
    #[error("{0}")]
    Discovery(#[source] Error),
}

impl MapError {
    /// Whether the same lookup may well succeed a little later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NotServed { unknown, .. } => !unknown.is_empty(),
            Self::Discovery(error) => error.is_retryable(),
        }
    }
}

fn but(unknown: &[String]) -> String {
    match unknown {
        [] => String::new(),
        unknown => format!(", but these could not be read: {}", unknown.join("; ")),
    }
}

impl RestMapper {
    /// A mapper with a cache of its own.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::over(DiscoveryCache::new(client))
    }

    /// A mapper over a cache that others use too.
    #[must_use]
    pub fn over(cache: DiscoveryCache) -> Self {
        Self {
            cache,
            fresh_for: Duration::from_secs(1),
        }
    }

    /// With another age up to which a miss does not ask the server anew. Default: a second.
    #[must_use]
    pub fn fresh_for(mut self, age: Duration) -> Self {
        self.fresh_for = age;
        self
    }

    /// The cache behind it.
    #[must_use]
    pub fn cache(&self) -> &DiscoveryCache {
        &self.cache
    }

    /// The resource whose objects are of this kind in this version.
    ///
    /// # Errors
    ///
    /// See [`MapError`]. Failures of other groups are no errors.
    pub async fn by_kind(&self, kind: &GroupVersionKind) -> Result<DiscoveredResource, MapError> {
        self.look_up(kind, Some(&kind.group), |all| all.by_kind(kind).cloned())
            .await
    }

    /// The resource whose objects are of this kind, in the version that the server prefers.
    ///
    /// # Errors
    ///
    /// As [`by_kind`](Self::by_kind).
    pub async fn by_group_kind(
        &self,
        group: &str,
        kind: &str,
    ) -> Result<DiscoveredResource, MapError> {
        let wanted = format!("{group}, Kind={kind}");
        self.look_up(&wanted, Some(group), |all| {
            all.by_group_kind(group, kind).cloned()
        })
        .await
    }

    /// The resource of this group and plural, in the version that the server prefers.
    ///
    /// # Errors
    ///
    /// As [`by_kind`](Self::by_kind).
    pub async fn by_resource(
        &self,
        resource: &GroupResource,
    ) -> Result<DiscoveredResource, MapError> {
        self.look_up(resource, Some(&resource.group), |all| {
            all.by_resource(resource).cloned()
        })
        .await
    }

    /// What a person means by `deployments`, `deploy`, `deployments.v1.apps` or `Deployment`,
    /// by the rules of [`Discovery::find_all`].
    ///
    /// # Errors
    ///
    /// As [`by_kind`](Self::by_kind).
    pub async fn find(&self, text: &str) -> Result<Match, MapError> {
        self.look_up(&format!("{text:?}"), None, |all| {
            let mut found = all.find_all(text).into_iter();
            Some(Match {
                resource: found.next()?.clone(),
                others: found.map(|r| r.api_resource.group_resource()).collect(),
            })
        })
        .await
    }

    async fn look_up<T>(
        &self,
        wanted: &(impl ToString + ?Sized),
        group: Option<&str>,
        find: impl Fn(&Discovery) -> Option<T>,
    ) -> Result<T, MapError> {
        let begun = Instant::now();
        if let Some(found) = self.cache.held().as_deref().and_then(&find) {
            return Ok(found);
        }
        let all = self.cache.get().await.map_err(MapError::Discovery)?;
        if let Some(found) = find(&all) {
            return Ok(found);
        }
        // Before the clock's beginning everything is fresh.
        let since = begun.checked_sub(self.fresh_for).unwrap_or(begun);
        let all = self.cache.newer_than(since).await;
        let all = all.map_err(MapError::Discovery)?;
        find(&all).ok_or_else(|| MapError::NotServed {
            wanted: wanted.to_string(),
            unknown: all
                .failures
                .iter()
                .filter(|failure| group.is_none_or(|group| failure.group() == group))
                .map(ToString::to_string)
                .collect(),
        })
    }
}
