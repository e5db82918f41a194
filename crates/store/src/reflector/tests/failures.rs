use evenkeel_client::{Error, TransportError, TransportErrorKind};
use evenkeel_meta::Reason;

use super::*;

fn class(error: impl Into<Error>) -> FailureClass {
    Failure::from(error.into()).class
}

#[test]
fn client_go_r9_what_the_server_says_decides_how_it_is_answered() {
    let throttled = Status::failure(429, Reason::TooManyRequests, "slow down");
    for (status, expected) in [
        (Status::expired("too old"), FailureClass::Expired),
        (
            Status::too_large_resource_version(10, 5, 1),
            FailureClass::TooLargeVersion,
        ),
        (throttled, FailureClass::Throttled),
        (Status::forbidden(&pods(), "", "no"), FailureClass::Refused),
        (Status::internal("boom"), FailureClass::Other),
    ] {
        assert_eq!(class(status.clone()), expected, "{status}");
        assert_eq!(Failure::from(status).class, expected);
    }
}

#[test]
fn client_go_r16_a_server_that_is_away_is_told_from_a_connection_that_was_lost() {
    for (kind, expected) in [
        (TransportErrorKind::Refused, FailureClass::Unreachable),
        (TransportErrorKind::Dns, FailureClass::Unreachable),
        (TransportErrorKind::Connect, FailureClass::Unreachable),
        (TransportErrorKind::Proxy, FailureClass::Unreachable),
        (TransportErrorKind::Closed, FailureClass::Lost),
        (TransportErrorKind::Timeout, FailureClass::Lost),
        (TransportErrorKind::Tls, FailureClass::Other),
        (TransportErrorKind::Protocol, FailureClass::Other),
    ] {
        let error = TransportError::with_detail(kind, "no");
        assert_eq!(class(error), expected, "{kind:?}");
    }
}
