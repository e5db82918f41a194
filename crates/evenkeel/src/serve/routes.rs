//! Which page is found where, and who may see it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use evenkeel_serve::{Body, Peer};
use evenkeel_webhook::Webhooks;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;

use super::guard::Refusal;
use super::{Guard, PageError};
use crate::{DebugPages, Probes, Registry};

const TEXT: &str = "text/plain; charset=utf-8";

type Page = Box<dyn Fn(&Request<()>) -> Response<Bytes> + Send + Sync>;

/// What an endpoint answers.
#[derive(Default)]
pub(super) struct Routes {
    pub(super) probes: Option<Probes>,
    pub(super) registry: Option<Registry>,
    pub(super) webhooks: Option<Webhooks>,
    pub(super) pages: DebugPages,
    pub(super) guard: Option<Guard>,
    own: BTreeMap<String, Page>,
}

impl Routes {
    pub(super) fn add_page(
        &mut self,
        path: String,
        page: impl Fn(&Request<()>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Result<(), PageError> {
        let first = path.split('/').nth(1).unwrap_or_default();
        if !path.starts_with('/')
            || ["metrics", "debug", "healthz", "livez", "readyz"].contains(&first)
        {
            return Err(PageError::Reserved(path));
        }
        if self.own.contains_key(&path) {
            return Err(PageError::Duplicate(path));
        }
        self.own.insert(path, Box::new(page));
        Ok(())
    }

    pub(super) fn paths(&self) -> Vec<&str> {
        let probes = ["/healthz", "/livez", "/readyz"];
        let probes = probes.into_iter().filter(|_| self.probes.is_some());
        let metrics = self.registry.as_ref().map(|_| "/metrics");
        let webhooks = self.webhooks.iter().flat_map(Webhooks::paths);
        let own = self.own.keys().map(String::as_str);
        probes.chain(metrics).chain(webhooks).chain(own).collect()
    }

    pub(super) fn into_service(self) -> RoutesService {
        RoutesService(Arc::new(self))
    }

    async fn answer(&self, request: Request<Body>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if let Some(webhooks) = &self.webhooks
            && webhooks.has_path(path)
        {
            return webhooks.answer(request).await;
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return respond(405, TEXT, "method not allowed\n");
        }
        let (head, _) = request.into_parts();
        let request = Request::from_parts(head, ());
        self.page(&request).await
    }

    async fn page(&self, request: &Request<()>) -> Response<Full<Bytes>> {
        let uri = request.uri();
        let is_metrics = uri.path() == "/metrics" && self.registry.is_some();
        if is_metrics || self.own.contains_key(uri.path()) {
            return self.guarded(request).await;
        }
        if uri.path().starts_with("/debug/") {
            return self.debug(request).await;
        }
        let probes = self.probes.as_ref();
        match probes.and_then(|probes| probes.answer(uri.path(), uri.query().unwrap_or_default())) {
            Some(answer) => {
                let code = if answer.passed { 200 } else { 500 };
                respond(code, TEXT, answer.body)
            }
            None => not_found(),
        }
    }

    async fn guarded(&self, request: &Request<()>) -> Response<Full<Bytes>> {
        if let Some(guard) = &self.guard
            && let Err(refusal) = guard.admit(request).await
        {
            return refused(&refusal);
        }
        match (self.own.get(request.uri().path()), &self.registry) {
            (Some(page), _) => page(request).map(Full::new),
            (None, Some(registry)) => respond(200, Registry::CONTENT_TYPE, registry.encode()),
            (None, None) => not_found(),
        }
    }

    async fn debug(&self, request: &Request<()>) -> Response<Full<Bytes>> {
        let is_local = request
            .extensions()
            .get::<Peer>()
            .is_some_and(|peer| peer.0.ip().to_canonical().is_loopback());
        if !is_local || !names_a_machine(request) {
            return respond(403, TEXT, "only for connections from this machine\n");
        }
        let (pages, uri) = (self.pages.clone(), request.uri().clone());
        let render = move || pages.render(uri.path(), uri.query().unwrap_or_default());
        // It may take long, and probes must not wait for it.
        match tokio::task::spawn_blocking(render).await {
            Ok(Some(page)) => respond(200, page.content_type, page.body),
            Ok(None) => not_found(),
            Err(error) => {
                tracing::warn!(%error, "A page for debugging failed");
                respond(500, TEXT, "failed\n")
            }
        }
    }
}

/// Whether the request is for an address or for `localhost`: a web page in a browser of this
/// machine asks for a name that it has made to lead here.
fn names_a_machine(request: &Request<()>) -> bool {
    let in_uri = request.uri().authority().map(http::uri::Authority::as_str);
    let in_header = || request.headers().get(header::HOST)?.to_str().ok();
    let Some(authority) = in_uri.or_else(in_header) else {
        return false;
    };
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    host.is_some_and(|host| host == "localhost" || host.parse::<std::net::IpAddr>().is_ok())
}

fn refused(refusal: &Refusal) -> Response<Full<Bytes>> {
    match refusal {
        Refusal::Unauthenticated => {
            let mut response = respond(401, TEXT, "Unauthorized\n");
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
            response
        }
        Refusal::Forbidden { user } => {
            respond(403, TEXT, format!("Authorization denied for user {user}\n"))
        }
        Refusal::Unknown { what } => respond(500, TEXT, format!("{what} failed\n")),
    }
}

fn not_found() -> Response<Full<Bytes>> {
    respond(404, TEXT, "404 page not found\n")
}

fn respond(code: u16, content_type: &str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
    let headers = response.headers_mut();
    if let Ok(value) = content_type.parse() {
        headers.insert(header::CONTENT_TYPE, value);
    }
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// The routes as a service of requests.
#[derive(Clone)]
pub(super) struct RoutesService(Arc<Routes>);

impl tower_service::Service<Request<Body>> for RoutesService {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let routes = Arc::clone(&self.0);
        Box::pin(async move { Ok(routes.answer(request).await) })
    }
}
