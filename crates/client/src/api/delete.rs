use evenkeel_meta::{DeleteOptions, Object, Status};
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Api;
use super::read::decode;
use crate::error::Result;
use crate::options::ListOptions;
use crate::patch::encode;
use crate::query::Query;

/// What a deletion left behind.
#[derive(Clone, Debug, PartialEq)]
pub enum Deleted<K> {
    /// The object as it was last seen. With a deletion timestamp it is still there: it stops
    /// within its grace period, or waits for its finalizers.
    Object(K),
    /// The object is gone; the server answered with a status.
    Status(Box<Status>),
}

impl<K: Object + DeserializeOwned> Api<K> {
    /// Deletes an object.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`](crate::Error::is_not_found) if it is gone already;
    /// [`Error::is_conflict`](crate::Error::is_conflict) if a precondition does not hold.
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Deleted<K>> {
        let target = self.object(None, name, None)?;
        let request = self
            .write_request(Method::DELETE, target, self.subject("delete", name))
            .body("application/json", encode(options)?);
        let answer = self.client.fetch(&request).await?;
        if is_status(answer.body()) {
            decode(answer.body(), &request.subject).map(Deleted::Status)
        } else {
            decode(answer.body(), &request.subject).map(Deleted::Object)
        }
    }

    /// Deletes all objects that the selectors of `selection` match.
    ///
    /// What the server answers differs by version and resource, so it is not decoded.
    ///
    /// # Errors
    ///
    /// Some objects may be deleted although it fails.
    pub async fn delete_collection(
        &self,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<()> {
        let mut target: Query = self.collection(None)?;
        let unpaged = selection.clone().unpaged();
        unpaged.write_to(&mut target);
        let subject = self.subject("delete collection of", "");
        let request = self
            .write_request(Method::DELETE, target, subject)
            .accept(self.view.accept_list())
            .body("application/json", encode(options)?);
        self.client.fetch(&request).await?;
        Ok(())
    }
}

fn is_status(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Types<'a> {
        #[serde(borrow, default)]
        api_version: std::borrow::Cow<'a, str>,
        #[serde(borrow, default)]
        kind: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice::<Types<'_>>(body)
        .is_ok_and(|types| types.api_version == "v1" && types.kind == "Status")
}
