//! Free ports of the loopback address.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::Context;

/// A port that was free a moment ago. Another process may take it meanwhile:
/// programs that can choose a port themselves and tell it are better asked to.
///
/// # Errors
/// The system has no port left.
pub fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("find a free port")?;
    Ok(listener.local_addr()?.port())
}
