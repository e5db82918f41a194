use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::{Error, TransportError, TransportErrorKind, WatchError};
use evenkeel_meta::{Reason, Status};

/// A request or a stream that failed, as far as the reflector tells failures apart.
#[derive(Clone)]
pub struct Failure {
    /// What kind of failure.
    pub class: FailureClass,
    /// How long the server asked to wait.
    pub retry_after: Option<Duration>,
    /// What happened.
    pub error: Arc<dyn StdError + Send + Sync>,
}

/// The kinds of failure that are answered differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureClass {
    /// 410: the version or the continue token is no longer served (R9).
    Expired,
    /// The server has not reached the version yet (R9).
    TooLargeVersion,
    /// 429.
    Throttled,
    /// Nobody answers at the address: the server is away, or restarting.
    Unreachable,
    /// There was a connection, and it was lost, or no answer came in time.
    Lost,
    /// The server understood the request and refuses it: 4xx. Asking again changes nothing until
    /// somebody changes permissions, or what is served.
    Refused,
    /// Everything else: 5xx, answers that are no answer.
    Other,
}

impl Failure {
    /// A failure of this class.
    pub fn new(class: FailureClass, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            class,
            retry_after: None,
            error: Arc::from(error.into()),
        }
    }

    /// Whether the version asked for is the trouble.
    pub(super) fn is_unavailable_version(&self) -> bool {
        matches!(
            self.class,
            FailureClass::Expired | FailureClass::TooLargeVersion
        )
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self {
            class: class_of(&status),
            retry_after: status.retry_after(),
            error: Arc::new(Error::from(status)),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let class = match &error {
            Error::Api(status) => class_of(status),
            Error::Transport(error) => class_of_transport(error),
            _ => FailureClass::Other,
        };
        Self {
            class,
            retry_after: error.retry_after(),
            error: Arc::new(error),
        }
    }
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        let class = if error.is_connection_lost() {
            FailureClass::Lost
        } else {
            FailureClass::Other
        };
        Self {
            class,
            retry_after: None,
            error: Arc::new(error),
        }
    }
}

/// The reason decides; where it says nothing, the code does (R17).
fn class_of(status: &Status) -> FailureClass {
    if status.is_expired() {
        FailureClass::Expired
    } else if status.is_too_large_resource_version() {
        FailureClass::TooLargeVersion
    } else if status.is_too_many_requests() {
        FailureClass::Throttled
    } else if (400..500).contains(&status.code) && status.reason != Reason::Timeout {
        FailureClass::Refused
    } else {
        FailureClass::Other
    }
}

fn class_of_transport(error: &TransportError) -> FailureClass {
    match error.kind() {
        TransportErrorKind::Refused
        | TransportErrorKind::Dns
        | TransportErrorKind::Connect
        | TransportErrorKind::Proxy => FailureClass::Unreachable,
        _ if error.is_connection_lost() => FailureClass::Lost,
        _ => FailureClass::Other,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("class", &self.class)
            .field("retry_after", &self.retry_after)
            .field("error", &format_args!("{}", self.error))
            .finish()
    }
}
