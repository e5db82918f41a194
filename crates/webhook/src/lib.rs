//! Validating, mutating and conversion webhooks for Kubernetes.
//!
//! [`Webhooks`] is a service from HTTP requests to responses, without a server: any server can serve
//! it, and a test calls it.
//!
//! **When to use it:** the API server is to ask you before it admits an object, or how an object looks in
//! another version. **When not:** a `ValidatingAdmissionPolicy` or the schema of a custom resource can
//! say the same: they need no process that is up whenever somebody writes.
//!
//! ```
//! use bytes::Bytes;
//! use evenkeel_webhook::{Change, Webhooks, defaulter, validator};
//! use http_body_util::{BodyExt, Full};
//! use k8s_openapi::api::core::v1::ConfigMap;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let webhooks = Webhooks::builder()
//!     // at /mutate--v1-configmap
//!     .mutating::<ConfigMap>(defaulter(|_, map: &mut ConfigMap| {
//!         map.data.get_or_insert_default().entry("mode".into()).or_insert("plain".into());
//!         Ok(())
//!     }))
//!     // at /validate--v1-configmap
//!     .validating::<ConfigMap>(validator(|review, change: Change<'_, ConfigMap>| match change {
//!         Change::Deleted(_) if !review.request().dry_run => Err("is here to stay".into()),
//!         _ => Ok(()),
//!     }))
//!     .build()?;
//!
//! let review = r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
//!     "uid": "1", "operation": "DELETE", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
//!     "oldObject": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}}}"#;
//! let request = http::Request::post("/validate--v1-configmap")
//!     .header("content-type", "application/json")
//!     .body(Full::new(Bytes::from(review)))?;
//! let response = webhooks.answer(request).await;
//! let body = response.into_body().collect().await?.to_bytes();
//! assert!(std::str::from_utf8(&body)?.contains("is here to stay"));
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! - What is wrong with an admission request, and every denial, is told in the `AdmissionReview`; the
//!   HTTP status is 200 (controller-runtime F10), and the one who wrote the object reads the reason.
//! - A panic is contained, counted and answered: 500 inside the review for an admission, a failure for
//!   a conversion.
//! - A request is read up to 7 MiB ([`ADMISSION_LIMIT`]; [`CONVERSION_LIMIT`] for conversions) and not
//!   a byte further.
//! - A mutation changes what the defaulter changed. Fields that its type does not know stay: an
//!   object of a newer version than the type loses nothing (controller-runtime #2931).
//! - A conversion keeps the metadata but for labels and annotations, names the object that it
//!   cannot convert, and converts all objects of a request or none.
//!
//! # Cancel safety
//!
//! The future of [`Webhooks::answer`] may be dropped at any time, and a server does so when the API
//! server hangs up. It spawns nothing.
//!
//! # What it costs
//!
//! An admission request is decoded once for each handler that looks at the object; a mutation decodes
//! it twice, as JSON and as the type, and encodes it twice.
//!
//! # Where it differs from controller-runtime
//!
//! | | controller-runtime | here |
//! |---|---|---|
//! | body of another kind than the review | handled as an empty request | 400 in the review |
//! | `application/json; charset=utf-8` | refused | taken |
//! | a method that is not POST | handled | 405 |
//! | patches of handlers in a chain | must be disjoint | each sees what those before it made |
//! | two webhooks at one path | a panic | [`RegisterError`] |
//! | conversion to the version that the object is in | an error | the object as it is |
//! | size of a conversion | unbounded | 128 MiB |
//! | denials in the metrics | invisible | `evenkeel_webhook_denials_total` |

mod convert;
mod handler;
mod merge;
mod metrics;
mod patch;
mod path;
mod request;
#[cfg(test)]
mod tests;
mod typed;
mod verdict;
mod webhooks;

pub use convert::{BoxError, Conversion, ConversionError, Hub, Spoke};
pub use handler::{BoxFuture, Chain, Handler};
pub use path::{CONVERT_PATH, mutate_path, validate_path};
pub use request::{AdmissionRequest, GroupVersionResource, Operation, UserInfo};
pub use typed::{Change, Defaulter, Mutating, Validating, Validator, defaulter, validator};
pub use verdict::{Denial, Review, Verdict};
pub use webhooks::{ADMISSION_LIMIT, Builder, CONVERSION_LIMIT, RegisterError, Webhooks};
