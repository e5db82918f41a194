//! The server behind a socket.

mod accept;
mod kubeconfig;
mod tls;

use std::fmt;
use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::http::Identity;
use crate::server::Server;
use tls::Authority;
pub(crate) use tls::secret;

/// A listening server. Dropping it closes the socket and every connection at once;
/// [`Listener::shutdown`] lets requests under way finish.
pub struct Listener {
    address: SocketAddr,
    credentials: Option<Credentials>,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

/// What a client needs to be let in.
struct Credentials {
    ca_pem: String,
    token: String,
}

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is taken, or not this machine's.
    #[error("cannot listen: {0}")]
    Bind(#[source] io::Error),
    /// The certificates could not be made.
    #[error("cannot make the serving certificate: {0}")]
    Certificate(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Server {
    /// Listens with TLS, under a certificate of a new authority, and lets the tokens of
    /// [`Server::tokens`] in. A new token for the administrator is added to them; it and
    /// the authority are in [`Listener::kubeconfig`].
    ///
    /// # Errors
    ///
    /// When the address cannot be bound or the certificate cannot be made.
    pub async fn listen(&self, address: impl ToSocketAddrs) -> Result<Listener, ListenError> {
        let socket = TcpListener::bind(address)
            .await
            .map_err(ListenError::Bind)?;
        let address = socket.local_addr().map_err(ListenError::Bind)?;
        let authority = Authority::generate().map_err(ListenError::Certificate)?;
        let acceptor = authority
            .acceptor(address.ip())
            .map_err(ListenError::Certificate)?;
        let token = tls::secret().map_err(ListenError::Certificate)?;
        self.tokens().add(token.as_str(), Identity::admin(), None);
        let credentials = Credentials {
            ca_pem: authority.ca_pem(),
            token,
        };
        Ok(self.serve(socket, address, Some(credentials), Some(acceptor)))
    }

    /// Listens in plain HTTP and lets everybody in as the administrator, since clients send
    /// no token without TLS. Any page in a browser on this machine can reach such a port.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound.
    pub async fn listen_insecurely(
        &self,
        address: impl ToSocketAddrs,
    ) -> Result<Listener, ListenError> {
        let socket = TcpListener::bind(address)
            .await
            .map_err(ListenError::Bind)?;
        let address = socket.local_addr().map_err(ListenError::Bind)?;
        Ok(self.serve(socket, address, None, None))
    }

    fn serve(
        &self,
        socket: TcpListener,
        address: SocketAddr,
        credentials: Option<Credentials>,
        acceptor: Option<tokio_rustls::TlsAcceptor>,
    ) -> Listener {
        let (stop, stopped) = watch::channel(false);
        let accepting = tokio::spawn(accept::run(self.clone(), socket, acceptor, stopped));
        Listener {
            address,
            credentials,
            stop,
            accepting,
        }
    }
}

impl Listener {
    /// The bound address, with the port that was chosen.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients find the server. A wildcard address is reached over loopback.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.credentials.is_some() {
            "https"
        } else {
            "http"
        };
        let host = match self.address.ip() {
            ip if !ip.is_unspecified() => SocketAddr::new(ip, self.address.port()).to_string(),
            _ => format!("127.0.0.1:{}", self.address.port()),
        };
        format!("{scheme}://{host}")
    }

    /// The generated administrator's token; `None` without TLS.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.credentials
            .as_ref()
            .map(|credentials| credentials.token.as_str())
    }

    /// The authority that signed the serving certificate; `None` without TLS.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.credentials
            .as_ref()
            .map(|credentials| credentials.ca_pem.as_str())
    }

    /// A kubeconfig for the administrator. It holds the token: keep it private.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        kubeconfig::render(&self.url(), self.ca_pem(), self.token())
    }

    /// Accepts no more, ends watches, lets requests under way finish, and closes what is
    /// still open after a few seconds.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes everything at once.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        // Cancelled or panicked, it has ended either way.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({})", self.url())
    }
}
