use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{Reason, Status};

use crate::transport::{TransportError, TransportErrorKind};

/// Why a request failed, by whose fault it is.
///
/// The text names the request ("list pods: connect: connection refused") and never holds a
/// credential.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered with an error. Bodies that are no `Status` become one by their code.
    #[error("{0}")]
    Api(Box<Status>),
    /// There was no answer, or it broke off, or it took longer than the time limit.
    #[error("{0}")]
    Transport(#[source] TransportError),
    /// The server's answer is not what was asked for.
    #[error("{0}")]
    Decode(#[source] DecodeError),
    /// The caller's object does not serialize.
    #[error("{0}")]
    Encode(#[source] EncodeError),
    /// The caller asked for something that cannot be asked for.
    #[error("{0}")]
    Request(#[source] RequestError),
    /// The client's credentials cannot be obtained.
    #[error("{0}")]
    Credential(#[source] CredentialError),
}

/// The result of most operations here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The server's answer, if it was the server that refused.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            _ => None,
        }
    }

    /// 404: the object is not there, or the resource is not served.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// 409 on a write: the object changed in between, or a precondition did not hold.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// 409 on a creation: the name is taken.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// 403.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(Status::is_forbidden)
    }

    /// 401, after the credentials have been read again once.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.status().is_some_and(Status::is_unauthorized)
    }

    /// 422: the object breaks a rule; the same request will fail again.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(Status::is_invalid)
    }

    /// 410: the resource version or the continue token is no longer served; list anew.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }

    /// The server has not seen the resource version yet that the request asked for.
    #[must_use]
    pub fn is_too_large_resource_version(&self) -> bool {
        self.status()
            .is_some_and(Status::is_too_large_resource_version)
    }

    /// 429: the server asks for fewer requests.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.status().is_some_and(Status::is_too_many_requests)
    }

    /// Nobody listens at the server's address.
    #[must_use]
    pub fn is_connection_refused(&self) -> bool {
        matches!(self, Self::Transport(error) if error.kind() == TransportErrorKind::Refused)
    }

    /// A fence on this side refused the write: the process does not lead (any more). The work
    /// is somebody else's now; there is nothing to report and nothing to retry.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        matches!(self, Self::Transport(error) if error.kind() == TransportErrorKind::Fenced)
    }

    /// A time limit of this client passed.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Transport(error) if error.kind() == TransportErrorKind::Timeout)
    }

    /// Whether the same request may well succeed a little later: 429, 5xx and lost connections.
    ///
    /// For a write, "failed" does not always mean "not done": after a lost connection or a
    /// 504, read before writing again unless the write is idempotent.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Api(status) => {
                status.is_too_many_requests()
                    || matches!(status.reason, Reason::ServerTimeout | Reason::Timeout)
                    || (status.code >= 500 && status.code != 501)
            }
            Self::Transport(error) => error.is_retryable(),
            Self::Credential(error) => error.is_retryable(),
            Self::Decode(_) | Self::Encode(_) | Self::Request(_) => false,
        }
    }

    /// How long the server asks to wait before the next try.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.retry_after()
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::Api(Box::new(status))
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<EncodeError> for Error {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

impl From<RequestError> for Error {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<CredentialError> for Error {
    fn from(error: CredentialError) -> Self {
        Self::Credential(error)
    }
}

/// Bytes that do not decode into the type asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot decode {what}: {reason}")]
pub struct DecodeError {
    what: Box<str>,
    reason: Box<str>,
}

impl DecodeError {
    pub(crate) fn new(what: impl Into<Box<str>>, reason: &(impl ToString + ?Sized)) -> Self {
        Self {
            what: what.into(),
            reason: reason.to_string().into(),
        }
    }

    /// What was being decoded, such as `pods object ns/a`.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What the decoder said.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// An object that does not serialize.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot encode the request body: {reason}")]
pub struct EncodeError {
    reason: Arc<str>,
}

impl EncodeError {
    pub(crate) fn new(error: &serde_json::Error) -> Self {
        Self {
            reason: error.to_string().into(),
        }
    }
}

/// A request that makes no sense, found before anything was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The name is empty or has characters that a path cannot carry.
    #[error("{what} {value:?} {reason}")]
    InvalidPathSegment {
        /// `name`, `namespace` or `subresource`.
        what: &'static str,
        /// The text that was given.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A namespaced object was addressed without a namespace.
    #[error("{resource} are namespaced: choose a namespace first")]
    NamespaceRequired {
        /// Such as `deployments.apps`.
        resource: String,
    },
    /// The client is for another namespace alone; see
    /// [`Client::with_namespace`](crate::Client::with_namespace).
    #[error("{resource} in namespace {namespace}: this client is for namespace {only} alone")]
    OtherNamespace {
        /// Such as `deployments.apps`.
        resource: String,
        /// The namespace that was asked for.
        namespace: String,
        /// The one that may be.
        only: String,
    },
    /// Server-side apply needs a field manager, in the options or on the client.
    #[error("server-side apply needs a field manager")]
    FieldManagerRequired,
    /// A configuration to apply is what somebody wants, not an object as it was read (client-go
    /// DY1).
    #[error("server-side apply takes no managedFields")]
    ManagedFieldsApplied,
    /// A watch that goes on by itself needs a resource version to begin at.
    #[error("choose a resource version to watch from: list first")]
    ResourceVersionRequired,
    /// The URI or a header is malformed.
    #[error("malformed request: {0}")]
    Malformed(String),
}

/// Credentials that cannot be obtained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The token file is unreadable or empty, and no token was read before.
    #[error("cannot read token file {}: {reason}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The token, user name or password has characters that a header cannot carry.
    #[error("the {what} has characters that an HTTP header cannot carry")]
    NotAHeader {
        /// `token` or `user name or password`.
        what: &'static str,
    },
    /// The exec plugin gave no credentials.
    #[error("exec plugin {command}: {reason}")]
    Plugin {
        /// The program, as the configuration names it.
        command: String,
        /// What went wrong.
        failure: PluginFailure,
        /// The same in words, with what the program wrote to standard error. It quotes no
        /// argument and no credential.
        reason: String,
    },
}

/// What went wrong with an exec plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PluginFailure {
    /// The program is not there.
    NotFound,
    /// It ended with a failure, or could not be run.
    Failed,
    /// It did not end in time, and was killed.
    TimedOut,
    /// What it printed is no credential of the version that was asked for.
    BadAnswer,
    /// It has to ask the user, and there is no terminal.
    NotInteractive,
}

impl CredentialError {
    /// Whether it may work a little later: files may appear, and what a program needs may too.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::TokenFile { .. } => true,
            Self::Plugin { failure, .. } => {
                matches!(failure, PluginFailure::Failed | PluginFailure::TimedOut)
            }
            Self::NotAHeader { .. } => false,
        }
    }
}

