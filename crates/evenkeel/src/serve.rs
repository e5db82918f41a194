//! The endpoints of a Manager: probes, metrics, webhooks, pages.

mod guard;
mod routes;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_serve::{Server, ServerStatus};
use evenkeel_webhook::Webhooks;
use tokio_util::sync::CancellationToken;

pub use evenkeel_serve::{BindError, Tls, TlsError, TlsFiles, TlsIdentity};
pub use guard::Guard;

use crate::{DebugPages, Probes, Registry};
use routes::Routes;

/// How long webhooks that are being answered may go on once the endpoint was told to stop: as long as
/// the API server waits for one, unless its configuration says otherwise.
const WEBHOOK_DRAIN: Duration = Duration::from_secs(10);

/// A bound, not yet serving address, and what it will answer: what was given to it, and 404 otherwise.
///
/// ```no_run
/// # async fn example(manager: &mut evenkeel::Manager) -> Result<(), evenkeel::BoxError> {
/// use evenkeel::Endpoint;
///
/// let probes = Endpoint::bind(([0, 0, 0, 0], 8081).into(), None).await?;
/// let (checks, registry) = (manager.probes().clone(), manager.registry().clone());
/// manager.serve(probes.with_probes(checks).with_metrics(registry));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Endpoint {
    server: Server,
    routes: Routes,
}

/// A page that an [`Endpoint`] cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The path belongs to the metrics, the probes or the pages for debugging.
    #[error("{0:?} is no path for a page of one's own")]
    Reserved(String),
    /// There is a page at this path.
    #[error("two pages at {0:?}")]
    Duplicate(String),
}

impl Endpoint {
    /// Binds `address`. With `tls` it speaks that and nothing else, without it plain HTTP.
    ///
    /// # Errors
    ///
    /// When the port is taken: before anything has started (controller-runtime binds metrics later).
    pub async fn bind(address: SocketAddr, tls: Option<Tls>) -> Result<Self, BindError> {
        Ok(Self {
            server: Server::bind(address, tls).await?,
            routes: Routes::default(),
        })
    }

    /// Answers `/healthz`, `/livez` and `/readyz`, to everybody.
    #[must_use]
    pub fn with_probes(mut self, probes: Probes) -> Self {
        self.routes.probes = Some(probes);
        self
    }

    /// Answers `/metrics`.
    #[must_use]
    pub fn with_metrics(mut self, registry: Registry) -> Self {
        self.routes.registry = Some(registry);
        self
    }

    /// Shows the metrics and the pages of one's own only to whom `guard` lets through. Probes, webhooks
    /// and the pages for debugging have rules of their own.
    #[must_use]
    pub fn with_guard(mut self, guard: Guard) -> Self {
        self.routes.guard = Some(guard);
        self
    }

    /// Answers these webhooks' paths. The API server speaks TLS only, usually to port 9443. Open
    /// requests get ten seconds at the end.
    #[must_use]
    pub fn with_webhooks(mut self, webhooks: Webhooks) -> Self {
        self.server = self.server.with_drain(WEBHOOK_DRAIN);
        self.routes.webhooks = Some(webhooks);
        self
    }

    /// Serves these pages too, to whoever connects from this machine.
    #[must_use]
    pub fn with_debug_pages(mut self, pages: DebugPages) -> Self {
        self.routes.pages = pages;
        self
    }

    /// Answers GET and HEAD at `path` with what `answer` makes of the request.
    ///
    /// `answer` must not block.
    ///
    /// # Errors
    ///
    /// [`PageError`] when the path is taken already, or is one of the endpoint's own.
    pub fn with_page(
        mut self,
        path: impl Into<String>,
        answer: impl Fn(&http::Request<()>) -> http::Response<Bytes> + Send + Sync + 'static,
    ) -> Result<Self, PageError> {
        self.routes.add_page(path.into(), answer)?;
        Ok(self)
    }

    /// The bound address, with the port that the system chose when 0 was asked for.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.server.local_addr()
    }

    /// Whether it serves, for a readiness check: `probes.add(Probe::Ready, "webhooks", ..)`.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        self.server.status()
    }

    /// Serves until `stop`, then lets open connections end within two seconds, ten with webhooks.
    ///
    /// Dropping the future closes everything at once.
    pub async fn serve(self, stop: CancellationToken) {
        self.server.serve(self.routes.into_service(), stop).await;
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.paths()).finish()
    }
}
