//! What a server's connections are encrypted with, and how it is renewed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_observe::{Counter, Descriptor, Metrics};
use parking_lot::{Mutex, RwLock};
use rustls::crypto::CryptoProvider;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::identity::provider;
use crate::{TlsError, TlsIdentity};

/// How often the files are looked at.
const PERIOD: Duration = Duration::from_secs(10);

static READS: Descriptor = Descriptor::counter(
    "certwatcher_read_certificate_total",
    "Certificates that were read because the files had changed.",
    &[],
);
static ERRORS: Descriptor = Descriptor::counter(
    "certwatcher_read_certificate_errors_total",
    "Looks at the certificate's files that found no usable pair.",
    &[],
);

/// The files of a serving certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, PEM, the server's own certificate first.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// Authorities, PEM; when given, clients must show a certificate of one of them.
    pub client_ca: Option<PathBuf>,
}

impl TlsFiles {
    /// `tls.crt` and `tls.key`, the names in a Secret of the type `kubernetes.io/tls`.
    pub fn in_directory(directory: impl AsRef<Path>) -> Self {
        let directory = directory.as_ref();
        Self {
            certificate: directory.join("tls.crt"),
            key: directory.join("tls.key"),
            client_ca: None,
        }
    }
}

/// What a [`Server`](crate::Server) encrypts with. Cheap to clone; all clones change together.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    current: RwLock<Arc<ServerConfig>>,
    source: Option<Source>,
}

struct Source {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    reads: Counter,
    errors: Counter,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The bytes that were read last, good or bad.
    seen: Option<Vec<Vec<u8>>>,
    problem: Option<String>,
}

impl Tls {
    /// One identity for good.
    ///
    /// # Errors
    ///
    /// When certificate and key do not go together.
    pub fn fixed(identity: &TlsIdentity) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(Inner {
            current: RwLock::new(identity.config(None)?),
            source: None,
        })))
    }

    /// The identity in these files, now and whenever they change: the server looks every ten
    /// seconds. Connections that are open keep the one that they began with.
    ///
    /// While the files hold no usable pair, the last good one stays in use; each look counts in
    /// `certwatcher_read_certificate_errors_total` and [`problem`](Self::problem) says what it is.
    ///
    /// The TLS provider is the one that the feature `ring` or `aws-lc-rs` chooses, `ring` if both
    /// are on; with neither, the one that the program has installed.
    ///
    /// # Errors
    ///
    /// When the files hold no usable pair now; [`TlsError::NoProvider`].
    pub fn from_files(files: TlsFiles, metrics: &Metrics) -> Result<Self, TlsError> {
        Self::from_files_with(files, provider()?, metrics)
    }

    /// The same with this TLS provider, whatever the features are.
    ///
    /// # Errors
    ///
    /// When the files hold no usable pair now.
    pub fn from_files_with(
        files: TlsFiles,
        provider: Arc<CryptoProvider>,
        metrics: &Metrics,
    ) -> Result<Self, TlsError> {
        let source = Source {
            files,
            provider,
            reads: metrics.counter(&READS, &[]),
            errors: metrics.counter(&ERRORS, &[]),
            state: Mutex::default(),
        };
        let seen = source.bytes();
        let config = source.read().inspect_err(|_| source.errors.inc())?;
        source.reads.inc();
        source.state.lock().seen = Some(seen);
        Ok(Self(Arc::new(Inner {
            current: RwLock::new(config),
            source: Some(source),
        })))
    }

    /// Looks at the files now; whether what they hold is in use from here on because of it. It
    /// blocks for as long as reading them takes.
    pub fn reload(&self) -> bool {
        let Some(source) = &self.0.source else {
            return false;
        };
        let seen = source.bytes();
        let mut state = source.state.lock();
        // A pair that was no good is tried again: the key may be there a moment later than the
        // certificate, with the bytes read in between the same.
        if state.problem.is_none() && state.seen.as_ref() == Some(&seen) {
            return false;
        }
        match source.read() {
            Ok(config) => {
                source.reads.inc();
                *self.0.current.write() = config;
                *state = State {
                    seen: Some(seen),
                    problem: None,
                };
                tracing::info!(file = %source.files.certificate.display(), "Serving with a new certificate");
                true
            }
            Err(error) => {
                source.errors.inc();
                let problem = error.to_string();
                if state.problem.as_ref() != Some(&problem) {
                    tracing::error!("Serving with the old certificate: {problem}");
                }
                state.seen = Some(seen);
                state.problem = Some(problem);
                false
            }
        }
    }

    /// Why the files are not what is in use; `None` when they are.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.0.source.as_ref()?.state.lock().problem.clone()
    }

    pub(crate) fn acceptor(&self) -> tokio_rustls::TlsAcceptor {
        Arc::clone(&self.0.current.read()).into()
    }

    /// Looks at the files again and again; never returns. Dropping it ends it, after at most one
    /// more look.
    pub(crate) async fn keep_fresh(&self) {
        if self.0.source.is_none() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(PERIOD).await;
            let tls = self.clone();
            // It cannot be cancelled: the runtime is not shutting down while this is polled.
            let _ = tokio::task::spawn_blocking(move || tls.reload()).await;
        }
    }
}

impl Source {
    /// What the files hold. One that cannot be read is empty, which no good one is.
    fn bytes(&self) -> Vec<Vec<u8>> {
        let files = [&self.files.certificate, &self.files.key];
        let files = files.into_iter().chain(&self.files.client_ca);
        files
            .map(|file| std::fs::read(file).unwrap_or_default())
            .collect()
    }

    fn read(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let TlsFiles {
            certificate, key, ..
        } = &self.files;
        let provider = Arc::clone(&self.provider);
        let identity = TlsIdentity::from_pem_files(certificate, key, provider)?;
        let roots = self.files.client_ca.as_deref().map(roots).transpose()?;
        identity.config(roots)
    }
}

fn roots(file: &Path) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    let at = |source| TlsError::File {
        path: file.to_owned(),
        source,
    };
    for certificate in CertificateDer::pem_file_iter(file).map_err(at)? {
        roots.add(certificate.map_err(at)?)?;
    }
    Ok(Arc::new(roots))
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.0.source.as_ref().map(|source| &source.files);
        f.debug_struct("Tls")
            .field("files", &files)
            .finish_non_exhaustive()
    }
}
