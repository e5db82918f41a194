//! The two servers that a scenario runs on.

mod embedded;
mod identity;
mod ports;
mod real;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use evenkeel_client::Client;

pub use self::embedded::EmbeddedServer;
pub use self::ports::free_port;
pub use self::real::{RealOptions, RealServer};
use crate::poll;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// `evenkeel apiserver`.
    Embedded,
    /// kube-apiserver over etcd.
    Real,
}

impl fmt::Display for ServerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Embedded => "embedded",
            Self::Real => "real",
        })
    }
}

/// A server that is up.
#[derive(Debug)]
pub enum Server {
    /// `evenkeel apiserver`.
    Embedded(EmbeddedServer),
    /// kube-apiserver over etcd.
    Real(Box<RealServer>),
}

impl Server {
    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        match self {
            Self::Embedded(server) => server.kubeconfig(),
            Self::Real(server) => server.kubeconfig(),
        }
    }

    /// Which one it is.
    #[must_use]
    pub fn kind(&self) -> ServerKind {
        match self {
            Self::Embedded(_) => ServerKind::Embedded,
            Self::Real(_) => ServerKind::Real,
        }
    }
}

/// Waits until the server answers that it is ready.
async fn ready(client: &Client, within: Duration) -> anyhow::Result<()> {
    poll::eventually(within, "the server is ready", async || {
        let request = http::Request::get("/readyz").body(Bytes::new())?;
        let response = client.raw(request).await.context("GET /readyz")?;
        let body = String::from_utf8_lossy(response.body()).into_owned();
        Ok(if response.status().is_success() {
            Ok(())
        } else {
            Err(body)
        })
    })
    .await
}
