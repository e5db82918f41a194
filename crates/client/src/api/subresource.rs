use http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Api;
use super::read::decode;
use crate::client::Outgoing;
use crate::error::Result;
use crate::options::{PatchOptions, WriteOptions};
use crate::patch::{Patch, encode};
use crate::query::Query;

/// A subresource of one resource, whose answers are of type `T`: `Scale` for `scale`,
/// [`Status`](evenkeel_meta::Status) for `eviction` and `binding`, the object itself for
/// `finalize`.
///
/// The bodies that are sent may be of any type.
pub struct Subresource<T> {
    api: Api<T>,
    name: Box<str>,
}

impl<T> Subresource<T> {
    pub(super) fn new(api: Api<T>, name: &str) -> Self {
        Self {
            api,
            name: name.into(),
        }
    }
}

impl<T> Clone for Subresource<T> {
    fn clone(&self) -> Self {
        Self {
            api: self.api.clone(),
            name: self.name.clone(),
        }
    }
}

impl<T> std::fmt::Debug for Subresource<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subresource")
            .field("api", &self.api)
            .field("name", &self.name)
            .finish()
    }
}

impl<T: DeserializeOwned> Subresource<T> {
    /// Reads it for the object `name`.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`](crate::Error::is_not_found) if the object or the subresource is
    /// not there.
    pub async fn get(&self, name: &str) -> Result<T> {
        let target = self.api.object(None, name, Some(&self.name))?;
        self.send(&self.request(Method::GET, "get", target, name))
            .await
    }

    /// Posts a body, as evictions, bindings and token requests are.
    ///
    /// # Errors
    ///
    /// As the server says; an eviction that a budget forbids now is
    /// [`Error::is_too_many_requests`](crate::Error::is_too_many_requests).
    pub async fn create(
        &self,
        name: &str,
        body: &(impl Serialize + ?Sized + Sync),
        options: &WriteOptions,
    ) -> Result<T> {
        self.write(Method::POST, "create", name, body, options)
            .await
    }

    /// Replaces it.
    ///
    /// # Errors
    ///
    /// [`Error::is_conflict`](crate::Error::is_conflict) if it changed in between.
    pub async fn update(
        &self,
        name: &str,
        body: &(impl Serialize + ?Sized + Sync),
        options: &WriteOptions,
    ) -> Result<T> {
        self.write(Method::PUT, "update", name, body, options).await
    }

    /// Changes parts of it.
    ///
    /// # Errors
    ///
    /// As [`Api::patch`].
    pub async fn patch(&self, name: &str, patch: &Patch, options: &PatchOptions) -> Result<T> {
        patch.check(options.write.field_manager.as_deref().or(self.manager()))?;
        let mut target = self.api.object(None, name, Some(&self.name))?;
        options.write_to(self.api.client.options(), &mut target);
        let request = self
            .request(Method::PATCH, "patch", target, name)
            .body(patch.kind().content_type(), patch.body()?);
        self.send(&request).await
    }

    async fn write(
        &self,
        method: Method,
        verb: &'static str,
        name: &str,
        body: &(impl Serialize + ?Sized),
        options: &WriteOptions,
    ) -> Result<T> {
        let mut target = self.api.object(None, name, Some(&self.name))?;
        options.write_to(self.api.client.options(), &mut target);
        let request = self
            .request(method, verb, target, name)
            .body("application/json", encode(body)?);
        self.send(&request).await
    }

    fn manager(&self) -> Option<&str> {
        self.api.client.options().field_manager.as_deref()
    }

    fn request(&self, method: Method, verb: &'static str, target: Query, name: &str) -> Outgoing {
        let subject = self.api.subject(verb, name);
        self.api.write_request(method, target, subject)
    }

    async fn send(&self, request: &Outgoing) -> Result<T> {
        let answer = self.api.client.fetch(request).await?;
        decode(answer.body(), &request.subject)
    }
}
