//! Answers on their way to the wire.

use bytes::Bytes;
use evenkeel_meta::Status;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WARNING, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use super::Body;

/// What a verb answers.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) content: Content,
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Content {
    Json(Bytes),
    Stream(Body),
    Text(&'static str),
    /// Aggregated discovery of this version.
    Discovery(&'static str, Bytes),
    /// An OpenAPI v2 document in protobuf.
    OpenApi(Bytes),
}

impl Reply {
    pub(crate) fn json(code: u16, data: impl Into<Bytes>) -> Self {
        Self {
            code,
            content: Content::Json(data.into()),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn value(code: u16, value: &Value) -> Self {
        Self::json(code, value.to_string())
    }

    pub(crate) fn stream(body: Body) -> Self {
        Self {
            code: 200,
            content: Content::Stream(body),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn text(text: &'static str) -> Self {
        Self {
            code: 200,
            content: Content::Text(text),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn openapi(document: Vec<u8>) -> Self {
        Self {
            code: 200,
            content: Content::OpenApi(document.into()),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn status(status: &Status) -> Self {
        Self::value(status.code, &status_json(status))
    }

    pub(crate) fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let json = HeaderValue::from_static("application/json");
        let (media, body) = match self.content {
            Content::Json(data) => (json, Body::whole(data)),
            Content::Stream(body) => (json, body),
            Content::Text(text) => (
                HeaderValue::from_static("text/plain; charset=utf-8"),
                Body::whole(text),
            ),
            Content::OpenApi(data) => (
                HeaderValue::from_static(
                    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                ),
                Body::whole(data),
            ),
            Content::Discovery(version, data) => {
                let media = format!(
                    "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                );
                (
                    HeaderValue::from_str(&media).unwrap_or(json),
                    Body::whole(data),
                )
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() =
            StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, media);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        for warning in &self.warnings {
            if let Ok(value) = HeaderValue::from_str(&format!("299 - {}", quoted(warning))) {
                headers.append(WARNING, value);
            }
        }
        response
    }
}

/// An error as its response, with the headers that belong to it.
pub(crate) fn error_response(status: &Status) -> Response<Body> {
    let mut response = Reply::status(status).into_response();
    let headers = response.headers_mut();
    if let Some(wait) = status.retry_after() {
        headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs()));
    }
    if status.code == 401 {
        headers.insert(
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"evenkeel\""),
        );
    }
    response
}

/// A status with the type that names it on the wire.
pub(crate) fn status_json(status: &Status) -> Value {
    let mut value = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}});
    if let (Some(object), Ok(Value::Object(fields))) =
        (value.as_object_mut(), serde_json::to_value(status))
    {
        object.extend(fields);
    }
    value
}

/// An HTTP quoted string; what no header may carry becomes a space.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
