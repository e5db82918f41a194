use evenkeel_client::{Client, Error, Patch, PatchOptions, WriteOptions};
use evenkeel_meta::{Reason, Status};
use serde_json::json;

use crate::event::Event;

/// What came of one try to write an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Written,
    /// There is no use in trying again.
    Refused,
    /// The server may not have heard of it.
    Unknown,
}

/// One try: a PATCH if the event should be there already, a POST otherwise or if it is not
/// (client-go E4).
pub(super) async fn write(client: &Client, event: &Event) -> Sent {
    let api = client.namespaced::<Event>(event.namespace());
    let about = (event.namespace(), &*event.metadata.name, &*event.reason);
    if event.count > 1 {
        let patch = Patch::strategic(&json!({
            "count": event.count,
            "lastTimestamp": event.last_timestamp,
            "message": event.message,
        }));
        let name = &event.metadata.name;
        match api.patch(name, &patch, &PatchOptions::default()).await {
            Err(error) if error.is_not_found() => {}
            result => return judge(result, about),
        }
    }
    judge(api.create(event, &WriteOptions::default()).await, about)
}

/// What an answer means; `about` is the event's namespace, name and reason.
pub(crate) fn judge<E>(result: Result<E, Error>, about: (&str, &str, &str)) -> Sent {
    let Err(error) = result else {
        return Sent::Written;
    };
    // The server has it: its answer is unreadable, or was lost on an earlier try. Names are
    // never made twice, so an event that is there is this one.
    if matches!(error, Error::Decode(_)) || error.is_already_exists() {
        return Sent::Written;
    }
    let (namespace, name, reason) = about;
    if error.status().is_some_and(is_namespace_terminating) {
        tracing::debug!(namespace, name, reason, %error, "event not written");
    } else {
        tracing::warn!(namespace, name, reason, %error, "event not written");
    }
    if error.is_retryable() {
        Sent::Unknown
    } else {
        Sent::Refused
    }
}

/// The object's end was quicker than the news of it (client-go E5).
fn is_namespace_terminating(status: &Status) -> bool {
    status.reason == Reason::Forbidden
        && status.details.as_ref().is_some_and(|details| {
            details
                .causes
                .iter()
                .any(|cause| cause.reason == "NamespaceTerminating")
        })
}
