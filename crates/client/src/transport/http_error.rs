use std::error::Error as StdError;
use std::io;

use super::{TransportError, TransportErrorKind};

/// A request that got no answer.
pub(super) fn send_error(error: reqwest::Error) -> TransportError {
    // The address is part of what went wrong only where a person configured it; the request
    // is named by the caller.
    let connecting = error.is_connect();
    let timed_out = error.is_timeout();
    let unsendable = error.is_builder() || error.is_request() && error.source().is_none();
    let error = error.without_url();
    let kind = match classify(&error) {
        Some(kind) => kind,
        None if timed_out && connecting => TransportErrorKind::Connect,
        None if timed_out => TransportErrorKind::Timeout,
        None if connecting => TransportErrorKind::Connect,
        None if unsendable => TransportErrorKind::Request,
        None => TransportErrorKind::Other,
    };
    TransportError::new(kind, error)
}

/// A body that broke off.
pub(super) fn body_error(error: reqwest::Error) -> TransportError {
    let error = error.without_url();
    let kind = classify(&error).unwrap_or(TransportErrorKind::Closed);
    TransportError::new(kind, error)
}

/// Looks for the cause that says most.
fn classify(error: &(dyn StdError + 'static)) -> Option<TransportErrorKind> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(kind) = kind_of(cause) {
            return Some(kind);
        }
        next = cause.source();
    }
    None
}

fn kind_of(cause: &(dyn StdError + 'static)) -> Option<TransportErrorKind> {
    if cause.is::<rustls::Error>() {
        return Some(TransportErrorKind::Tls);
    }
    if let Some(error) = cause.downcast_ref::<io::Error>() {
        return io_kind(error);
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return hyper_kind(error);
    }
    // hyper-util and reqwest do not export the type of this one.
    (cause.to_string() == "dns error").then_some(TransportErrorKind::Dns)
}

fn io_kind(error: &io::Error) -> Option<TransportErrorKind> {
    if let Some(inner) = error.get_ref()
        && let Some(kind) = classify(inner)
    {
        return Some(kind);
    }
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

fn hyper_kind(error: &hyper::Error) -> Option<TransportErrorKind> {
    if error.is_parse() {
        return Some(TransportErrorKind::Protocol);
    }
    // `is_timeout` is an HTTP/2 ping without an answer; `is_canceled` a connection that ended
    // before the request was on it.
    if error.is_incomplete_message()
        || error.is_closed()
        || error.is_canceled()
        || error.is_timeout()
    {
        return Some(TransportErrorKind::Closed);
    }
    match error.source() {
        // An HTTP/2 error: GOAWAY or a reset stream. The connection or the stream is gone.
        Some(source) if !source.is::<io::Error>() => Some(TransportErrorKind::Closed),
        _ => None,
    }
}
