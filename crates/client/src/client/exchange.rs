use std::time::Duration;

use bytes::{Bytes, BytesMut};
use evenkeel_meta::Status;
use evenkeel_pace::{Moment, TokenBucket};
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::retry::Retries;
use super::{Client, Outgoing, idle_limited, status_body, warning};
use crate::error::{DecodeError, RequestError, Result};
use crate::transport::{ByteStream, TransportError};

/// No answer that is read whole may be larger; lists and watches are not read whole.
const LARGEST_BODY: usize = 128 << 20;
/// No `Status` is larger; what is longer is cut.
const LARGEST_ERROR_BODY: usize = 1 << 20;

impl Client {
    /// Sends a request until it is answered with success, or until trying again is the
    /// caller's business.
    pub(crate) async fn exchange(&self, outgoing: &Outgoing) -> Result<http::Response<ByteStream>> {
        let total = self.shared.options.timeouts.total;
        let Some(limit) = total.filter(|_| !outgoing.is_watch()) else {
            return self.tries(outgoing).await;
        };
        match tokio::time::timeout(limit, self.tries(outgoing)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(TransportError::timeout("success", limit)
                .during(&outgoing.subject.to_string())
                .into()),
        }
    }

    async fn tries(&self, outgoing: &Outgoing) -> Result<http::Response<ByteStream>> {
        let options = &self.shared.options;
        let mut retries = Retries::new(options.retry, &outgoing.method);
        let mut refreshed = false;
        let mut limited = !outgoing.is_watch();
        loop {
            if let (Some(limiter), true) = (&self.shared.limiter, limited) {
                limiter.wait().await;
            }
            limited = true;
            let authorization = options.credentials.authorization().await?;
            let request = self.build(outgoing, authorization.as_ref())?;
            let response = match self.send_once(outgoing, request).await {
                Ok(response) => response,
                Err(error) => match retries.after_error(&error) {
                    Some(wait) => {
                        self.pause(outgoing, wait, &error).await;
                        continue;
                    }
                    None => return Err(error.during(&outgoing.subject.to_string()).into()),
                },
            };
            warning::report(response.headers());
            if succeeded(outgoing, response.status()) {
                return Ok(response);
            }
            if response.status() == StatusCode::UNAUTHORIZED
                && !refreshed
                && options.credentials.refresh(authorization.as_ref()).await
            {
                refreshed = true;
                continue;
            }
            let asked = retry_after(response.headers());
            let status = self.read_status(outgoing, response).await;
            match retries.after_status(&status, asked) {
                Some(wait) => self.pause(outgoing, wait, &status).await,
                None => return Err(status.into()),
            }
        }
    }

    async fn pause(
        &self,
        outgoing: &Outgoing,
        wait: Duration,
        cause: &(dyn std::fmt::Display + Sync),
    ) {
        let wait = self.shared.retries.spread(wait);
        tracing::debug!(request = %outgoing.subject, ?wait, %cause, "trying again");
        tokio::time::sleep(wait).await;
    }

    async fn send_once(
        &self,
        outgoing: &Outgoing,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<ByteStream>, TransportError> {
        let timeouts = &self.shared.options.timeouts;
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
        let options = &self.shared.options;
        let mut request = http::Request::new(outgoing.body.clone());
        *request.method_mut() = outgoing.method.clone();
        *request.uri_mut() =
            absolute(&options.server, &outgoing.target).map_err(|e| malformed(&e))?;
        let headers = request.headers_mut();
        headers.clone_from(&outgoing.headers);
        if let (Some(value), false) = (authorization, headers.contains_key(header::AUTHORIZATION)) {
            headers.insert(header::AUTHORIZATION, value.clone());
        }
        if !headers.contains_key(header::USER_AGENT) {
            let agent = HeaderValue::from_str(&options.user_agent).map_err(|e| malformed(&e))?;
            headers.insert(header::USER_AGENT, agent);
        }
        Ok(request)
    }

    /// Reads a body to its end.
    pub(crate) async fn read_whole(&self, outgoing: &Outgoing, body: ByteStream) -> Result<Bytes> {
        let named = |error: TransportError| error.during(&outgoing.subject.to_string());
        let mut body = idle_limited(body, self.shared.options.timeouts.body_idle);
        let Some(first) = body.next().await.transpose().map_err(named)? else {
            return Ok(Bytes::new());
        };
        let Some(second) = body.next().await.transpose().map_err(named)? else {
            return Ok(first);
        };
        let mut whole = BytesMut::from(first);
        whole.extend_from_slice(&second);
        while let Some(chunk) = body.next().await.transpose().map_err(named)? {
            if whole.len() + chunk.len() > LARGEST_BODY {
                let reason = format!("larger than {LARGEST_BODY} bytes");
                return Err(DecodeError::new(outgoing.subject.to_string(), &reason).into());
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }

    /// Makes a `Status` of an error answer, whatever its body is. A body that breaks off is
    /// used as far as it came: the code says enough.
    async fn read_status(
        &self,
        outgoing: &Outgoing,
        response: http::Response<ByteStream>,
    ) -> Status {
        let (head, body) = response.into_parts();
        let mut body = idle_limited(body, self.shared.options.timeouts.body_idle);
        let mut text = BytesMut::new();
        while let Some(Ok(chunk)) = body.next().await {
            let room = LARGEST_ERROR_BODY.saturating_sub(text.len());
            text.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if room <= chunk.len() {
                break;
            }
        }
        status_body::status_of(outgoing, &head, &text)
    }
}

/// A watch is only a watch when the answer is 200; other requests succeed with any 2xx.
fn succeeded(outgoing: &Outgoing, status: StatusCode) -> bool {
    if outgoing.is_watch() {
        status == StatusCode::OK
    } else {
        status.is_success()
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

/// A token bucket that many requests wait at.
pub(crate) struct Limiter {
    bucket: Mutex<TokenBucket>,
    origin: Instant,
}

impl Limiter {
    pub(crate) fn new(qps: f64, burst: u32) -> Self {
        Self {
            bucket: Mutex::new(TokenBucket::new(qps, burst)),
            origin: Instant::now(),
        }
    }

    async fn wait(&self) {
        let now = Moment::from(self.origin.elapsed());
        let wait = self.bucket.lock().reserve(now);
        if wait.is_zero() {
            return;
        }
        if wait > Duration::from_millis(50) {
            tracing::debug!(?wait, "waiting for the client's rate limit");
        }
        tokio::time::sleep(wait).await;
    }
}

impl std::fmt::Debug for Limiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limiter").finish_non_exhaustive()
    }
}
