//! Writes that are not stored.

use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};

use super::Outgoing;
use crate::error::RequestError;

/// Path, query and body of a request as a dry run.
///
/// The server reads it from the query, but of a DELETE with a body from that body alone.
pub(super) fn rehearsed(outgoing: &Outgoing) -> Result<(String, Bytes), RequestError> {
    let (target, body) = (&outgoing.target, &outgoing.body);
    if outgoing.method.is_safe() {
        return Ok((target.clone(), body.clone()));
    }
    let said = target
        .split_once('?')
        .is_some_and(|(_, query)| query.split('&').any(|pair| pair == "dryRun=All"));
    let target = match (said, target.contains('?')) {
        (true, _) => target.clone(),
        (false, true) => format!("{target}&dryRun=All"),
        (false, false) => format!("{target}?dryRun=All"),
    };
    if outgoing.method != Method::DELETE || body.is_empty() {
        return Ok((target, body.clone()));
    }
    let mut options: Map<String, Value> = serde_json::from_slice(body).map_err(|error| {
        RequestError::Malformed(format!("a deletion's options are a JSON object: {error}"))
    })?;
    options.insert("dryRun".to_owned(), json!(["All"]));
    Ok((target, Value::from(options).to_string().into()))
}
