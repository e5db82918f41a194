use evenkeel_meta::{Reason, Status, StatusCause};
use http::{Method, StatusCode, header, response};
use serde::Deserialize;

use super::Outgoing;

/// How much of a foreign error body is kept.
const KEPT_TEXT: usize = 2048;

/// The error that an answer stands for (client-go RC9): its `Status` body as it is, or one made
/// from the code when the body is something else, such as a proxy's page.
pub(crate) fn status_of(outgoing: &Outgoing, head: &response::Parts, body: &[u8]) -> Status {
    if let Some(status) = failure(body) {
        return status;
    }
    let text = body_text(head, body);
    let code = head.status;
    let (reason, sentence) = by_code(code, &outgoing.method);
    let message = match reason {
        Reason::Forbidden | Reason::NotAcceptable | Reason::UnsupportedMediaType
            if text != UNKNOWN =>
        {
            text.to_owned()
        }
        Reason::InternalError => format!("{sentence}: {text:?}"),
        _ => sentence.to_owned(),
    };
    let mut status = Status::failure(
        code.as_u16(),
        reason,
        format!("{message} ({})", outgoing.subject),
    );
    let details = status.details.get_or_insert_default();
    details.name = outgoing.subject.name.to_string();
    if let Some(resource) = &outgoing.subject.resource {
        details.group = resource.group.to_string();
        details.kind = resource.plural.to_string();
    }
    details.causes.push(StatusCause {
        reason: "UnexpectedServerResponse".into(),
        message: text.to_owned(),
        field: String::new(),
    });
    let asked = head.headers.get(header::RETRY_AFTER);
    details.retry_after_seconds = asked
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .unwrap_or_default();
    status
}

/// A body that is a `Status` and reports a failure.
pub(crate) fn failure(body: &[u8]) -> Option<Status> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        kind: std::borrow::Cow<'a, str>,
    }
    let kind: Kind<'_> = serde_json::from_slice(body).ok()?;
    if kind.kind != "Status" {
        return None;
    }
    let status: Status = serde_json::from_slice(body).ok()?;
    (status.status == "Failure").then_some(status)
}

const UNKNOWN: &str = "unknown";

fn body_text<'a>(head: &response::Parts, body: &'a [u8]) -> &'a str {
    let is_text = head
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|kind| kind.trim_start().starts_with("text/"));
    let kept = &body[..body.len().min(KEPT_TEXT)];
    let valid = match std::str::from_utf8(kept) {
        Ok(text) => text,
        // The cut may have split the last character.
        Err(error) => std::str::from_utf8(&kept[..error.valid_up_to()]).unwrap_or_default(),
    };
    match valid.trim() {
        text if is_text && !text.is_empty() => text,
        _ => UNKNOWN,
    }
}

fn by_code(code: StatusCode, method: &Method) -> (Reason, &'static str) {
    match code.as_u16() {
        409 if *method == Method::POST => (
            Reason::AlreadyExists,
            "the server reported a conflict: the object exists already",
        ),
        409 => (Reason::Conflict, "the server reported a conflict"),
        404 => (
            Reason::NotFound,
            "the server could not find the requested resource",
        ),
        400 => (
            Reason::BadRequest,
            "the server rejected our request for an unknown reason",
        ),
        401 => (
            Reason::Unauthorized,
            "the server has asked for the client to provide credentials",
        ),
        403 => (
            Reason::Forbidden,
            "the server does not allow access to the requested resource",
        ),
        405 => (
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        ),
        406 => (
            Reason::NotAcceptable,
            "the server was unable to respond with a content type that the client supports",
        ),
        415 => (
            Reason::UnsupportedMediaType,
            "the server was unable to read the content type of the request",
        ),
        422 => (
            Reason::Invalid,
            "the server rejected our request due to an error in our request",
        ),
        429 => (
            Reason::TooManyRequests,
            "the server has received too many requests and has asked us to try again later",
        ),
        503 => (
            Reason::ServiceUnavailable,
            "the server is currently unable to handle the request",
        ),
        504 => (
            Reason::Timeout,
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        500.. => (
            Reason::InternalError,
            "an error on the server has prevented the request from succeeding",
        ),
        _ => (
            Reason::Unknown,
            "the server responded with a code that is neither a success nor a known error",
        ),
    }
}
