use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::PodHandle;
use crate::client::Outgoing;
use crate::error::{RequestError, Result};
use crate::query::Query;
use crate::transport::{Lane, TransportError, TransportErrorKind};

/// A WebSocket whose messages are those of Kubernetes' channels.
pub(super) struct Socket {
    stream: WebSocketStream<Box<dyn Wire>>,
    protocol: Protocol,
}

/// What a WebSocket runs over.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

impl Socket {
    /// Speaks as a client over a connection whose handshake is done.
    pub(super) async fn over(wire: Box<dyn Wire>, protocol: Protocol) -> Self {
        let mut limits = WebSocketConfig::default();
        limits.max_message_size = Some(LARGEST_MESSAGE);
        limits.max_frame_size = Some(LARGEST_MESSAGE);
        Self {
            stream: WebSocketStream::from_raw_socket(wire, Role::Client, Some(limits)).await,
            protocol,
        }
    }

    pub(super) fn protocol(&self) -> Protocol {
        self.protocol
    }

    pub(super) fn into_stream(self) -> WebSocketStream<Box<dyn Wire>> {
        self.stream
    }
}

/// A version of the channel protocol: each message begins with the number of its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// The end of one channel cannot be told.
    V4,
    /// It can: message 255 names the channel that ends.
    V5,
}

impl Protocol {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V4 => "v4.channel.k8s.io",
            Self::V5 => "v5.channel.k8s.io",
        }
    }
}

/// No message is larger: servers send 32 kB at a time.
const LARGEST_MESSAGE: usize = 4 << 20;

impl PodHandle {
    /// Asks for a WebSocket at `target`, in the first of the `protocols` that the server has.
    pub(super) async fn open_socket(
        &self,
        verb: &'static str,
        target: Query,
        protocols: &[Protocol],
    ) -> Result<Socket> {
        let subject = self.api.subject(verb, &self.name);
        let key = generate_key();
        let names: Vec<_> = protocols.iter().map(|protocol| protocol.name()).collect();
        let malformed =
            |error: http::header::InvalidHeaderValue| RequestError::Malformed(error.to_string());
        let mut request = Outgoing::new(Lane::Upgrade, Method::GET, target.finish(), subject);
        let headers = &mut request.headers;
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        headers.insert(SEC_WEBSOCKET_KEY, key.parse().map_err(malformed)?);
        let names = names.join(", ").parse().map_err(malformed)?;
        headers.insert(SEC_WEBSOCKET_PROTOCOL, names);

        let response = self.api.client().open(&request).await?;
        let refuse = |error: TransportError| error.during(&request.subject.to_string());
        let protocol = negotiated(response.headers(), &key, protocols).map_err(|what| {
            refuse(TransportError::with_detail(
                TransportErrorKind::Protocol,
                &what,
            ))
        })?;
        let upgraded = hyper::upgrade::on(response)
            .await
            .map_err(|error| refuse(TransportError::new(TransportErrorKind::Protocol, error)))?;
        Ok(Socket::over(Box::new(TokioIo::new(upgraded)), protocol).await)
    }
}

/// Which protocol a server that answered 101 has taken (RFC 6455, section 4.1), or what is
/// wrong with its answer.
fn negotiated(headers: &HeaderMap, key: &str, offered: &[Protocol]) -> Result<Protocol, String> {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
            .unwrap_or_default()
    };
    if !text(UPGRADE).eq_ignore_ascii_case("websocket") {
        return Err("the server switched to something that is no WebSocket".into());
    }
    let switches = text(CONNECTION)
        .split(',')
        .any(|token| token.trim().eq_ignore_ascii_case("upgrade"));
    if !switches {
        return Err("the server's answer does not switch the connection".into());
    }
    if text(SEC_WEBSOCKET_ACCEPT) != derive_accept_key(key.as_bytes()) {
        return Err("the server's answer is to somebody else's handshake".into());
    }
    let taken = text(SEC_WEBSOCKET_PROTOCOL);
    let known = offered.iter().find(|protocol| protocol.name() == taken);
    known.copied().ok_or_else(|| match taken {
        "" => "the server took none of the protocols offered".into(),
        taken => format!("the server took protocol {taken:?}, which was not offered"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &[Protocol] = &[Protocol::V5, Protocol::V4];

    fn answer(change: impl FnOnce(&mut HeaderMap)) -> Result<Protocol, String> {
        let mut headers = HeaderMap::new();
        headers.insert(UPGRADE, HeaderValue::from_static("WebSocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, upgrade"));
        let accept = derive_accept_key(b"key").parse().unwrap();
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        let protocol = HeaderValue::from_static("v4.channel.k8s.io");
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        change(&mut headers);
        negotiated(&headers, "key", BOTH)
    }

    #[test]
    fn the_servers_choice_counts() {
        assert_eq!(answer(|_| {}), Ok(Protocol::V4));
        let v5 = answer(|headers| {
            let protocol = HeaderValue::from_static("v5.channel.k8s.io");
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        });
        assert_eq!(v5, Ok(Protocol::V5));
    }

    #[test]
    fn a_handshake_that_does_not_fit_is_refused() {
        for name in [
            UPGRADE,
            CONNECTION,
            SEC_WEBSOCKET_ACCEPT,
            SEC_WEBSOCKET_PROTOCOL,
        ] {
            let missing = answer(|headers| {
                headers.remove(&name);
            });
            assert!(missing.is_err(), "{name}");
            let other = answer(|headers| {
                headers.insert(&name, HeaderValue::from_static("other"));
            });
            assert!(other.is_err(), "{name}");
        }
    }
}
