//! The metrics of client-go's requests, under the names that dashboards use (client-go M2).

use std::time::Duration;

use bytes::Bytes;
use evenkeel_observe::{Descriptor, Histogram, Metrics};
use futures_util::StreamExt;
use http::{Method, Uri};

use super::Outgoing;
use crate::transport::{ByteStream, TransportError};

static REQUESTS: Descriptor = Descriptor::counter(
    "rest_client_requests_total",
    "Number of HTTP requests, partitioned by status code, method, and host.",
    &["code", "method", "host"],
);
static RETRIES: Descriptor = Descriptor::counter(
    "rest_client_request_retries_total",
    "Number of request retries, partitioned by status code, verb, and host.",
    &["code", "verb", "host"],
);
static DURATION: Descriptor = Descriptor::histogram(
    "rest_client_request_duration_seconds",
    "Request latency in seconds, with all tries, broken down by verb, and host.",
    &["verb", "host"],
    SECONDS,
);
static LIMITER: Descriptor = Descriptor::histogram(
    "rest_client_rate_limiter_duration_seconds",
    "Client side rate limiter latency in seconds, broken down by verb, and host.",
    &["verb", "host"],
    SECONDS,
);
static REQUEST_SIZE: Descriptor = Descriptor::histogram(
    "rest_client_request_size_bytes",
    "Request size in bytes, broken down by verb and host.",
    &["verb", "host"],
    BYTES,
);
static RESPONSE_SIZE: Descriptor = Descriptor::histogram(
    "rest_client_response_size_bytes",
    "Response size in bytes, broken down by verb and host.",
    &["verb", "host"],
    BYTES,
);
const BYTES: &[f64] = &[
    64.0,
    256.0,
    512.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
];
const SECONDS: &[f64] = &[
    0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0,
];

/// Reports one logical request. Without a sink it does nothing.
pub(super) struct Meter<'a> {
    metrics: &'a Metrics,
    verb: &'a str,
    host: &'a str,
    tries: u32,
}

impl<'a> Meter<'a> {
    pub(super) fn new(metrics: &'a Metrics, method: &'a Method, server: &'a Uri) -> Self {
        Self {
            metrics,
            verb: method.as_str(),
            host: server.authority().map_or("none", |host| host.as_str()),
            tries: 0,
        }
    }

    pub(super) fn limited(&self, waited: Duration) {
        let histogram = self.metrics.histogram(&LIMITER, &[self.verb, self.host]);
        histogram.observe_duration(waited);
    }

    /// One try is over; `None` when there was no answer.
    pub(super) fn tried(&mut self, code: Option<http::StatusCode>, size: usize) {
        if !self.metrics.is_enabled() {
            return;
        }
        let code = code.as_ref().map_or("<error>", http::StatusCode::as_str);
        let labels = [code, self.verb, self.host];
        self.metrics.counter(&REQUESTS, &labels).inc();
        self.tries += 1;
        if self.tries > 1 {
            self.metrics.counter(&RETRIES, &labels).inc();
        }
        let histogram = self
            .metrics
            .histogram(&REQUEST_SIZE, &[self.verb, self.host]);
        histogram.observe(size as f64);
    }

    /// Measures the body of an answer as it is read. Of a watch there is no size to speak of.
    pub(super) fn sized(
        &self,
        outgoing: &Outgoing,
        response: http::Response<ByteStream>,
    ) -> http::Response<ByteStream> {
        if !self.metrics.is_enabled() || outgoing.is_watch() {
            return response;
        }
        let histogram = self
            .metrics
            .histogram(&RESPONSE_SIZE, &[self.verb, self.host]);
        let mut size = Size {
            bytes: 0,
            histogram,
        };
        response.map(|body| {
            let count = move |chunk: &Result<Bytes, TransportError>| {
                size.add(chunk.as_ref().map_or(0, Bytes::len));
            };
            body.inspect(count).boxed()
        })
    }

    pub(super) fn finished(&self, took: Duration) {
        let histogram = self.metrics.histogram(&DURATION, &[self.verb, self.host]);
        histogram.observe_duration(took);
    }
}

/// Reports the size of a body when it was read, or dropped.
struct Size {
    bytes: usize,
    histogram: Histogram,
}

impl Size {
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
    }
}

impl Drop for Size {
    fn drop(&mut self) {
        self.histogram.observe(self.bytes as f64);
    }
}
