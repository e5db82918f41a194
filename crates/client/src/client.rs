//! The client handle: what all requests share.

mod body;
mod dry_run;
mod exchange;
mod limiter;
mod metering;
mod options;
mod overload;
mod request;
mod retry;
mod status_body;
mod timeouts;
mod trace;
mod user_agent;
mod warning;

#[cfg(test)]
mod tests;

pub use self::options::{ClientOptions, Timeouts};
pub use self::overload::OverloadBackoff;
pub use self::retry::RetryPolicy;
pub use self::warning::{Warning, WarningHandler};

pub(crate) use self::request::{Outgoing, Subject};
pub(crate) use self::status_body::failure;
pub(crate) use self::timeouts::{IdleLimited, idle_limited};

use std::error::Error as StdError;
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_meta::{ApiResource, DynamicObject, Metadata, Object, Resource};
use evenkeel_observe::Metrics;
use http_body_util::Full;
use tower_service::Service;

use crate::api::Api;
use crate::config::{Config, ConnectError};
use crate::credentials::Impersonation;
use crate::error::Result;
use crate::options::FieldValidation;
use crate::transport::{Lane, ReqwestTransport, ServiceTransport, Transport, TransportOptions};

/// A handle to one API server. Cloning is cheap and shares everything.
///
/// Typed access goes through [`Api`]: [`all`](Self::all), [`namespaced`](Self::namespaced),
/// [`dynamic`](Self::dynamic), [`metadata`](Self::metadata), [`projected`](Self::projected).
///
/// # Cancel safety
///
/// Dropping the future of any request, or a stream, gives the request up. For a write that
/// was on its way, the server may still have acted.
#[derive(Clone)]
pub struct Client {
    transport: Arc<dyn Transport>,
    shared: Arc<Shared>,
}

/// What the `with_*` methods change on a copy.
#[derive(Clone)]
struct Shared {
    options: ClientOptions,
    limiter: Option<Arc<limiter::Limiter>>,
    overload: Option<Arc<overload::Overload>>,
    jitter: Arc<retry::Jitter>,
}

impl Client {
    /// A client over any transport.
    pub fn new(transport: impl Transport, options: ClientOptions) -> Self {
        Self {
            transport: Arc::new(transport),
            shared: Arc::new(Shared {
                limiter: None,
                overload: options.overload.map(overload::Overload::new).map(Arc::new),
                jitter: Arc::new(retry::Jitter::new(options.seed)),
                options,
            }),
        }
    }

    /// A client over the network, with the defaults for everything that `config` does not say.
    ///
    /// Nothing is sent yet: a server that is not there shows with the first request.
    ///
    /// # Errors
    ///
    /// A [`ConnectError`] that names the entry of the configuration at fault: an unreadable
    /// certificate, a key that does not fit, a credential kind that is not supported.
    pub fn connect(config: &Config) -> Result<Self, ConnectError> {
        Self::connect_with(config, &TransportOptions::default())
    }

