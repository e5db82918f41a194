//! `serviceaccounts/token`: a bearer token for a service account.

use std::time::Duration;

use evenkeel_meta::Status;
use serde_json::{Value, json};

use crate::http::{Identity, Reply, decode_body};
use crate::listener::secret;
use crate::object::{field, integer};
use crate::verbs::Call;

const DEFAULT_SECONDS: i64 = 3600;
const SHORTEST_SECONDS: i64 = 600;

pub(super) fn create(call: &Call) -> Result<Reply, Status> {
    let live = call.live()?;
    let request = decode_body(&call.request.headers, &call.request.body)?;
    let seconds = integer(&request, &["spec", "expirationSeconds"]).unwrap_or(DEFAULT_SECONDS);
    if seconds < SHORTEST_SECONDS {
        return Err(Status::bad_request(
            "spec.expirationSeconds: may not specify a duration less than 10 minutes",
        ));
    }
    let lifetime = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let expires = call.state.clock.now().saturating_add(lifetime);
    let namespace = call.namespace.as_deref().unwrap_or_default();
    let identity = Identity {
        user: format!("system:serviceaccount:{namespace}:{}", call.name()),
        groups: vec![
            "system:serviceaccounts".into(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".into(),
        ],
    };
    let token = secret().map_err(Status::internal)?;
    call.state
        .tokens
        .add(token.as_str(), identity, Some(expires));
    let audiences = field(&request, &["spec", "audiences"]).cloned();
    Ok(Reply::value(
        201,
        &json!({
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": call.name(),
                "namespace": namespace,
                "uid": live.meta().uid,
                "creationTimestamp": call.state.clock.now(),
            },
            "spec": {
                "audiences": audiences.unwrap_or_else(|| Value::Array(Vec::new())),
                "expirationSeconds": seconds,
            },
            "status": {"token": token, "expirationTimestamp": expires},
        }),
    ))
}
