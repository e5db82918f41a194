//! All webhooks of a process, by path.

mod admission;
mod builder;
mod conversion;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use tokio::time::Instant;

pub use builder::{Builder, RegisterError};

use crate::Handler;
use crate::convert::Conversions;
use crate::metrics::{InFlight, Panics, PathMetrics};

/// The largest admission request that is read, in bytes: 7 MiB, since an object and its old self,
/// 3 MiB each at most, and what goes with them find room in it.
pub const ADMISSION_LIMIT: usize = 7 * 1024 * 1024;
/// The largest conversion request that is read, in bytes: 128 MiB, since the API server asks for all
/// objects of a LIST at once.
pub const CONVERSION_LIMIT: usize = 128 * 1024 * 1024;

/// The webhooks of a process: a service from requests to responses, without a server of its own.
///
/// Cheap to clone; all clones are the same webhooks.
#[derive(Clone)]
pub struct Webhooks(Arc<Inner>);

struct Inner {
    routes: HashMap<String, Route>,
    panics: Panics,
}

struct Route {
    what: What,
    metrics: PathMetrics,
}

enum What {
    Admission(Box<dyn Handler>),
    Conversion(Conversions),
}

/// How a request's body could not be had.
enum Unread {
    TooLarge,
    Broken(String),
}

impl Webhooks {
    /// Begins with no webhook.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Answers one request.
    ///
    /// What is wrong with an admission request, and a denial, is told inside the `AdmissionReview`,
    /// with the HTTP status 200, so that the one who asked reads it (contract controller-runtime
    /// F10). Other statuses: 404 for a path without a webhook, 405 for another method than POST,
    /// 400 and 413 for a conversion request that cannot be understood or is too large.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the handler's, wherever it is.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Some(route) = self.0.routes.get(request.uri().path()) else {
            return text(StatusCode::NOT_FOUND, "404 page not found\n");
        };
        let _in_flight = InFlight::enter(&route.metrics.in_flight);
        let began = Instant::now();
        let response = if request.method() == Method::POST {
            match &route.what {
                What::Admission(handler) => {
                    let json = has_json(&request);
                    let body = read(request, ADMISSION_LIMIT).await;
                    admission::answer(&**handler, json, body, &route.metrics, &self.0.panics).await
                }
                What::Conversion(conversions) => {
                    let body = read(request, CONVERSION_LIMIT).await;
                    conversion::answer(conversions, body, &route.metrics, &self.0.panics)
                }
            }
        } else {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
            let allowed = http::HeaderValue::from_static("POST");
            response.headers_mut().insert(header::ALLOW, allowed);
            response
        };
        route.metrics.latency.observe_duration(began.elapsed());
        route.metrics.answered(response.status());
        response
    }

    /// Whether there is a webhook at `path`.
    #[must_use]
    pub fn has_path(&self, path: &str) -> bool {
        self.0.routes.contains_key(path)
    }

    /// The paths that are answered.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.routes.keys().map(String::as_str)
    }
}

/// The content type, if it is another one than JSON.
fn has_json<B>(request: &Request<B>) -> Result<(), String> {
    let value = request.headers().get(header::CONTENT_TYPE);
    let value = value.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let value = value.unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(value.into_owned())
}

/// The whole body, in at most `limit` bytes of memory.
async fn read<B>(request: Request<B>, limit: usize) -> Result<Bytes, Unread>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(request.into_body(), limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Unread::TooLarge),
        Err(error) => Err(Unread::Broken(error.to_string())),
    }
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    respond(status, "text/plain; charset=utf-8", body)
}

fn json(value: &impl serde::Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_vec(value) {
        Ok(body) => respond(StatusCode::OK, "application/json", body),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn respond(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let value = http::HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, value);
    response
}

/// What a panic said, if it said anything.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

impl<B> tower_service::Service<Request<B>> for Webhooks
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let webhooks = self.clone();
        Box::pin(async move { Ok(webhooks.answer(request).await) })
    }
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.paths()).finish()
    }
}
