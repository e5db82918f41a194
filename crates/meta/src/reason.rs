use std::fmt;

use serde::{Deserialize, Serialize};

/// Why the API server refused: `status.reason`, the part of an error to act on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Reason {
    /// No reason was given; the code is all there is.
    #[default]
    Unknown,
    /// 401: no identity, or one that is not accepted.
    Unauthorized,
    /// 403: the identity may not do this, or nobody may.
    Forbidden,
    /// 404.
    NotFound,
    /// 409 on a creation.
    AlreadyExists,
    /// 409 on an update or a deletion: the state is not the expected one.
    Conflict,
    /// 410: gone for good.
    Gone,
    /// 410: the resource version or continue token is too old.
    Expired,
    /// 422: the object breaks a rule.
    Invalid,
    /// 504: the server gave up waiting; the request may or may not have taken effect.
    Timeout,
    /// 500 with a delay: the server is not able to answer now.
    ServerTimeout,
    /// 429.
    TooManyRequests,
    /// 400: the request cannot be understood.
    BadRequest,
    /// 405.
    MethodNotAllowed,
    /// 406: none of the accepted media types is served.
    NotAcceptable,
    /// 413.
    RequestEntityTooLarge,
    /// 415.
    UnsupportedMediaType,
    /// 500.
    InternalError,
    /// 503.
    ServiceUnavailable,
    /// 500 in a watch stream: an object in the storage cannot be read.
    StoreReadError,
    /// A reason that this version does not know.
    Other(String),
}

impl Reason {
    const KNOWN: [(Self, &'static str); 19] = [
        (Self::Unauthorized, "Unauthorized"),
        (Self::Forbidden, "Forbidden"),
        (Self::NotFound, "NotFound"),
        (Self::AlreadyExists, "AlreadyExists"),
        (Self::Conflict, "Conflict"),
        (Self::Gone, "Gone"),
        (Self::Expired, "Expired"),
        (Self::Invalid, "Invalid"),
        (Self::Timeout, "Timeout"),
        (Self::ServerTimeout, "ServerTimeout"),
        (Self::TooManyRequests, "TooManyRequests"),
        (Self::BadRequest, "BadRequest"),
        (Self::MethodNotAllowed, "MethodNotAllowed"),
        (Self::NotAcceptable, "NotAcceptable"),
        (Self::RequestEntityTooLarge, "RequestEntityTooLarge"),
        (Self::UnsupportedMediaType, "UnsupportedMediaType"),
        (Self::InternalError, "InternalError"),
        (Self::ServiceUnavailable, "ServiceUnavailable"),
        (Self::StoreReadError, "StorageReadError"),
    ];

    /// The text on the wire; empty for [`Unknown`](Self::Unknown).
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unknown => "",
            Self::Other(text) => text,
            known => Self::KNOWN
                .iter()
                .find(|(reason, _)| reason == known)
                .map_or("", |(_, text)| text),
        }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        if text.is_empty() || text == "Unknown" {
            return Self::Unknown;
        }
        Self::KNOWN
            .iter()
            .find(|(_, known)| *known == text)
            .map_or_else(|| Self::Other(text.into()), |(reason, _)| reason.clone())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
        Ok(Self::from(text.as_str()))
    }
}