    /// A client over the network, with the transport's limits chosen by the caller.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(
        config: &Config,
        transport: &TransportOptions,
    ) -> Result<Self, ConnectError> {
        let options = ClientOptions::from_config(config)?;
        let transport = ReqwestTransport::sharing(config, transport, &options.credentials)?;
        Ok(Self::new(transport, options))
    }

    /// A copy whose requests go through a transport around this one's: a fence, a recorder, a fault.
    #[must_use]
    pub fn with_transport<T: Transport>(&self, wrap: impl FnOnce(Arc<dyn Transport>) -> T) -> Self {
        Self {
            transport: Arc::new(wrap(Arc::clone(&self.transport))),
            shared: Arc::clone(&self.shared),
        }
    }

    /// A client over a `kube::Client`, with its default namespace: see
    /// [`KubeTransport`](crate::KubeTransport).
    #[cfg(feature = "kube-client")]
    #[must_use]
    pub fn from_kube(client: kube_client::Client) -> Self {
        let options = ClientOptions {
            default_namespace: client.default_namespace().to_owned(),
            seed: evenkeel_pace::Rng::from_entropy().next_u64(),
            ..ClientOptions::default()
        };
        Self::new(crate::transport::KubeTransport::new(client), options)
    }

    /// A client of a `tower_service::Service`: a server in the same process, a stack of
    /// middleware.
    pub fn from_service<S, B>(service: S) -> Self
    where
        S: Service<http::Request<Full<Bytes>>, Response = http::Response<B>>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        S::Error: Into<Box<dyn StdError + Send + Sync>>,
        B: http_body::Body + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        Self::new(ServiceTransport::new(service), ClientOptions::default())
    }

    /// The same client with another `User-Agent`.
    #[must_use]
    pub fn with_user_agent(&self, agent: impl Into<String>) -> Self {
        self.with_options(|options| options.user_agent = agent.into())
    }

    /// The same client; writes that name no field manager use this one.
    #[must_use]
    pub fn with_field_manager(&self, manager: impl Into<String>) -> Self {
        self.with_options(|options| options.field_manager = Some(manager.into()))
    }

    /// The same client; writes that do not say what is to be done with unknown fields say this.
    #[must_use]
    pub fn with_field_validation(&self, validation: FieldValidation) -> Self {
        self.with_options(|options| options.field_validation = Some(validation))
    }

    /// The same client for one namespace alone, which is also its
    /// [default](Self::default_namespace).
    ///
    /// An [`Api`] of all namespaces is one of this namespace, objects that name none are created in
    /// it, and whatever names another one is refused before anything is sent, as
    /// [`OtherNamespace`](crate::RequestError::OtherNamespace). Cluster-scoped kinds are not
    /// concerned, and [`raw`](Self::raw) requests are sent as they are.
    ///
    /// ```
    /// # use evenkeel_client::{Client, Result};
    /// # use evenkeel_meta::{ApiResource, Scope};
    /// # async fn example(client: &Client, pods: ApiResource) -> Result<()> {
    /// let shop = client.with_namespace("shop");
    /// let all = shop.dynamic(pods, None); // all of the shop
    /// assert!(all.in_namespace("bank").get("vault").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_namespace(&self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        self.with_options(|options| {
            options.default_namespace.clone_from(&namespace);
            options.only_namespace = Some(namespace);
        })
    }

    /// The same client, none of whose writes is stored: the server does everything else, such as
    /// validation and admission, and answers as if.
    ///
    /// It holds for every verb, subresources, deletions and [`raw`](Self::raw) requests included, and
    /// cannot be undone by the options of a write. What is not a write in the server's eyes, such as a
    /// command run in a pod, is none here. A lock that only seems to be taken elects nobody: give
    /// elections a client that writes.
    #[must_use]
    pub fn with_dry_run(&self) -> Self {
        self.with_options(|options| options.dry_run = true)
    }

    /// The same client, that acts as somebody else.
    #[must_use]
    pub fn with_impersonation(&self, whom: Impersonation) -> Self {
        self.with_options(|options| options.impersonation = Some(whom))
    }

    /// The same client with other time limits.
    #[must_use]
    pub fn with_timeouts(&self, timeouts: Timeouts) -> Self {
        self.with_options(|options| options.timeouts = timeouts)
    }

    /// The same client; its requests are counted in `metrics`, under client-go's names.
    #[must_use]
    pub fn with_metrics(&self, metrics: &Metrics) -> Self {
        self.with_options(|options| options.metrics = metrics.clone())
    }

    /// The same client with other rules for trying again.
    #[must_use]
    pub fn with_retry(&self, retry: RetryPolicy) -> Self {
        self.with_options(|options| options.retry = retry)
    }

    /// The same client, that starts at most `qps` requests a second, and `burst` at once
    /// after a quiet time. Every clone of the result shares the limit.
    ///
    /// Off by default: API priority and fairness is the server's work. Opening a watch is
    /// not limited, trying it again is (client-go RC1).
    #[must_use]
    pub fn with_rate_limit(&self, qps: f64, burst: u32) -> Self {
        let mut client = self.clone();
        let shared = Arc::make_mut(&mut client.shared);
        shared.limiter = Some(Arc::new(limiter::Limiter::new(qps, burst)));
        client
    }

    /// The same client, whose requests all slow down while the server is overloaded. Every clone
    /// of the result shares it.
    ///
    /// Off by default, unless the variables `KUBE_CLIENT_BACKOFF_BASE` and
    /// `KUBE_CLIENT_BACKOFF_DURATION` are set when a client is made of a configuration.
    #[must_use]
    pub fn with_overload_backoff(&self, backoff: OverloadBackoff) -> Self {
        let mut client = self.with_options(|options| options.overload = Some(backoff));
        let shared = Arc::make_mut(&mut client.shared);
        shared.overload = Some(Arc::new(overload::Overload::new(backoff)));
        client
    }

    /// The same client; the server's warnings go to `handle` instead of the log.
    #[must_use]
    pub fn with_warning_handler(
        &self,
        handle: impl Fn(&Warning<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.with_options(|options| options.warnings = WarningHandler::new(handle))
    }

    fn with_options(&self, change: impl FnOnce(&mut ClientOptions)) -> Self {
        let mut client = self.clone();
        change(&mut Arc::make_mut(&mut client.shared).options);
        client
    }

    /// The options in use.
    #[must_use]
    pub fn options(&self) -> &ClientOptions {
        &self.shared.options
    }

    /// The namespace that the configuration names, or `default`.
    #[must_use]
    pub fn default_namespace(&self) -> &str {
        &self.shared.options.default_namespace
    }

    /// Objects of a cluster-scoped kind, or of a namespaced one in every namespace.
    #[must_use]
    pub fn all<K: Resource>(&self) -> Api<K> {
        Api::typed(self.clone(), K::api_resource(), None)
    }

    /// Objects of one namespace.
    #[must_use]
    pub fn namespaced<K: Resource>(&self, namespace: &str) -> Api<K> {
        Api::typed(self.clone(), K::api_resource(), Some(namespace))
    }

    /// Whole objects of a kind that is known at run time.
    ///
    /// Items of a list carry no kind on the wire; they are given that of `resource`.
    #[must_use]
    pub fn dynamic(&self, resource: ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
        Api::dynamic(self.clone(), resource, namespace)
    }

    /// Only the metadata of objects of any kind; the server sends nothing else.
    #[must_use]
    pub fn metadata(&self, resource: ApiResource, namespace: Option<&str>) -> Api<Metadata> {
        Api::metadata(self.clone(), resource, namespace)
    }

    /// Objects of a kind, decoded into any type that takes the fields it wants.
    #[must_use]
    pub fn projected<K: Object>(&self, resource: ApiResource, namespace: Option<&str>) -> Api<K> {
        Api::typed(self.clone(), resource, namespace)
    }

    /// Sends any request, with this client's credentials, retries and time limits.
    ///
    /// The URI is a path with an optional query; scheme and host are filled in. The body of
    /// the answer is read whole.
    ///
    /// # Errors
    ///
    /// An error status becomes [`Error::Api`](crate::Error::Api).
    pub async fn raw(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>> {
        let lane = if request.method() == http::Method::GET {
            Lane::List
        } else {
            Lane::Write
        };
        self.fetch(&Outgoing::raw(lane, request)).await
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}
