//! What the plugin says.

use evenkeel_meta::Timestamp;
use serde::Deserialize;

use super::config::ExecVersion;
use crate::credentials::Secret;

/// The credentials that a plugin has printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) token: Option<Secret>,
    /// Certificate and key, both in PEM.
    pub(super) certificate: Option<(Secret, Secret)>,
    pub(super) expires: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    api_version: String,
    status: Option<Status>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    token: Option<Secret>,
    client_certificate_data: Option<Secret>,
    client_key_data: Option<Secret>,
    expiration_timestamp: Option<Timestamp>,
}

/// Reads an `ExecCredential` of this version (client-go X3). The reason of a failure quotes
/// nothing of the text, which holds credentials.
pub(super) fn parse(text: &[u8], version: ExecVersion) -> Result<Answer, String> {
    let credential: ExecCredential = serde_json::from_slice(text).map_err(|error| {
        // The decoder's own text quotes what it did not expect.
        let kind = match error.classify() {
            serde_json::error::Category::Data => "is not as it should be",
            serde_json::error::Category::Eof => "is cut short",
            _ => "is no JSON",
        };
        let (line, column) = (error.line(), error.column());
        format!("its answer {kind} (line {line}, column {column})")
    })?;
    if credential.kind != "ExecCredential" {
        return Err("its answer is no ExecCredential".into());
    }
    if credential.api_version != version.api_version() {
        return Err(format!(
            "its answer is not of version {}",
            version.api_version()
        ));
    }
    let Some(status) = credential.status else {
        return Err("its answer has no status".into());
    };
    let set = |secret: Option<Secret>| secret.filter(|secret| !secret.is_empty());
    let token = set(status.token);
    let pair = (
        set(status.client_certificate_data),
        set(status.client_key_data),
    );
    let certificate = match pair {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => return Err("its answer has a certificate without a key".into()),
        (None, Some(_)) => return Err("its answer has a key without a certificate".into()),
    };
    if token.is_none() && certificate.is_none() {
        return Err("its answer has neither a token nor a certificate".into());
    }
    Ok(Answer {
        token,
        certificate,
        expires: status.expiration_timestamp,
    })
}

/// Reads whatever a plugin may say: the target of a fuzzer, which alone sees it.
#[cfg(fuzzing)]
pub fn read_exec_answer(text: &[u8]) {
    for version in [ExecVersion::V1, ExecVersion::V1Beta1] {
        let _ = format!("{:?}", parse(text, version));
    }
}
