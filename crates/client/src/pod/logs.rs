use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use evenkeel_meta::Timestamp;
use futures_core::Stream;
use futures_util::StreamExt;
use http::{HeaderValue, Method};
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

use super::PodHandle;
use crate::client::{Outgoing, idle_limited};
use crate::error::{Error, Result};
use crate::query::Query;
use crate::transport::{ByteStream, Lane};

/// Which part of a log.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LogOptions {
    /// The container; may be left out where there is only one.
    pub container: Option<String>,
    /// Go on with what is written from now on, until the container ends.
    pub follow: bool,
    /// The log of the container's life before its last restart.
    pub previous: bool,
    /// Begin each line with its time.
    pub timestamps: bool,
    /// Only the last lines, this many.
    pub tail_lines: Option<u64>,
    /// Only what was written within this time, in whole seconds.
    pub since: Option<Duration>,
    /// Only what was written from then on.
    pub since_time: Option<Timestamp>,
    /// No more bytes than this.
    pub limit_bytes: Option<u64>,
}

impl LogOptions {
    /// Of this container.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// And what is written from now on.
    #[must_use]
    pub fn follow(mut self) -> Self {
        self.follow = true;
        self
    }

    /// Only the last `lines`.
    #[must_use]
    pub fn tail(mut self, lines: u64) -> Self {
        self.tail_lines = Some(lines);
        self
    }

    fn write_to(&self, query: &mut Query) {
        query.some("container", self.container.as_deref());
        query.flag("follow", self.follow);
        query.flag("previous", self.previous);
        query.flag("timestamps", self.timestamps);
        query.some("tailLines", self.tail_lines);
        query.some("sinceSeconds", self.since.map(|since| since.as_secs()));
        query.some("sinceTime", self.since_time);
        query.some("limitBytes", self.limit_bytes);
    }
}

impl PodHandle {
    /// The log as a stream of bytes.
    ///
    /// A log that is followed has its connection among the watches', and may be silent for as
    /// long as the container is, from the first byte on; of others, head and body are each
    /// waited for as long as those of a list.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] if there is no such pod; a container that has not started yet
    /// is a bad request. Reading fails if the stream breaks off.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future or the stream gives the log up.
    pub async fn logs(&self, options: &LogOptions) -> Result<LogStream> {
        let mut target = self.api.object(None, &self.name, Some("log"))?;
        options.write_to(&mut target);
        let lane = if options.follow {
            Lane::Watch
        } else {
            Lane::List
        };
        let subject = self.api.subject("read log of", &self.name);
        let mut request = Outgoing::new(lane, Method::GET, target.finish(), subject)
            .accept(HeaderValue::from_static("*/*"));
        if options.follow {
            request = request.patient();
        }
        let client = self.api.client();
        let body = client.open(&request).await?.into_body();
        let body = match options.follow {
            true => body,
            false => idle_limited(body, client.options().timeouts.body_idle).boxed(),
        };
        Ok(LogStream {
            body: Some(body),
            chunk: Bytes::new(),
        })
    }
}

/// A log: chunks as they arrive through [`Stream`], or bytes through tokio's `AsyncRead` and
/// `AsyncBufRead`, whose extension traits cut it into lines.
///
/// # Cancel safety
///
/// Nothing is lost between two polls.
pub struct LogStream {
    /// `None` after the end.
    body: Option<ByteStream>,
    /// What has arrived and is not read.
    chunk: Bytes,
}

impl Stream for LogStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.chunk.has_remaining() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.chunk))));
        }
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let item = ready!(body.as_mut().poll_next(cx));
        if !matches!(item, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(item.map(|chunk| chunk.map_err(|error| Error::from(error.during("read log")))))
    }
}

impl AsyncBufRead for LogStream {
    fn poll_fill_buf(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        while !self.chunk.has_remaining() {
            match ready!(self.as_mut().poll_next(cx)) {
                Some(Ok(chunk)) => self.chunk = chunk,
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => break,
            }
        }
        Poll::Ready(Ok(&self.get_mut().chunk))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        self.chunk.advance(amount);
    }
}

