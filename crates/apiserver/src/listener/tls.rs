//! The serving certificate, its authority and the generated token.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The names under which a server in a cluster is called.
const NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// A new certificate authority.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn generate() -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "evenkeel-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self { issuer })
    }

    pub(super) fn ca_pem(&self) -> String {
        self.issuer.pem()
    }

    /// Accepts TLS under a new certificate for `address`, HTTP/2 first.
    pub(super) fn acceptor(&self, address: IpAddr) -> Result<TlsAcceptor, Error> {
        let mut params = CertificateParams::new(NAMES.map(str::to_owned).to_vec())?;
        params
            .distinguished_name
            .push(DnType::CommonName, "evenkeel-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let loopback = [
            IpAddr::from([127, 0, 0, 1]),
            IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        ];
        for ip in loopback
            .into_iter()
            .chain(Some(address).filter(|ip| !loopback.contains(ip)))
        {
            params.subject_alt_names.push(SanType::IpAddress(ip));
        }
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// 256 random bits as hexadecimal text.
pub(crate) fn secret() -> Result<String, Error> {
    let mut bytes = [0_u8; 32];
    provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| "no secure randomness")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Named explicitly: a library installs no process-wide provider, and relies on none.
fn provider() -> CryptoProvider {
    ring::default_provider()
}
