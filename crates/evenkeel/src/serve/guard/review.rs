use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_client::{Client, Error};
use evenkeel_meta::Status;
use http::{Request, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct User {
    pub(super) username: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Who wants what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Access {
    pub(super) user: Arc<User>,
    pub(super) verb: String,
    pub(super) path: String,
}

/// Whose token it is.
pub(super) async fn token(client: &Client, token: &str) -> Result<Option<User>, Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Outcome {
        authenticated: bool,
        user: User,
        error: String,
    }
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": token},
    });
    let outcome: Outcome = ask(client, path, &review).await?;
    if !outcome.authenticated && !outcome.error.is_empty() {
        tracing::debug!(why = outcome.error, "A token is not accepted");
    }
    Ok(outcome.authenticated.then_some(outcome.user))
}

/// Whether they may.
pub(super) async fn access(client: &Client, access: &Access) -> Result<bool, Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Outcome {
        allowed: bool,
        denied: bool,
    }
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let user = &access.user;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra,
            "nonResourceAttributes": {"path": access.path, "verb": access.verb},
        },
    });
    let outcome: Outcome = ask(client, path, &review).await?;
    Ok(outcome.allowed && !outcome.denied)
}

/// Creates a review, which is answered and not stored, and reads its status.
async fn ask<T: for<'de> Deserialize<'de> + Default>(
    client: &Client,
    path: &str,
    review: &Value,
) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Reviewed<T> {
        status: Option<T>,
    }
    let internal = |why: &dyn std::fmt::Display| Error::Api(Box::new(Status::internal(why)));
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Bytes::from(review.to_string()))
        .map_err(|error| internal(&error))?;
    let response = client.raw(request).await?;
    let reviewed: Reviewed<T> =
        serde_json::from_slice(response.body()).map_err(|error| internal(&error))?;
    reviewed
        .status
        .ok_or_else(|| internal(&"a review without a status"))
}
