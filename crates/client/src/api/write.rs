use evenkeel_meta::{Complete, MetaView, Object, Scope};
use http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Api;
use crate::error::{RequestError, Result};
use crate::options::{PatchOptions, WriteOptions};
use crate::patch::{Patch, encode};

const JSON: &str = "application/json";

impl<K: Object + DeserializeOwned> Api<K> {
    /// Changes parts of an object.
    ///
    /// # Errors
    ///
    /// [`Error::is_conflict`](crate::Error::is_conflict) if the patch names a resource version
    /// that is not the present one.
    pub async fn patch(&self, name: &str, patch: &Patch, options: &PatchOptions) -> Result<K> {
        self.patch_at(name, None, patch, options).await
    }

    /// Changes parts of an object's status.
    ///
    /// # Errors
    ///
    /// As [`patch`](Self::patch).
    pub async fn patch_status(
        &self,
        name: &str,
        patch: &Patch,
        options: &PatchOptions,
    ) -> Result<K> {
        self.patch_at(name, Some("status"), patch, options).await
    }

    /// Server-side apply: the object shall have these fields. It is created if it is not there.
    ///
    /// `configuration` carries `apiVersion`, `kind` and the name, and only the fields that
    /// the field manager wants.
    ///
    /// # Errors
    ///
    /// [`Error::is_conflict`](crate::Error::is_conflict) if another manager owns a field with
    /// another value, unless the options force it.
    pub async fn apply(
        &self,
        name: &str,
        configuration: &(impl Serialize + ?Sized + Sync),
        options: &PatchOptions,
    ) -> Result<K> {
        self.patch_at(name, None, &Patch::apply(configuration), options)
            .await
    }

    pub(super) async fn patch_at(
        &self,
        name: &str,
        subresource: Option<&str>,
        patch: &Patch,
        options: &PatchOptions,
    ) -> Result<K> {
        let manager = self.client.options().field_manager.as_deref();
        patch.check(options.write.field_manager.as_deref().or(manager))?;
        let mut target = self.object(None, name, subresource)?;
        options.write_to(self.client.options(), &mut target);
        let request = self
            .write_request(Method::PATCH, target, self.subject("patch", name))
            .body(patch.kind().content_type(), patch.body()?);
        self.send_for_object(&request).await
    }
}

impl<K: Object + DeserializeOwned + Serialize + Complete> Api<K> {
    /// Creates an object and returns it as stored.
    ///
    /// An `Api` of all namespaces takes the namespace from the object.
    ///
    /// # Errors
    ///
    /// [`Error::is_already_exists`](crate::Error::is_already_exists) if the name is taken.
    pub async fn create(&self, object: &K, options: &WriteOptions) -> Result<K> {
        let namespace = object.metadata().namespace();
        if self.chosen(namespace)?.is_none() && self.resource.scope == Scope::Namespaced {
            return Err(RequestError::NamespaceRequired {
                resource: self.resource.to_string(),
            }
            .into());
        }
        let mut target = self.collection(namespace)?;
        options.write_to(self.client.options(), &mut target);
        let subject = self.subject("create", object.metadata().name());
        let request = self
            .write_request(Method::POST, target, subject)
            .body(JSON, encode(object)?);
        self.send_for_object(&request).await
    }

    /// Replaces an object. Its resource version, if set, must be the present one.
    ///
    /// # Errors
    ///
    /// [`Error::is_conflict`](crate::Error::is_conflict) if it changed in between.
    pub async fn update(&self, object: &K, options: &WriteOptions) -> Result<K> {
        self.update_at(None, object, options).await
    }

    /// Replaces an object's status and nothing else.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    pub async fn update_status(&self, object: &K, options: &WriteOptions) -> Result<K> {
        self.update_at(Some("status"), object, options).await
    }

    async fn update_at(
        &self,
        subresource: Option<&str>,
        object: &K,
        options: &WriteOptions,
    ) -> Result<K> {
        let metadata = object.metadata();
        let mut target = self.object(metadata.namespace(), metadata.name(), subresource)?;
        options.write_to(self.client.options(), &mut target);
        let subject = self.subject("update", metadata.name());
        let request = self
            .write_request(Method::PUT, target, subject)
            .body(JSON, encode(object)?);
        self.send_for_object(&request).await
    }
}
