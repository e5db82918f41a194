//! Where the numbers come from when they are asked for.

use std::time::Duration;

use bytes::Bytes;
use evenkeel::BoxError;
use evenkeel::client::Client;

/// A number that is not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Reading(f64);

impl Reading {
    /// `None` for what cannot be so much of anything.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (value.is_finite() && value >= 0.0).then_some(Self(value))
    }

    /// The number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

/// Something outside the cluster that is asked for numbers.
pub trait Source: Send + Sync + 'static {
    /// How much of `metric` there is.
    ///
    /// # Errors
    /// It cannot be told now. It will be asked again later.
    fn read(&self, metric: &str) -> impl Future<Output = Result<Reading, SourceError>> + Send;
}

/// Why there is no number.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It does not answer, or with an error.
    #[error("the source does not answer: {0}")]
    Unreachable(#[source] BoxError),
    /// It takes too long.
    #[error("the source has not answered within {} s", .0.as_secs())]
    Slow(Duration),
    /// What it answers is no number that is not negative.
    #[error("the source has answered with no number")]
    NoNumber,
}

/// Answers `GET /METRIC` with a number in plain text.
#[derive(Clone, Debug)]
pub struct HttpSource(Client);

impl HttpSource {
    /// What `client` is connected to; any HTTP server will do.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(client)
    }
}

impl Source for HttpSource {
    async fn read(&self, metric: &str) -> Result<Reading, SourceError> {
        let unreachable = |error: BoxError| SourceError::Unreachable(error);
        let request = http::Request::get(format!("/{metric}")).body(Bytes::new());
        let request = request.map_err(|error| unreachable(error.into()))?;
        let answer = self.0.raw(request).await;
        let answer = answer.map_err(|error| unreachable(error.into()))?;
        let text = std::str::from_utf8(answer.body()).ok();
        let value = text.and_then(|text| text.trim().parse().ok());
        value.and_then(Reading::new).ok_or(SourceError::NoNumber)
    }
}
