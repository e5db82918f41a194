use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::metering::Meter;
use super::retry::Retries;
use super::{Client, Outgoing, body, dry_run, status_body, trace};
use crate::credentials::Offer;
use crate::error::{RequestError, Result};
use crate::transport::{ByteStream, Lane, TransportError};

impl Client {
    /// Sends a request whose answer is small, and reads that whole.
    pub(crate) async fn fetch(&self, outgoing: &Outgoing) -> Result<http::Response<Bytes>> {
        let whole = async {
            let (head, answer) = self.tries(outgoing).await?.into_parts();
            let idle = self.options().timeouts.body_idle;
            let answer = body::read_whole(answer, idle, &outgoing.subject).await?;
            Ok(http::Response::from_parts(head, answer))
        };
        self.bounded(outgoing, whole).await
    }

    /// Sends a request whose answer is a stream.
    pub(crate) async fn open(&self, outgoing: &Outgoing) -> Result<http::Response<ByteStream>> {
        if outgoing.is_watch() {
            return self.tries(outgoing).await;
        }
        self.bounded(outgoing, self.tries(outgoing)).await
    }

    async fn bounded<T>(
        &self,
        outgoing: &Outgoing,
        request: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Some(limit) = self.options().timeouts.total else {
            return request.await;
        };
        match tokio::time::timeout(limit, request).await {
            Ok(outcome) => outcome,
            Err(_) => Err(TransportError::timeout("complete answer", limit)
                .during(&outgoing.subject.to_string())
                .into()),
        }
    }

    /// Sends a request until it is answered with success, or until trying again is the
    /// caller's business.
    async fn tries(&self, outgoing: &Outgoing) -> Result<http::Response<ByteStream>> {
        let options = self.options();
        let mut meter = Meter::new(&options.metrics, &outgoing.method, &options.server);
        let start = Instant::now();
        let span = trace::span(outgoing);
        let outcome = self
            .metered_tries(outgoing, &mut meter, &span)
            .instrument(span.clone())
            .await;
        if !outgoing.is_watch() {
            meter.finished(start.elapsed());
        }
        outcome
    }

    async fn metered_tries(
        &self,
        outgoing: &Outgoing,
        meter: &mut Meter<'_>,
        span: &Span,
    ) -> Result<http::Response<ByteStream>> {
        let options = self.options();
        let mut retries = Retries::new(options.retry, outgoing);
        let mut refreshed = false;
        let mut limited = !outgoing.is_watch();
        let mut previous: Option<TransportError> = None;
        let mut tries = 0_u32;
        loop {
            tries += 1;
            if let (Some(limiter), true) = (&self.shared.limiter, limited) {
                meter.limited(limiter.wait().await);
            }
            limited = true;
            if let Some(overload) = &self.shared.overload {
                overload.pass().await;
            }
            let offer = self.offer(outgoing).await?;
            let request = self.build(outgoing, offer.header.as_ref())?;
            let outcome = self.send_once(outgoing, request).await;
            let code = outcome.as_ref().ok().map(http::Response::status);
            meter.tried(code, outgoing.body.len());
            let response = match outcome {
                Ok(response) => response,
                Err(error) => match retries.after_error(&error) {
                    Some(wait) => {
                        self.pause(outgoing, wait, &error).await;
                        previous = Some(error);
                        continue;
                    }
                    None => {
                        let error = error.after(previous.as_ref());
                        return Err(error.during(&outgoing.subject.to_string()).into());
                    }
                },
            };
            previous = None;
            trace::answered(span, tries, response.status(), response.headers());
            if let Some(overload) = &self.shared.overload {
                overload.answered(response.status());
            }
            options.warnings.report(response.headers());
            if succeeded(outgoing, response.status()) {
                return Ok(meter.sized(outgoing, response));
            }
            let asked = retry_after(response.headers());
            let (head, answer) = response.into_parts();
            // Over HTTP/1.1 the next try can only have this connection when the body is read.
            let text = body::read_error(answer, options.timeouts.body_idle).await;
            if head.status == StatusCode::UNAUTHORIZED
                && !refreshed
                && !brings_its_own(outgoing)
                && options.credentials.refresh(&offer).await
            {
                refreshed = true;
                continue;
            }
            let status = status_body::status_of(outgoing, &head, &text);
            match retries.after_status(&status, asked) {
                Some(wait) => self.pause(outgoing, wait, &status).await,
                None => return Err(status.into()),
            }
        }
    }