/// Why a watch stream broke. The stream ends after it.
///
/// A server that ends the watch, or cuts the last event short, is no error: the stream just
/// ends. Errors that the server *sends* are [`WatchEvent::Error`](crate::WatchEvent::Error).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The connection was lost, or silent for longer than the watch should have lasted.
    #[error("watch {resource}: {error}")]
    Transport {
        /// What was watched.
        resource: Arc<str>,
        /// What happened.
        #[source]
        error: TransportError,
    },
    /// What the server sent is no watch event.
    #[error("watch {resource}: {error}")]
    Frame {
        /// What was watched.
        resource: Arc<str>,
        /// What is wrong with it.
        #[source]
        error: DecodeError,
    },
    /// One event is larger than the limit.
    #[error("watch {resource}: an event is larger than {limit} bytes")]
    TooLarge {
        /// What was watched.
        resource: Arc<str>,
        /// The limit in bytes.
        limit: usize,
    },
    /// A [`RetryWatch`](crate::RetryWatch) cannot begin: the request makes no sense.
    #[error("watch {resource}: {error}")]
    Refused {
        /// What was watched.
        resource: Arc<str>,
        /// Why.
        #[source]
        error: Error,
    },
}

impl WatchError {
    /// Whether the connection just went away: watch again from the last resource version,
    /// without a new list.
    #[must_use]
    pub fn is_connection_lost(&self) -> bool {
        matches!(self, Self::Transport { error, .. } if error.is_connection_lost())
    }
}
