//! Media types: what the client accepts and what it sent.

use bytes::Bytes;
use evenkeel_meta::{Reason, Status};
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;

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

/// Picks the first acceptable projection in the client's order of preference.
pub(crate) fn accept(headers: &HeaderMap) -> Result<Projection, Status> {
    let mut ranges: Vec<(f32, Option<Projection>)> = Vec::new();
    for value in headers.get_all(ACCEPT) {
        let value = value.to_str().unwrap_or_default();
        ranges.extend(value.split(',').map(parse_range));
    }
    if ranges.is_empty() {
        return Ok(Projection::Object);
    }
    // Stable: equal quality keeps the order of the header.
    ranges.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    ranges
        .into_iter()
        .find_map(|(_, projection)| projection)
        .ok_or_else(|| {
            failure(
                406,
                Reason::NotAcceptable,
                "only the following media types are accepted: application/json",
            )
        })
}

fn parse_range(range: &str) -> (f32, Option<Projection>) {
    let mut parts = range.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let (mut quality, mut kind, mut group, mut version) = (1.0, None, None, None);
    for part in parts {
        match part.split_once('=') {
            Some(("q", value)) => quality = value.parse().unwrap_or(1.0),
            Some(("as", value)) => kind = Some(value),
            Some(("g", value)) => group = Some(value),
            Some(("v", value)) => version = Some(value),
            _ => {}
        }
    }
    if !matches!(essence, "application/json" | "application/*" | "*/*") {
        return (quality, None);
    }
    let meta = group == Some("meta.k8s.io");
    let projection = match (kind, version) {
        (None, _) => Some(Projection::Object),
        (Some("Table"), Some("v1")) if meta => Some(Projection::Table { version: "v1" }),
        (Some("Table"), Some("v1beta1")) if meta => Some(Projection::Table { version: "v1beta1" }),
        (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("v1")) if meta => {
            Some(Projection::Metadata)
        }
        _ => None,
    };
    (quality, projection)
}

/// Decodes a request body: JSON, or YAML where the client says so.
pub(crate) fn decode_body(headers: &HeaderMap, body: &Bytes) -> Result<Value, Status> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = content_type
        .unwrap_or("application/json")
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    match essence {
        "application/json" => json(body),
        "application/yaml" | "application/apply-patch+yaml" => yaml(body),
        other => Err(unsupported(&format!(
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, got {other}"
        ))),
    }
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
    serde_saphyr::from_slice(body)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))
}

pub(crate) fn unsupported(message: &str) -> Status {
    failure(415, Reason::UnsupportedMediaType, message)
}

fn failure(code: u16, reason: Reason, message: &str) -> Status {
    let mut status = Status::internal(message);
    status.code = code;
    status.reason = reason;
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
