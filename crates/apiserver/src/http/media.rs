//! Media types: what the client accepts and what it sent.

use std::borrow::Cow;

use bytes::Bytes;
use evenkeel_meta::{Reason, Status, StatusDetails};
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;

use crate::protobuf;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The shape in which objects are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Projection {
    /// The objects themselves.
    Object,
    /// `PartialObjectMetadata` and its list.
    Metadata,
    /// Rows for printing.
    Table { version: &'static str },
}

/// What a table row carries beside its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableObject {
    None,
    Metadata,
    Object,
}

/// The shape in which `/api` and `/apis` are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discovery {
    Plain,
    Aggregated(&'static str),
}

/// Picks the first acceptable projection in the client's order of preference.
pub(crate) fn accept(headers: &HeaderMap) -> Result<Projection, Status> {
    negotiate(headers, Projection::Object, |range| {
        let meta = range.group == Some("meta.k8s.io");
        match (range.kind, range.version) {
            (None, _) => Some(Projection::Object),
            (Some("Table"), Some("v1")) if meta => Some(Projection::Table { version: "v1" }),
            (Some("Table"), Some("v1beta1")) if meta => {
                Some(Projection::Table { version: "v1beta1" })
            }
            (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("v1")) if meta => {
                Some(Projection::Metadata)
            }
            _ => None,
        }
    })
}

/// Which discovery the client knows.
pub(crate) fn discovery_version(headers: &HeaderMap) -> Result<Discovery, Status> {
    negotiate(headers, Discovery::Plain, |range| {
        match (range.kind, range.group, range.version) {
            (None, ..) => Some(Discovery::Plain),
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => {
                Some(Discovery::Aggregated("v2"))
            }
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2beta1")) => {
                Some(Discovery::Aggregated("v2beta1"))
            }
            _ => None,
        }
    })
}

pub(crate) fn accepts_json(headers: &HeaderMap) -> bool {
    negotiate(headers, (), |range| range.kind.is_none().then_some(())).is_ok()
}

/// One media range of an Accept header.
struct Range<'a> {
    json: bool,
    quality: f32,
    kind: Option<&'a str>,
    group: Option<&'a str>,
    version: Option<&'a str>,
}

fn negotiate<T>(
    headers: &HeaderMap,
    default: T,
    serve: impl Fn(&Range<'_>) -> Option<T>,
) -> Result<T, Status> {
    let values = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut ranges: Vec<Range<'_>> = values
        .flat_map(|value| value.split(','))
        .map(Range::parse)
        .collect();
    if ranges.is_empty() {
        return Ok(default);
    }
    // Stable: equal quality keeps the order of the header.
    ranges.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    ranges
        .iter()
        .filter(|range| range.json)
        .find_map(serve)
        .ok_or_else(|| {
            Status::failure(
                406,
                Reason::NotAcceptable,
                "only the following media types are accepted: application/json",
            )
        })
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default();
        let mut range = Self {
            json: matches!(essence, "application/json" | "application/*" | "*/*"),
            quality: 1.0,
            kind: None,
            group: None,
            version: None,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("q", value)) => range.quality = value.parse().unwrap_or(1.0),
                Some(("as", value)) => range.kind = Some(value),
                Some(("g", value)) => range.group = Some(value),
                Some(("v", value)) => range.version = Some(value),
                _ => {}
            }
        }
        range
    }
}

/// Decodes a request body: JSON, or what the client says that it is.
pub(crate) fn decode_body(headers: &HeaderMap, body: &Bytes) -> Result<Value, Status> {
    match &*body_type(headers) {
        "application/json" => json(body),
        "application/yaml" | "application/apply-patch+yaml" => yaml(body),
        PROTOBUF => protobuf::decode(body),
        other => Err(unsupported(&format!(
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, {PROTOBUF}, got {other}"
        ))),
    }
}

/// Whether the body is text in which fields may occur twice.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    body_type(headers) == "application/json"
}

/// Media types have no case.
fn body_type(headers: &HeaderMap) -> Cow<'_, str> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = content_type.unwrap_or("application/json").split(';').next();
    let essence = essence.unwrap_or_default().trim();
    if essence.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return essence.to_ascii_lowercase().into();
    }
    essence.into()
}

pub(crate) fn json(body: &Bytes) -> Result<Value, Status> {
    serde_json::from_slice(body).map_err(|error| {
        Status::bad_request(format!("the object provided is unrecognized: {error}"))
    })
}

pub(crate) fn yaml(body: &Bytes) -> Result<Value, Status> {
    // Most clients that say YAML send JSON, which is cheaper to read as such.
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    // A name `y` or `no` is a text, whatever YAML 1.1 says.
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_slice_with_options(body, options)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))
}

pub(crate) fn unsupported(message: &str) -> Status {
    let mut status = Status::failure(415, Reason::UnsupportedMediaType, message);
    status.details = Some(StatusDetails::default());
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(value: &str) -> Result<Projection, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, value.parse().unwrap());
        accept(&headers).map_err(|status| status.code)
    }

    #[test]
    fn the_first_range_that_can_be_served_wins() {
        assert_eq!(accepted("application/json"), Ok(Projection::Object));
        assert_eq!(accepted("application/json, */*"), Ok(Projection::Object));
        assert_eq!(
            accepted("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
            Ok(Projection::Table { version: "v1" })
        );
        assert_eq!(
            accepted(
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                 application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            ),
            Ok(Projection::Metadata)
        );
        assert_eq!(
            accepted("application/json;q=0.1, application/json;as=Table;v=v1;g=meta.k8s.io"),
            Ok(Projection::Table { version: "v1" })
        );
    }

    #[test]
    fn protobuf_alone_is_not_acceptable() {
        assert_eq!(accepted("application/vnd.kubernetes.protobuf"), Err(406));
        assert_eq!(
            accepted("application/json;as=Nope;v=v1;g=meta.k8s.io"),
            Err(406)
        );
    }
}
