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

#[cfg(test)]
mod tests {
    use evenkeel_meta::{DeleteOptions, Preconditions};

    use crate::ListOptions;
    use crate::testing::{Answer, Pod, Scripted};

    #[tokio::test]
    async fn controller_runtime_t50_a_deletions_body_says_so_too_since_the_server_reads_nothing_else()
     {
        let server =
            Scripted::new(|_, _| Answer::ok(r#"{"metadata":{"name":"a","namespace":"ns"}}"#));
        let pods = server.client().with_dry_run().namespaced::<Pod>("ns");
        let only = DeleteOptions::default().only_if(Preconditions {
            uid: Some("u".into()),
            resource_version: None,
        });
        pods.delete("a", &only).await.unwrap();
        let all = ListOptions::default();
        pods.delete_collection(&DeleteOptions::default(), &all)
            .await
            .unwrap();
        pods.get("a").await.unwrap();
        let seen = server.seen();
        let options = r#"{"dryRun":["All"],"preconditions":{"uid":"u"}}"#;
        assert_eq!(
            (&*seen[0].target, &*seen[0].body),
            (
                "/api/v1/namespaces/ns/pods/a?dryRun=All",
                options.as_bytes()
            )
        );
        assert_eq!(seen[1].body, r#"{"dryRun":["All"]}"#);
        assert_eq!(
            seen[2].target, "/api/v1/namespaces/ns/pods/a",
            "reads are reads"
        );
    }
}
