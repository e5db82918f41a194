//! From an `AdmissionReview` with a request to one with a response.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use evenkeel_meta::{Reason, Status};
use futures_util::FutureExt;
use http::Response;
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ADMISSION_LIMIT, Unread, json, panic_text};
use crate::metrics::{Panics, PathMetrics};
use crate::patch::difference;
use crate::request::WireRequest;
use crate::verdict::Notes;
use crate::{AdmissionRequest, Denial, Handler, Verdict};

const KIND: &str = "AdmissionReview";
/// `v1beta1` has the same fields; it is answered in kind for API servers before 1.22.
const VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

pub(super) async fn answer(
    handler: &dyn Handler,
    is_json: Result<(), String>,
    body: Result<Bytes, Unread>,
    metrics: &PathMetrics,
    panics: &Panics,
) -> Response<Full<Bytes>> {
    let mut review = Outgoing {
        api_version: VERSIONS[0],
        kind: KIND,
        response: WireResponse::default(),
    };
    match understand(is_json, body, &mut review) {
        Ok(request) => review
            .response
            .fill(ask(handler, &request, panics).await, &request),
        Err(denial) => review.response.fill_denial(&denial),
    }
    if !review.response.allowed {
        metrics.denied(review.response.status.code);
    }
    json(&review)
}

/// The request, as far as it is one. The response is told who asks as soon as it is known.
fn understand(
    is_json: Result<(), String>,
    body: Result<Bytes, Unread>,
    review: &mut Outgoing,
) -> Result<AdmissionRequest, Denial> {
    let body = match body {
        Ok(body) => body,
        Err(Unread::TooLarge) => {
            let message = format!("request entity is too large; limit is {ADMISSION_LIMIT} bytes");
            return Err(Status::failure(413, Reason::RequestEntityTooLarge, message).into());
        }
        Err(Unread::Broken(why)) => return Err(Status::bad_request(why).into()),
    };
    if body.is_empty() {
        return Err(Status::bad_request("request body is empty").into());
    }
    if let Err(content_type) = is_json {
        let message = format!("contentType={content_type}, expected application/json");
        return Err(Status::bad_request(message).into());
    }
    let incoming: Incoming = decode(&body)?;
    let version = VERSIONS
        .iter()
        .find(|&&known| known == incoming.api_version);
    let (Some(version), KIND) = (version, incoming.kind.as_str()) else {
        return Err(Status::bad_request(format!(
            "expected {KIND} of {}, got {} of {:?}",
            VERSIONS.join(" or "),
            incoming.kind,
            incoming.api_version
        ))
        .into());
    };
    review.api_version = version;
    let Some(request) = incoming.request else {
        return Err(Status::bad_request("the review has no request").into());
    };
    if let Ok(Uid { uid }) = serde_json::from_str(request.get()) {
        review.response.uid = uid;
    }
    let request: WireRequest = decode(request.get().as_bytes())?;
    request.try_into()
}

fn decode<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Denial> {
    serde_json::from_slice(json)
        .map_err(|error| Status::bad_request(format!("cannot decode the review: {error}")).into())
}

/// Asks the handler, and survives it.
async fn ask(handler: &dyn Handler, request: &AdmissionRequest, panics: &Panics) -> Verdict {
    // The call itself may panic, before there is a future.
    let asked = AssertUnwindSafe(async { handler.handle(request).await });
    match asked.catch_unwind().await {
        Ok(verdict) => verdict,
        Err(panic) => {
            panics.admission.inc();
            let why = panic_text(&*panic);
            tracing::error!(
                uid = request.uid,
                kind = %request.kind,
                namespace = request.namespace,
                name = request.name,
                "An admission webhook panicked: {why}"
            );
            Verdict::denied(Status {
                status: "Failure".to_owned(),
                code: 500,
                message: format!("panic: {why} [recovered]"),
                ..Status::default()
            })
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Uid {
    uid: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outgoing {
    api_version: &'static str,
    kind: &'static str,
    response: WireResponse,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct WireResponse {
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    allowed: bool,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<String, String>,
}

impl WireResponse {
    fn fill(&mut self, verdict: Verdict, request: &AdmissionRequest) {
        let Notes {
            warnings,
            annotations,
        } = verdict.notes;
        self.warnings = warnings;
        self.audit_annotations = annotations;
        if let Some(denial) = verdict.denial {
            return self.fill_denial(&denial);
        }
        if let Some(object) = verdict.object
            && let Err(denial) = self.fill_patch(request, &object)
        {
            return self.fill_denial(&denial);
        }
        self.allowed = true;
        self.status.code = 200;
    }

    fn fill_denial(&mut self, denial: &Denial) {
        self.allowed = false;
        self.status = denial.status().clone();
    }

    /// The way from the object that was sent to the one that was made of it; none if they are equal.
    fn fill_patch(&mut self, request: &AdmissionRequest, object: &Value) -> Result<(), Denial> {
        let Some(sent) = request.object::<Value>()? else {
            let message = format!("a {} has no object to change", request.operation);
            return Err(Status::internal(message).into());
        };
        let steps = difference(&sent, object);
        if !steps.is_empty() {
            let patch = serde_json::to_vec(&steps).map_err(Status::internal)?;
            self.patch = Some(STANDARD.encode(patch));
            self.patch_type = Some("JSONPatch");
        }
        Ok(())
    }
}
