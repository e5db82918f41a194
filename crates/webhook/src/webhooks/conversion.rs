//! From a `ConversionReview` with a request to one with a response.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CONVERSION_LIMIT, Unread, json, panic_text, text};
use crate::convert::{ConversionRequest, Conversions};
use crate::metrics::{Panics, PathMetrics};

const KIND: &str = "ConversionReview";
const VERSIONS: [&str; 2] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

pub(super) fn answer(
    conversions: &Conversions,
    body: Result<Bytes, Unread>,
    metrics: &PathMetrics,
    panics: &Panics,
) -> Response<Full<Bytes>> {
    let body = match body {
        Ok(body) => body,
        Err(Unread::TooLarge) => {
            let why = format!("request entity is too large; limit is {CONVERSION_LIMIT} bytes\n");
            return text(StatusCode::PAYLOAD_TOO_LARGE, why);
        }
        Err(Unread::Broken(why)) => return text(StatusCode::BAD_REQUEST, why + "\n"),
    };
    let (api_version, request) = match understand(&body) {
        Ok(understood) => understood,
        Err(why) => return text(StatusCode::BAD_REQUEST, why + "\n"),
    };
    drop(body);
    let uid = request.uid.clone();
    let convert = AssertUnwindSafe(|| conversions.convert(request));
    let converted = catch_unwind(convert).unwrap_or_else(|panic| {
        panics.conversion.inc();
        let why = panic_text(&*panic);
        tracing::error!(uid, "A conversion webhook panicked: {why}");
        Err("internal error occurred during conversion".to_owned())
    });
    let (status, message, converted_objects) = match converted {
        Ok(objects) => ("Success", String::new(), Some(objects)),
        Err(why) => {
            metrics.denied(500);
            ("Failure", why, None)
        }
    };
    json(&Outgoing {
        api_version,
        kind: KIND,
        response: WireResponse {
            uid: &uid,
            result: WireResult { status, message },
            converted_objects,
        },
    })
}

fn understand(body: &[u8]) -> Result<(&'static str, ConversionRequest), String> {
    let incoming: Incoming = serde_json::from_slice(body)
        .map_err(|error| format!("cannot decode the review: {error}"))?;
    let version = VERSIONS
        .iter()
        .find(|&&known| known == incoming.api_version);
    match (version, incoming.kind.as_str(), incoming.request) {
        (Some(version), KIND, Some(request)) => Ok((version, request)),
        (Some(_), KIND, None) => Err("the review has no request".to_owned()),
        (_, kind, _) => Err(format!(
            "expected {KIND} of {}, got {kind} of {:?}",
            VERSIONS.join(" or "),
            incoming.api_version
        )),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<ConversionRequest>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outgoing<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: WireResponse<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireResponse<'a> {
    uid: &'a str,
    result: WireResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    converted_objects: Option<Vec<Value>>,
}

#[derive(Serialize)]
struct WireResult {
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
}
