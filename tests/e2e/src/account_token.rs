//! Tokens of service accounts that end when a scenario wants them to; the server's own live for ten
//! minutes at least.

use std::time::Duration;

use anyhow::{Context, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use evenkeel_meta::{DynamicObject, MetaView, Timestamp};
use rcgen::{KeyPair, SigningKey};
use serde_json::{Value, json};

/// How long a kube-apiserver takes a token after its end, for clocks that differ.
const LEEWAY: Duration = Duration::from_secs(60);
const ISSUER: &str = "https://kubernetes.default.svc";
/// Of the two integers of a P-256 signature.
const INTEGER: usize = 32;

/// A token of `account` that a kube-apiserver takes until `end`, signed with `key` in PEM.
///
/// # Errors
/// The key is none for P-256.
pub fn until(account: &DynamicObject, key: &str, end: Timestamp) -> anyhow::Result<String> {
    let meta = &account.metadata;
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let said_end = end.as_second() - i64::try_from(LEEWAY.as_secs())?;
    let claims = json!({
        "iss": ISSUER, "aud": [ISSUER],
        "sub": format!("system:serviceaccount:{namespace}:{}", meta.name),
        "iat": said_end - 3600, "nbf": said_end - 3600, "exp": said_end,
        "kubernetes.io": {
            "namespace": namespace,
            "serviceaccount": {"name": meta.name, "uid": MetaView::uid(meta)},
        },
    });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({"alg": "ES256"})), part(&claims));
    let signature = KeyPair::from_pem(key)?.sign(signed.as_bytes())?;
    let signature = URL_SAFE_NO_PAD.encode(plain(&signature)?);
    Ok(format!("{signed}.{signature}"))
}

/// The two integers side by side, as a token has them, out of a signature in DER.
fn plain(der: &[u8]) -> anyhow::Result<Vec<u8>> {
    let (sequence, _) = value(der, 0x30)?;
    let (r, rest) = value(sequence, 0x02)?;
    let (s, _) = value(rest, 0x02)?;
    let mut plain = Vec::new();
    for integer in [r, s] {
        let leading = integer.iter().take_while(|byte| **byte == 0).count();
        let digits = &integer[leading..];
        ensure!(digits.len() <= INTEGER, "not of P-256");
        plain.resize(plain.len() + INTEGER - digits.len(), 0);
        plain.extend_from_slice(digits);
    }
    Ok(plain)
}

/// The value of an element with this tag and a short length, and what follows it.
fn value(der: &[u8], tag: u8) -> anyhow::Result<(&[u8], &[u8])> {
    let (head, rest) = der.split_at_checked(2).context("cut short")?;
    ensure!(head[0] == tag && head[1] < 0x80, "no signature in DER");
    rest.split_at_checked(head[1].into()).context("cut short")
}
