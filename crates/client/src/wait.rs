//! Waiting for an object to be in some state.

mod conditions;
#[cfg(test)]
mod tests;

pub use self::conditions::{condition_is, is_deleted, is_established, is_present};

use std::time::Duration;

use evenkeel_meta::{FieldSelector, Object};
use evenkeel_pace::{Backoff, Rng};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::error::{Error, Result, WatchError};
use crate::options::{ListOptions, WatchOptions};
use crate::watch::{RetryWatch, WatchEvent};

/// What a condition says of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This is what was waited for.
    Met,
    /// It may come yet.
    NotYet,
    /// It will not come, and why.
    Never(String),
}

impl From<bool> for Verdict {
    fn from(met: bool) -> Self {
        match met {
            true => Self::Met,
            false => Self::NotYet,
        }
    }
}

/// Why waiting ended without what was waited for.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The object cannot be followed: no permission, no such resource, or it does not decode.
    #[error("{0}")]
    Request(#[source] Error),
    /// The condition says that it will never be met.
    #[error("{what} will not come to it: {why}")]
    Never {
        /// Such as `customresourcedefinitions.apiextensions.k8s.io "widgets.x.io"`.
        what: String,
        /// What the condition says.
        why: String,
    },
}

/// Follows one object and answers when it is as somebody wants it (client-go TW3).
///
/// It goes by the level: the state is listed, then watched, and listed anew when the watch
/// has fallen behind, so that nothing but states in between can be missed. Outages are waited
/// out. There is no time limit: put one around with `tokio::time::timeout`.
pub struct Waiter<K> {
    api: Api<K>,
    name: Box<str>,
    state: Option<K>,
    /// There once the state is known.
    changes: Option<RetryWatch<K>>,
    backoff: Backoff,
    jitter: Rng,
}

impl<K: Object + DeserializeOwned + 'static> Waiter<K> {
    pub(crate) fn new(api: Api<K>, name: &str) -> Self {
        let jitter = Rng::seeded(api.client().options().seed);
        Self {
            api,
            name: name.into(),
            state: None,
            changes: None,
            backoff: Backoff::new(Duration::from_millis(800), Duration::from_secs(30)).jitter(1.0),
            jitter,
        }
    }

    /// Waits until `condition` is met by the object's state, `None` standing for "not there".
    ///
    /// The last known state is tried first, so that conditions can be awaited one after the
    /// other and none misses what the one before was met by.
    ///
    /// # Errors
    ///
    /// See [`WaitError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future keeps what is known; the next call goes on from there.
    pub async fn until<V: Into<Verdict>>(
        &mut self,
        condition: impl Fn(Option<&K>) -> V,
    ) -> Result<Option<&K>, WaitError> {
        loop {
            if self.changes.is_none() {
                self.list().await?;
            }
            match condition(self.state.as_ref()).into() {
                Verdict::Met => return Ok(self.state.as_ref()),
                Verdict::NotYet => self.change().await?,
                Verdict::Never(why) => {
                    return Err(WaitError::Never {
                        what: format!("{} {:?}", self.api.resource(), self.name),
                        why,
                    });
                }
            }
        }
    }

    /// The last known state.
    #[must_use]
    pub fn into_state(self) -> Option<K> {
        self.state
    }

    fn selector(&self) -> String {
        FieldSelector::equal("metadata.name", &self.name).to_string()
    }

    async fn list(&mut self) -> Result<(), WaitError> {
        let options = ListOptions::default().fields(&self.selector());
        loop {
            let error = match self.api.list(&options).await {
                Ok(list) => {
                    if let Some(bad) = list.undecodable.into_iter().next() {
                        return Err(WaitError::Request(bad.error.into()));
                    }
                    let changes =
                        WatchOptions::from(list.resource_version).fields(&self.selector());
                    let changes = self.api.retry_watch(&changes);
                    let changes = changes.map_err(|error| WaitError::Request(error.into()))?;
                    self.state = list.items.into_iter().next();
                    self.changes = Some(changes);
                    return Ok(());
                }
                Err(error) => error,
            };
            if !error.is_retryable() {
                return Err(WaitError::Request(error));
            }
            self.pause(error.retry_after()).await;
        }
    }

    async fn pause(&mut self, asked: Option<Duration>) {
        let wait = self.backoff.next(&mut self.jitter);
        tokio::time::sleep(wait.max(asked.unwrap_or_default())).await;
    }

    /// Takes in the next change, or finds out that it has to list anew.
    async fn change(&mut self) -> Result<(), WaitError> {
        let Some(changes) = &mut self.changes else {
            return Ok(());
        };
        match changes.next().await {
            Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) => {
                self.backoff.reset();
                self.state = Some(object);
            }
            Some(Ok(WatchEvent::Deleted(_))) => {
                self.backoff.reset();
                self.state = None;
            }
            Some(Ok(WatchEvent::Undecodable { error, .. })) => {
                return Err(WaitError::Request(error.into()));
            }
            Some(Ok(WatchEvent::Error(status))) if !status.is_expired() => {
                return Err(WaitError::Request(Error::Api(status)));
            }
            Some(Err(WatchError::Refused { error, .. })) => return Err(WaitError::Request(error)),
            Some(Ok(WatchEvent::Bookmark { .. })) => {}
            Some(Ok(WatchEvent::Error(_)) | Err(_)) | None => {
                self.pause(None).await;
                self.changes = None;
            }
        }
        Ok(())
    }
}

impl<K> std::fmt::Debug for Waiter<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiter")
            .field("api", &self.api)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
