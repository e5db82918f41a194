use std::sync::Arc;

use http::uri::Authority;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, InconsistentKeys, RootCertStore,
    SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use super::{TransportError, TransportErrorKind};
use crate::config::{Config, ConfigError, ConnectError, Identity, Pem, TlsConfig};

/// Everything that TLS connections of one configuration are made from.
pub(super) struct Setup {
    config: ClientConfig,
    /// Set when certificates are expected for a name other than the server's host.
    renamed: Option<Renamed>,
}

/// The host in requests is the expected name, so that it is also the SNI; it resolves to the
/// server's real address.
struct Renamed {
    authority: Authority,
    resolver: Arc<RealHost>,
}

impl Setup {
    /// `tls` is that of `config`, with the contents of the files.
    pub(super) fn new(
        config: &Config,
        tls: &TlsConfig,
        http1_only: bool,
    ) -> Result<Self, ConnectError> {
        let provider = provider()?;
        if tls.insecure && tls.ca.is_some() {
            let reason = "a CA and insecure-skip-tls-verify exclude each other";
            return Err(ConfigError::invalid(config.origin(), reason).into());
        }
        let verifier: Arc<dyn ServerCertVerifier> = if tls.insecure {
            Arc::new(TrustAnyone(provider.clone()))
        } else if let Some(ca) = &tls.ca {
            trust_only(ca, provider.clone())?
        } else {
            trust_system(config, provider.clone())?
        };
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(config.origin(), &error))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut client = match &tls.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let certified = read_identity(identity, &provider)?;
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
            }
        };
        client.alpn_protocols = match http1_only {
            true => vec![b"http/1.1".to_vec()],
            false => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        Ok(Self {
            config: client,
            renamed: renamed(config)?,
        })
    }

    /// For plain HTTP. reqwest wants to know about TLS all the same, and would panic without
    /// a provider; so it gets a configuration that trusts nobody.
    pub(super) fn plain() -> Result<Self, ConnectError> {
        let builder = ClientConfig::builder_with_provider(provider()?)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable("plain HTTP", &error))?;
        Ok(Self {
            config: builder
                .with_root_certificates(RootCertStore::empty())
                .with_no_client_auth(),
            renamed: None,
        })
    }

    pub(super) fn client_config(&self) -> ClientConfig {
        self.config.clone()
    }

    pub(super) fn resolver(&self) -> Option<Arc<RealHost>> {
        Some(Arc::clone(&self.renamed.as_ref()?.resolver))
    }

    /// Puts the expected name into a request.
    pub(super) fn readdress<B>(
        &self,
        request: &mut http::Request<B>,
    ) -> Result<(), TransportError> {
        let Some(renamed) = &self.renamed else {
            return Ok(());
        };
        let mut parts = request.uri().clone().into_parts();
        parts.authority = Some(renamed.authority.clone());
        *request.uri_mut() = http::Uri::from_parts(parts)
            .map_err(|error| TransportError::new(TransportErrorKind::Request, error))?;
        Ok(())
    }
}

/// The provider is always named: a process default may be missing, or be two.
#[cfg_attr(
    any(feature = "ring", feature = "aws-lc-rs"),
    expect(
        clippy::unnecessary_wraps,
        reason = "it fails when neither provider's feature is on"
    )
)]
fn provider() -> Result<Arc<CryptoProvider>, ConnectError> {
    #[cfg(feature = "ring")]
    return Ok(Arc::new(rustls::crypto::ring::default_provider()));
    #[cfg(all(feature = "aws-lc-rs", not(feature = "ring")))]
    return Ok(Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    CryptoProvider::get_default()
        .cloned()
        .ok_or(ConnectError::NoTlsProvider)
}

fn unusable(origin: &str, error: &dyn std::fmt::Display) -> ConnectError {
    ConfigError::invalid(origin, error.to_string()).into()
}

/// An empty CA trusts nobody (client-go TR2), which is told at once here.
fn trust_only(
    ca: &Pem,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, ConnectError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca)? {
        roots
            .add(certificate)
            .map_err(|error| unusable(ca.origin(), &error))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| unusable(ca.origin(), &error))?;
    Ok(verifier)
}

fn trust_system(
    config: &Config,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, ConnectError> {
    match rustls_platform_verifier::Verifier::new(provider) {
        Ok(verifier) => Ok(Arc::new(verifier)),
        Err(error) => Err(unusable(config.origin(), &error)),
    }
}

fn certificates(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let text = pem.read()?;
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match parsed {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(unusable(pem.origin(), &"has no certificate in PEM")),
        Err(error) => Err(unusable(pem.origin(), &error)),
    }
}

/// What only the server will read need not be readable here: certificates of X.509 version 1,
/// as `openssl x509` makes them, are shown without a look whether the key is theirs.
fn read_identity(
    identity: &Identity,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, ConnectError> {
    let chain = certificates(&identity.certificate)?;
    let text = identity.key.read()?;
    let key = PrivateKeyDer::from_pem_slice(&text)
        .map_err(|error| unusable(identity.key.origin(), &error))?;
    let key = provider
        .key_provider
        .load_private_key(key)
        .map_err(|error| unusable(identity.key.origin(), &error))?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Err(error @ rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            Err(unusable(identity.key.origin(), &error))
        }
        _ => Ok(certified),
    }
}

fn renamed(config: &Config) -> Result<Option<Renamed>, ConnectError> {
    let (Some(name), Some(authority)) = (&config.tls().server_name, config.server().authority())
    else {
        return Ok(None);
    };
    let port = authority.port_u16().unwrap_or(443);
    let host = match ServerName::try_from(name.as_str()) {
        Ok(ServerName::DnsName(_)) => name.clone(),
        _ => {
            let reason = format!("tls-server-name {name:?} is no DNS name");
            return Err(ConfigError::invalid(config.origin(), reason).into());
        }
    };
    let authority_text = format!("{host}:{port}");
    let renamed = authority_text
        .parse()
        .map_err(|error| unusable(config.origin(), &error))?;
    Ok(Some(Renamed {
        authority: renamed,
        resolver: Arc::new(RealHost(authority.host().trim_matches(['[', ']']).into())),
    }))
}

/// Resolves every name to the addresses of one host.
pub(super) struct RealHost(Arc<str>);

impl reqwest::dns::Resolve for RealHost {
    fn resolve(&self, _name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let host = Arc::clone(&self.0);
        Box::pin(async move {
            let addresses: Vec<_> = tokio::net::lookup_host((&*host, 0)).await?.collect();
            Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

/// Accepts any certificate. The handshake's signature is still checked, so that the peer at
/// least holds the key of what it shows.
#[derive(Debug)]
struct TrustAnyone(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        accept_old_certificates(rustls::crypto::verify_tls12_signature(
            message, cert, dss, algorithms,
        ))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        accept_old_certificates(rustls::crypto::verify_tls13_signature(
            message, cert, dss, algorithms,
        ))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Certificates of X.509 version 1 cannot be parsed here; whoever trusts anyone trusts them too.
fn accept_old_certificates(
    outcome: Result<HandshakeSignatureValid, rustls::Error>,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    match outcome {
        Err(rustls::Error::InvalidCertificate(CertificateError::BadEncoding)) => {
            Ok(HandshakeSignatureValid::assertion())
        }
        outcome => outcome,
    }
}
