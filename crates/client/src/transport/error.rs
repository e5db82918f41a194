use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why there was no answer, or why its body broke off.
///
/// It never carries a header, a body or a credential.
#[derive(Clone)]
pub struct TransportError {
    kind: TransportErrorKind,
    /// What was being done, such as `list pods`.
    request: Option<Arc<str>>,
    detail: Arc<str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// Whose fault a [`TransportError`] is, as far as one can tell from this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// Nobody listens at the address.
    Refused,
    /// The host name did not resolve.
    Dns,
    /// The proxy cannot be reached, or does not let us through.
    Proxy,
    /// The TLS handshake failed: wrong CA, wrong name, rejected client certificate.
    Tls,
    /// Any other failure before a connection was there.
    Connect,
    /// The connection was lost: reset, closed early, HTTP/2 ping unanswered, GOAWAY.
    Closed,
    /// No response head, or no byte of the body, within the time limit.
    Timeout,
    /// The peer does not speak HTTP as we know it.
    Protocol,
    /// The request could not be put on the wire as it was asked for.
    Request,
    /// A wrapper of the transport refused on this side: who asks may not write now, since it
    /// does not lead. Nothing is wrong with the request or the server.
    Fenced,
    /// Anything that the transport could not tell apart.
    Other,
}

impl TransportError {
    /// An error with its cause. The text shows the whole chain of causes.
    pub fn new(
        kind: TransportErrorKind,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        let source: Arc<dyn StdError + Send + Sync> = Arc::from(source.into());
        Self {
            kind,
            request: None,
            detail: chain(&*source).into(),
            source: Some(source),
        }
    }

    /// An error with a text of its own instead of the causes'.
    pub(crate) fn described(
        kind: TransportErrorKind,
        detail: &str,
        source: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self {
            source: Some(Arc::new(source)),
            ..Self::with_detail(kind, detail)
        }
    }

    /// An error that has no cause of its own.
    #[must_use]
    pub fn with_detail(kind: TransportErrorKind, detail: &str) -> Self {
        Self {
            kind,
            request: None,
            detail: detail.into(),
            source: None,
        }
    }

    pub(crate) fn timeout(waiting_for: &str, limit: Duration) -> Self {
        Self::with_detail(
            TransportErrorKind::Timeout,
            &format!("no {waiting_for} within {limit:?}"),
        )
    }

    /// Tells of the try before this one, if that failed in another way (client-go RC5).
    pub(crate) fn after(mut self, previous: Option<&Self>) -> Self {
        if let Some(previous) = previous.filter(|previous| previous.detail != self.detail) {
            let both = format!(
                "{} - error from a previous attempt: {}",
                self.detail, previous.detail
            );
            self.detail = both.into();
        }
        self
    }

    /// Names the request in the text, unless it is named already.
    pub(crate) fn during(mut self, request: &str) -> Self {
        self.request.get_or_insert_with(|| request.into());
        self
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }

    /// Whether the same request may well succeed a little later.
    ///
    /// It says nothing about whether the server *acted*: when a connection is lost, a write
    /// may or may not have happened.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        !matches!(
            self.kind,
            TransportErrorKind::Tls
                | TransportErrorKind::Request
                | TransportErrorKind::Protocol
                | TransportErrorKind::Fenced
        )
    }

    /// Whether an established connection went away, which a watch treats like a normal end.
    #[must_use]
    pub fn is_connection_lost(&self) -> bool {
        matches!(
            self.kind,
            TransportErrorKind::Closed | TransportErrorKind::Timeout
        )
    }
}

/// The texts of an error and its causes; causes that the text before them already quotes are left out.
pub(super) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let part = cause.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        next = cause.source();
    }
    text
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(request) = &self.request {
            write!(f, "{request}: ")?;
        }
        f.write_str(&self.detail)
    }
}

impl fmt::Debug for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportError")
            .field("kind", &self.kind)
            .field("request", &self.request)
            .field("detail", &self.detail)
            .finish_non_exhaustive()
    }
}

impl StdError for TransportError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        // The detail quotes the chain already; the cause stays reachable for downcasts.
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
