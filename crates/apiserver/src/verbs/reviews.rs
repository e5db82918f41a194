//! Questions about identity and access: answered, never stored.

use evenkeel_meta::Status;
use serde_json::{Value, json};

use super::Call;
use super::write::Write;
use crate::http::{Identity, Reply, decode_body};
use crate::object::{as_map, text};

/// Answers a review. There is no authorization here: everything is allowed.
pub(super) fn answer(call: &Call) -> Result<Reply, Status> {
    let write = Write::of(call, "CreateOptions")?;
    let body = decode_body(&call.request.headers, &call.request.body)?;
    let (mut review, warnings) = write.admit(body)?;
    let status = match call.resource.api.plural.as_ref() {
        "selfsubjectreviews" => json!({"userInfo": user_info(&call.request.identity)}),
        "tokenreviews" => {
            let token = text(&review, &["spec", "token"]).unwrap_or_default();
            match call.state.tokens.identify(token, call.state.clock.now()) {
                Some(identity) => json!({"authenticated": true, "user": user_info(&identity)}),
                None => json!({"user": {}, "error": "the token is not known, or has expired"}),
            }
        }
        "selfsubjectrulesreviews" => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        _ => json!({"allowed": true}),
    };
    as_map(&mut review).insert("status".into(), status);
    Ok(Reply::value(201, &review).warn(warnings))
}

fn user_info(identity: &Identity) -> Value {
    json!({"username": identity.user, "groups": identity.groups})
}
