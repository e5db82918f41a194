use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{StatusCode, header};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::drain::drained;
use super::options::TransportOptions;
use super::pool::Pool;
use super::{ByteStream, Lane, TransportError, TransportErrorKind};
use crate::config::{Config, ConnectError, TlsConfig};
use crate::credentials::ExecPlugin;

/// After a refusal the files are looked at again, but not more often than this.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Sends requests over the connections of the newest certificates.
pub(super) struct Reloader {
    config: Config,
    options: TransportOptions,
    plugin: Option<Arc<ExecPlugin>>,
    state: Mutex<State>,
}

struct State {
    pool: Arc<Pool>,
    /// What the pool is made of, with the contents of the files.
    tls: TlsConfig,
    looked_at: Instant,
    /// One request looks, the others go on meanwhile.
    being_looked_at: bool,
    /// Whether a connection was lost, and newer files may be the remedy.
    refused: bool,
    /// How many streams were given a time to end at.
    streams: u32,
}

impl Reloader {
    pub(super) fn new(
        config: &Config,
        options: &TransportOptions,
        plugin: Option<Arc<ExecPlugin>>,
    ) -> Result<Self, ConnectError> {
        let tls = config.tls().loaded()?;
        let pool = Pool::new(config, &tls, options)?;
        Ok(Self {
            config: config.clone(),
            options: options.clone(),
            plugin,
            state: Mutex::new(State {
                pool: Arc::new(pool),
                tls,
                looked_at: Instant::now(),
                being_looked_at: false,
                refused: false,
                streams: 0,
            }),
        })
    }

    pub(super) fn options(&self) -> &TransportOptions {
        &self.options
    }

    pub(super) async fn send(
        self: Arc<Self>,
        lane: Lane,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<ByteStream>, TransportError> {
        if !self.may_change() {
            let pool = self.pool();
            return pool.send(lane, request).await;
        }
        self.follow_plugin(&request).await?;
        self.look(self.due_after()).await;
        let pool = self.pool();
        let outcome = pool.send(lane, request.clone()).await;
        if self.is_refused(&outcome) {
            self.look(Duration::ZERO).await;
            let newer = self.pool();
            // Nothing has been done for a request that was refused like that.
            if !Arc::ptr_eq(&pool, &newer) {
                let outcome = newer.send(lane, request).await;
                return self.received(lane, &newer, outcome);
            }
        }
        self.received(lane, &pool, outcome)
    }

    /// Whether newer certificates may be what is missing.
    fn is_refused<T>(&self, outcome: &Result<http::Response<T>, TransportError>) -> bool {
        match outcome {
            Ok(response) => {
                response.status() == StatusCode::UNAUTHORIZED
                    && self.config.tls().identity.is_some()
            }
            Err(error) => error.kind() == TransportErrorKind::Tls,
        }
    }

    fn received(
        self: &Arc<Self>,
        lane: Lane,
        pool: &Pool,
        outcome: Result<http::Response<ByteStream>, TransportError>,
    ) -> Result<http::Response<ByteStream>, TransportError> {
        // Over HTTP/2 a certificate that is refused looks like a lost connection.
        let lost = |error: &TransportError| error.kind() == TransportErrorKind::Closed;
        if outcome.as_ref().is_err_and(lost) {
            self.state.lock().refused = true;
        }
        let response = outcome?;
        if lane != Lane::Watch {
            return Ok(response);
        }
        let (retirement, reloader) = (pool.retirement(), Arc::downgrade(self));
        // Every look takes a thread for a moment, so watches do not look all the time.
        let look_every = self.options.reload_after.max(SHORTEST_PAUSE);
        let delay = self.delay();
        Ok(response.map(|body| drained(body, retirement, reloader, look_every, delay)))
    }

    /// Whether there is anything that could be replaced.
    fn may_change(&self) -> bool {
        self.plugin.is_some() || self.config.tls().has_files()
    }

    fn pool(&self) -> Arc<Pool> {
        Arc::clone(&self.state.lock().pool)
    }

    /// A part of the bound for draining, another one for each stream: multiples of the golden
    /// ratio spread evenly, however many there are.
    fn delay(&self) -> Duration {
        let mut state = self.state.lock();
        state.streams = state.streams.wrapping_add(1);
        let part = (f64::from(state.streams) * 0.618_033_988_75).fract();
        self.options.drain_within.mul_f64(part)
    }

    fn due_after(&self) -> Duration {
        match self.state.lock().refused {
            true => SHORTEST_PAUSE.min(self.options.reload_after),
            false => self.options.reload_after,
        }
    }

    /// Looks at the files if that was longer ago than `age`, and replaces the connections if
    /// they have changed.
    pub(super) async fn look(&self, age: Duration) {
        if !self.config.tls().has_files() {
            return;
        }
        let claim = {
            let mut state = self.state.lock();
            if state.being_looked_at || state.looked_at.elapsed() < age {
                return;
            }
            state.being_looked_at = true;
            Claim(self)
        };
        let tls = self.config.tls().clone();
        // A thread of the pool that is gone takes nothing with it: the next request looks again.
        if let Ok(loaded) = tokio::task::spawn_blocking(move || tls.loaded()).await {
            let replaced = loaded
                .map_err(ConnectError::from)
                .and_then(|loaded| self.replace(|last| self.with_plugins(loaded, last)));
            if let Err(error) = replaced {
                tracing::warn!(%error, "keeping the last certificates");
            }
        }
        let mut state = self.state.lock();
        state.looked_at = Instant::now();
        state.refused = false;
        drop(state);
        drop(claim);
    }

    /// The plugin's certificate is in no file.
    fn with_plugins(&self, mut loaded: TlsConfig, last: &TlsConfig) -> TlsConfig {
        if self.plugin.is_some() {
            loaded.identity.clone_from(&last.identity);
        }
        loaded
    }

    /// Takes over the certificate that the plugin has printed last.
    async fn follow_plugin(&self, request: &http::Request<Bytes>) -> Result<(), TransportError> {
        let Some(plugin) = &self.plugin else {
            return Ok(());
        };
        let broken = |error| TransportError::new(TransportErrorKind::Request, error);
        // It is not run for the sake of a request that brings its own credentials.
        let obtained = match request.headers().contains_key(header::AUTHORIZATION) {
            true => plugin.latest(),
            false => Some(plugin.current().await.map_err(broken)?),
        };
        let Some(identity) = obtained.and_then(|obtained| obtained.identity.clone()) else {
            return Ok(());
        };
        let with_identity = |tls: &TlsConfig| TlsConfig {
            identity: Some(identity),
            ..tls.clone()
        };
        self.replace(with_identity)
            .map_err(|error| TransportError::new(TransportErrorKind::Request, error))
    }

    /// Requests move to new connections at once if these certificates are others.
    fn replace(&self, change: impl FnOnce(&TlsConfig) -> TlsConfig) -> Result<(), ConnectError> {
        let mut state = self.state.lock();
        let tls = change(&state.tls);
        if state.tls == tls {
            return Ok(());
        }
        let pool = Pool::new(&self.config, &tls, &self.options)?;
        tracing::info!(server = %self.config.server(), "the certificates have changed");
        state.pool.retire();
        state.pool = Arc::new(pool);
        state.tls = tls;
        Ok(())
    }
}

/// The right to look at the files; given back when the one who looks is done or was dropped.
struct Claim<'a>(&'a Reloader);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.state.lock().being_looked_at = false;
    }
}
