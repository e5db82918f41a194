//! A plugin for credentials: a script that says the next of some prepared answers each time, and
//! counts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use evenkeel_client::Config;
use evenkeel_meta::Timestamp;
use serde_json::{Value, json};

use crate::env::Env;

const API_VERSION: &str = "client.authentication.k8s.io/v1";

/// The script, the answers and the count, in a folder.
#[derive(Debug)]
pub struct ExecPlugin {
    folder: PathBuf,
}

impl ExecPlugin {
    /// A plugin that answers with these tokens, one a call, and says when each expires, if anything.
    /// A call too many fails.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(env: &Env, tokens: &[(String, Option<Timestamp>)]) -> anyhow::Result<Self> {
        let folder = env.folder().join("plugin");
        fs::create_dir_all(&folder)?;
        for (index, (token, expires)) in tokens.iter().enumerate() {
            let answer = json!({
                "apiVersion": API_VERSION, "kind": "ExecCredential",
                "status": {"token": token, "expirationTimestamp": expires},
            });
            fs::write(folder.join((index + 1).to_string()), answer.to_string())?;
        }
        fs::write(folder.join("calls"), "")?;
        let script = folder.join("plugin.sh");
        let text = "#!/bin/sh\ncd \"${0%/*}\" && echo called >> calls && exec cat \"$(($(wc -l < calls)))\"\n";
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        Ok(Self { folder })
    }

    /// How often it was called.
    ///
    /// # Errors
    /// The count cannot be read.
    pub fn calls(&self) -> anyhow::Result<usize> {
        let calls = fs::read_to_string(self.folder.join("calls"))?;
        Ok(calls.lines().count())
    }

    /// A kubeconfig like `original` but for the user, whom the plugin is asked for.
    ///
    /// # Errors
    /// The original cannot be read or the new one not be written.
    pub fn config(&self, original: &Path) -> anyhow::Result<Config> {
        let text = fs::read_to_string(original)?;
        let mut config: Value = serde_saphyr::from_str(&text)?;
        config["users"][0]["user"] = json!({"exec": {
            "apiVersion": API_VERSION, "interactiveMode": "Never",
            "command": self.folder.join("plugin.sh"),
        }});
        let path = self.folder.join("kubeconfig");
        fs::write(&path, config.to_string())?;
        Config::from_kubeconfig(&path, None).context("the kubeconfig with the plugin")
    }
}