    /// Credentials are not even obtained for a request that brings its own (client-go X4).
    async fn offer(&self, outgoing: &Outgoing) -> Result<Offer> {
        if brings_its_own(outgoing) {
            return Ok(Offer::default());
        }
        Ok(self.options().credentials.offer().await?)
    }

    async fn pause(
        &self,
        outgoing: &Outgoing,
        wait: Duration,
        cause: &(dyn std::fmt::Display + Sync),
    ) {
        let wait = self.shared.jitter.spread(wait);
        tracing::debug!(request = %outgoing.subject, ?wait, %cause, "trying again");
        tokio::time::sleep(wait).await;
    }

    async fn send_once(
        &self,
        outgoing: &Outgoing,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<ByteStream>, TransportError> {
        if outgoing.patient {
            return self.transport.send(outgoing.lane, request).await;
        }
        let timeouts = &self.options().timeouts;
        let limit = if outgoing.is_watch() {
            timeouts.watch_head
        } else {
            timeouts.head
        };
        match tokio::time::timeout(limit, self.transport.send(outgoing.lane, request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(TransportError::timeout("response head", limit)),
        }
    }

    fn build(
        &self,
        outgoing: &Outgoing,
        authorization: Option<&HeaderValue>,
    ) -> Result<http::Request<Bytes>> {
        let malformed = |error: &dyn std::fmt::Display| RequestError::Malformed(error.to_string());
        let options = self.options();
        let (target, body) = match options.dry_run {
            true => {
                let (target, body) = dry_run::rehearsed(outgoing)?;
                (Cow::Owned(target), body)
            }
            false => (Cow::Borrowed(&*outgoing.target), outgoing.body.clone()),
        };
        let mut request = http::Request::new(body);
        *request.method_mut() = outgoing.method.clone();
        *request.uri_mut() =
            absolute(&options.server, &target).map_err(|error| malformed(&error))?;
        let headers = request.headers_mut();
        headers.clone_from(&outgoing.headers);
        if let Some(value) = authorization {
            headers.insert(header::AUTHORIZATION, value.clone());
        }
        if let Some(whom) = &options.impersonation {
            whom.add_to(headers)?;
        }
        if !headers.contains_key(header::USER_AGENT) {
            let agent =
                HeaderValue::from_str(&options.user_agent).map_err(|error| malformed(&error))?;
            headers.insert(header::USER_AGENT, agent);
        }
        Ok(request)
    }
}

fn brings_its_own(outgoing: &Outgoing) -> bool {
    outgoing.headers.contains_key(header::AUTHORIZATION)
}

/// A watch is only a watch when the answer is 200, and an upgrade is one with 101; other
/// requests succeed with any 2xx.
fn succeeded(outgoing: &Outgoing, status: StatusCode) -> bool {
    match outgoing.lane {
        Lane::Watch => status == StatusCode::OK,
        Lane::Upgrade => status == StatusCode::SWITCHING_PROTOCOLS,
        Lane::List | Lane::Write => status.is_success(),
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

/// The server's scheme, host and path prefix before the request's path and query.
fn absolute(server: &Uri, target: &str) -> Result<Uri, http::Error> {
    let prefix = server.path().trim_end_matches('/');
    let mut parts = server.clone().into_parts();
    parts.path_and_query = Some(if prefix.is_empty() {
        target.parse()?
    } else {
        format!("{prefix}{target}").parse()?
    });
    Ok(Uri::from_parts(parts)?)
}
