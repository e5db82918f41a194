use std::error::Error as StdError;
use std::io;

use super::{TransportError, TransportErrorKind};

/// A request that got no answer from `server`. `via` is the proxy on the way.
pub(super) fn send_error(error: reqwest::Error, server: &str, via: Option<&str>) -> TransportError {
    let fallback = if error.is_connect() {
        TransportErrorKind::Connect
    } else if error.is_timeout() {
        TransportErrorKind::Timeout
    } else if error.is_builder() {
        TransportErrorKind::Request
    } else {
        TransportErrorKind::Other
    };
    convert(error, server, via, fallback)
}

/// A body of `server` that broke off.
pub(super) fn body_error(error: reqwest::Error, server: &str) -> TransportError {
    let fallback = match is_garbled(&error) {
        true => TransportErrorKind::Protocol,
        false => TransportErrorKind::Closed,
    };
    convert(error, server, None, fallback)
}

/// The text is that of the cause that says most; the layers around it only say that
/// something went wrong.
fn convert(
    error: reqwest::Error,
    server: &str,
    via: Option<&str>,
    fallback: TransportErrorKind,
) -> TransportError {
    let error = error.without_url();
    let (kind, reason) = match classify(&error) {
        Some((kind, cause)) => (kind, reason(cause)),
        None => (fallback, super::error::chain(&error)),
    };
    // Before there is a connection to the server, only the proxy was spoken to.
    let kind = match (kind, via) {
        (
            TransportErrorKind::Refused | TransportErrorKind::Dns | TransportErrorKind::Connect,
            Some(_),
        ) => TransportErrorKind::Proxy,
        (kind, _) => kind,
    };
    let detail = match kind {
        TransportErrorKind::Proxy => {
            let via = via.unwrap_or("a proxy");
            format!("cannot connect to {server} through {via}: {reason}")
        }
        TransportErrorKind::Refused | TransportErrorKind::Connect => {
            format!("cannot connect to {server}: {reason}")
        }
        TransportErrorKind::Dns => format!("cannot resolve {server}: {reason}"),
        TransportErrorKind::Tls => format!("no TLS connection to {server}: {reason}"),
        TransportErrorKind::Closed => format!("connection to {server} lost: {reason}"),
        _ => format!("{server}: {reason}"),
    };
    TransportError::described(kind, &detail, error)
}

pub(super) type Cause<'a> = &'a (dyn StdError + 'static);

/// Looks for the cause that says most.
pub(super) fn classify(error: Cause<'_>) -> Option<(TransportErrorKind, Cause<'_>)> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = known(cause) {
            return Some(found);
        }
        next = cause.source();
    }
    None
}

fn known(cause: Cause<'_>) -> Option<(TransportErrorKind, Cause<'_>)> {
    if cause.is::<rustls::Error>() {
        return Some((TransportErrorKind::Tls, cause));
    }
    if let Some(error) = cause.downcast_ref::<io::Error>() {
        if let Some(inner) = error.get_ref()
            && let Some(found) = classify(inner)
        {
            return Some(found);
        }
        if is_handshake_alert(error) {
            return Some((TransportErrorKind::Tls, cause));
        }
        return Some((io_kind(error)?, cause));
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return hyper_kind(error);
    }
    // hyper-util does not export the types of these.
    let text = cause.to_string();
    if text == "dns error" {
        return Some((TransportErrorKind::Dns, cause.source().unwrap_or(cause)));
    }
    if text.starts_with("tunnel error: ") || text.starts_with("SOCKS error: ") {
        return Some((TransportErrorKind::Proxy, cause));
    }
    None
}

/// Whether what was compressed does not decompress. What breaks a connection is told by hyper.
fn is_garbled(error: Cause<'_>) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        if let Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) = kind {
            return true;
        }
        next = cause.source();
    }
    false
}

/// The refusal of a client certificate, which over TLS 1.3 comes after the client's handshake:
/// h2 keeps the text of it alone. These alerts are sent in handshakes only, so the server has
/// seen no request.
fn is_handshake_alert(error: &io::Error) -> bool {
    let text = error.to_string();
    let Some(alert) = text.strip_prefix("received fatal alert: ") else {
        return false;
    };
    alert.contains("Certificate")
        || matches!(
            alert,
            "UnknownCA" | "DecryptError" | "AccessDenied" | "HandshakeFailure"
        )
}

fn io_kind(error: &io::Error) -> Option<TransportErrorKind> {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(TransportErrorKind::Refused),
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::NotConnected
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof
        // What a peer that no longer answers TCP probes ends in.
        | io::ErrorKind::TimedOut => Some(TransportErrorKind::Closed),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Some(TransportErrorKind::Connect)
        }
        _ => None,
    }
}

fn hyper_kind(error: &hyper::Error) -> Option<(TransportErrorKind, Cause<'_>)> {
    if error.is_parse() {
        return Some((TransportErrorKind::Protocol, error));
    }
    if let Some(found) = error.source().and_then(classify) {
        return Some(found);
    }
    // `is_timeout` is an HTTP/2 ping without an answer; `is_canceled` a connection that ended
    // before the request was on it. With a source it is an HTTP/2 error: GOAWAY or a reset stream.
    let lost = error.is_incomplete_message()
        || error.is_closed()
        || error.is_canceled()
        || error.is_timeout()
        || error.source().is_some();
    lost.then(|| (TransportErrorKind::Closed, error.source().unwrap_or(error)))
}

fn reason(cause: Cause<'_>) -> String {
    match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::UnexpectedEof) => return "the peer closed it".into(),
        Some(io::ErrorKind::TimedOut) => return "the peer does not answer".into(),
        _ => {}
    }
    let text = super::error::chain(cause);
    // h2 keeps the text of an I/O error, not the error.
    if text.contains("close_notify") {
        return "the peer closed it".into();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_that_refuse_a_certificate_are_told_from_those_that_end_a_connection() {
        let kind = |text: &str| {
            let error = io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
            known(&error).map(|(kind, _)| kind)
        };
        for alert in [
            "DecryptError",
            "UnknownCA",
            "BadCertificate",
            "CertificateExpired",
        ] {
            let text = format!("received fatal alert: {alert}");
            assert_eq!(kind(&text), Some(TransportErrorKind::Tls), "{alert}");
        }
        // The server may have seen the request.
        assert_eq!(kind("received fatal alert: InternalError"), None);
        assert_eq!(kind("BadCertificate"), None);
    }
}