impl AsyncRead for LogStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ready = ready!(self.as_mut().poll_fill_buf(cx))?;
        let amount = ready.len().min(buffer.remaining());
        buffer.put_slice(&ready[..amount]);
        self.consume(amount);
        Poll::Ready(Ok(()))
    }
}

impl std::fmt::Debug for LogStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogStream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt};

    use super::*;
    use crate::testing::{Answer, Scripted};
    use crate::transport::TransportErrorKind;

    async fn logs(server: &Scripted, options: &LogOptions) -> Result<LogStream> {
        server.client().pod("ns", "a").logs(options).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_is_lines_wherever_the_chunks_are_cut() {
        let text = "one\ntwö\n\nlast";
        for cut in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(cut);
            let (head, tail) = (head.to_vec(), tail.to_vec());
            let server =
                Scripted::new(move |_, _| Answer::ok(head.clone()).chunk("").chunk(tail.clone()));
            let mut lines = logs(&server, &LogOptions::default()).await.unwrap().lines();
            let mut all = Vec::new();
            while let Some(line) = lines.next_line().await.unwrap() {
                all.push(line);
            }
            assert_eq!(all, ["one", "twö", "", "last"]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_for() {
        let server = Scripted::new(|_, _| Answer::ok("x"));
        let options = LogOptions {
            previous: true,
            timestamps: true,
            since: Some(Duration::from_millis(90_500)),
            since_time: Some(Timestamp::from_second(0)),
            limit_bytes: Some(9),
            ..LogOptions::default()
        };
        logs(&server, &options).await.unwrap();
        let options = LogOptions::default().container("c").follow().tail(5);
        logs(&server, &options).await.unwrap();
        assert_eq!(
            server.targets(),
            [
                "/api/v1/namespaces/ns/pods/a/log?previous=true&timestamps=true&sinceSeconds=90\
                 &sinceTime=1970-01-01T00%3A00%3A00Z&limitBytes=9",
                "/api/v1/namespaces/ns/pods/a/log?container=c&follow=true&tailLines=5",
            ]
        );
        let lanes: Vec<_> = server.seen().iter().map(|seen| seen.lane).collect();
        assert_eq!(lanes, [Lane::List, Lane::Watch]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_log_is_waited_for_only_when_it_is_followed() {
        let day = Duration::from_secs(86_400);
        let server = Scripted::new(move |_, _| Answer::ok("x").late(day).then_silent());
        let follow = LogOptions::default().follow();
        let mut log = logs(&server, &follow).await.unwrap();
        assert_eq!(log.read_u8().await.unwrap(), b'x');
        assert!(tokio::time::timeout(day, log.read_u8()).await.is_err());
        let error = logs(&server, &LogOptions::default()).await.unwrap_err();
        assert!(error.is_timeout());

        let server = Scripted::new(move |_, _| Answer::ok("x").then_silent());
        let mut log = logs(&server, &LogOptions::default()).await.unwrap();
        assert!(log.next().await.unwrap().is_ok());
        assert!(log.next().await.unwrap().unwrap_err().is_timeout());
        assert!(log.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_that_breaks_off_is_an_error_after_what_came() {
        let server = Scripted::new(|_, _| Answer::ok("ab").broken(TransportErrorKind::Closed));
        let mut log = logs(&server, &LogOptions::default()).await.unwrap();
        let mut text = Vec::new();
        let error = log.read_to_end(&mut text).await.unwrap_err();
        assert_eq!(text, b"ab");
        assert_eq!(error.to_string(), "read log: scripted");
        let server = Scripted::new(|_, _| Answer::new(404));
        let error = logs(&server, &LogOptions::default()).await.unwrap_err();
        assert!(error.is_not_found());
    }
}
