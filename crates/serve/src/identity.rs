//! Certificate and key of a server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate chain and its key for the serving endpoint.
///
/// `Debug` shows neither.
pub struct TlsIdentity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: Arc<CryptoProvider>,
}

/// The serving certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read, or is no PEM.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: rustls_pki_types::pem::Error,
    },
    /// A self-signed certificate cannot be made.
    #[cfg(feature = "self-signed")]
    #[error("cannot make a self-signed certificate: {0}")]
    SelfSigned(#[from] rcgen::Error),
    /// The key and the certificate do not go together, or the provider knows neither.
    #[error("cannot serve with this certificate: {0}")]
    Unusable(#[from] rustls::Error),
    /// No feature chooses a TLS provider, and the program has installed none.
    #[error("no TLS provider: choose the feature ring or aws-lc-rs, or hand one in")]
    NoProvider,
    /// No client could be known by these authorities.
    #[error("cannot verify clients: {0}")]
    ClientCa(#[from] VerifierBuilderError),
}

/// The provider that a feature chooses, or else the one that the program has installed.
#[cfg_attr(
    any(feature = "ring", feature = "aws-lc-rs"),
    expect(
        clippy::unnecessary_wraps,
        reason = "it fails when neither provider's feature is on"
    )
)]
pub(crate) fn provider() -> Result<Arc<CryptoProvider>, TlsError> {
    #[cfg(feature = "ring")]
    return Ok(Arc::new(rustls::crypto::ring::default_provider()));
    #[cfg(all(feature = "aws-lc-rs", not(feature = "ring")))]
    return Ok(Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    CryptoProvider::get_default()
        .cloned()
        .ok_or(TlsError::NoProvider)
}

impl TlsIdentity {
    /// A fresh self-signed certificate for these names, as kube-controller-manager makes one
    /// when it is given none.
    ///
    /// # Errors
    ///
    /// [`TlsError::SelfSigned`] when a name is no DNS name or address.
    #[cfg(feature = "self-signed")]
    pub fn self_signed(names: &[&str], provider: Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names)?;
        Ok(Self {
            chain: vec![made.cert.der().clone()],
            key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
            provider,
        })
    }

    /// Certificate chain and key from PEM files.
    ///
    /// # Errors
    ///
    /// [`TlsError::File`] names the file that cannot be used.
    pub fn from_pem_files(
        certificate: &Path,
        key: &Path,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TlsError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| TlsError::File { path, source }
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect)
            .map_err(at(certificate))?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(at(key))?;
        Ok(Self {
            chain,
            key,
            provider,
        })
    }

    /// The configuration of a server with this identity, HTTP/2 first. With `client_roots` a client
    /// must show a certificate that leads to one of them.
    pub(crate) fn config(
        &self,
        client_roots: Option<Arc<RootCertStore>>,
    ) -> Result<Arc<ServerConfig>, TlsError> {
        let builder = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?;
        let builder = match client_roots {
            None => builder.with_no_client_auth(),
            Some(roots) => {
                let provider = Arc::clone(&self.provider);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                builder.with_client_cert_verifier(verifier.build()?)
            }
        };
        let mut config = builder.with_single_cert(self.chain.clone(), self.key.clone_key())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsIdentity").finish_non_exhaustive()
    }
}
