//! Who the servers and their users are: keys, certificates, tokens, kubeconfigs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::json;

/// May do everything.
pub(crate) const ADMIN: &str = "admin-of-the-scenario";
/// Known, and may do nothing.
pub(crate) const NOBODY: &str = "nobody-of-the-scenario";
/// May do everything, and are told apart in the audit log.
pub(crate) const MANAGERS: [&str; 3] = ["manager-a", "manager-b", "manager-c"];

/// The files that a kube-apiserver needs to serve and to know its users.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) ca: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) account_key: PathBuf,
    pub(crate) account_public_key: PathBuf,
    pub(crate) tokens: PathBuf,
}

impl Identity {
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        let write = |name: &str, text: String| -> anyhow::Result<PathBuf> {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
            Ok(path)
        };

        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "scenario-ca");
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

        let mut tokens = format!("{ADMIN},admin,admin,system:masters\n{NOBODY},nobody,nobody,\n");
        for manager in MANAGERS {
            tokens.push_str(&format!("{manager},{manager},{manager},system:masters\n"));
        }

        let key = KeyPair::generate()?;
        let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"];
        let serving = CertificateParams::new(names.map(str::to_owned))?.signed_by(&key, &ca)?;
        let account = KeyPair::generate()?;

        Ok(Self {
            ca: write("ca.crt", ca.pem())?,
            certificate: write("server.crt", serving.pem())?,
            key: write("server.key", key.serialize_pem())?,
            account_key: write("accounts.key", account.serialize_pem())?,
            account_public_key: write("accounts.pub", account.public_key_pem())?,
            tokens: write("tokens.csv", tokens)?,
        })
    }
}

/// Writes a kubeconfig of one context. JSON is YAML.
pub(crate) fn write_kubeconfig(
    path: &Path,
    server: &str,
    ca: &Path,
    token: &str,
) -> anyhow::Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "scenario", "cluster": {"server": server, "certificate-authority": ca}}],
        "users": [{"name": "scenario", "user": {"token": token}}],
        "contexts": [{"name": "scenario", "context": {"cluster": "scenario", "user": "scenario"}}],
        "current-context": "scenario",
    });
    fs::write(path, config.to_string()).with_context(|| format!("write {}", path.display()))
}
