use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use evenkeel_meta::{Reason, Status};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::{mpsc, oneshot, watch};

use super::PodHandle;
use super::channels::{Channels, Incoming, Outgoing, PIPE, Receiver, Task, run};
use super::socket::{Protocol, Socket};
use crate::error::{DecodeError, Error, Result};
use crate::query::Query;
use crate::transport::{TransportError, TransportErrorKind};

/// How to run a command in a container.
///
/// By default its output and its errors are read, and nothing is written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecOptions {
    /// The program and its arguments. There is no shell in between.
    pub command: Vec<String>,
    /// Where and with what.
    pub attach: AttachOptions,
}

/// Which streams of a container are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttachOptions {
    /// The container; may be left out where there is only one.
    pub container: Option<String>,
    /// Whether to write to its standard input.
    pub stdin: bool,
    /// Whether to read its standard output.
    pub stdout: bool,
    /// Whether to read its standard error. With a terminal that is part of the output.
    pub stderr: bool,
    /// Whether there is a terminal.
    pub tty: bool,
}

impl Default for AttachOptions {
    fn default() -> Self {
        Self {
            container: None,
            stdin: false,
            stdout: true,
            stderr: true,
            tty: false,
        }
    }
}

impl ExecOptions {
    /// Runs this program with these arguments.
    pub fn new<S: Into<String>>(command: impl IntoIterator<Item = S>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            attach: AttachOptions::default(),
        }
    }

    /// In this container.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.attach.container = Some(name.into());
        self
    }

    /// With standard input.
    #[must_use]
    pub fn stdin(mut self) -> Self {
        self.attach.stdin = true;
        self
    }

    /// With a terminal.
    #[must_use]
    pub fn tty(mut self) -> Self {
        self.attach.tty = true;
        self
    }
}

impl AttachOptions {
    /// To this container.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// With standard input.
    #[must_use]
    pub fn stdin(mut self) -> Self {
        self.stdin = true;
        self
    }

    /// With a terminal.
    #[must_use]
    pub fn tty(mut self) -> Self {
        self.tty = true;
        self
    }

    fn write_to(&self, query: &mut Query) {
        query.some("container", self.container.as_deref());
        query.flag("stdin", self.stdin);
        query.flag("stdout", self.stdout);
        query.flag("stderr", self.reads_stderr());
        query.flag("tty", self.tty);
    }

    /// A server refuses both a terminal and a standard error.
    fn reads_stderr(&self) -> bool {
        self.stderr && !self.tty
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExitStatus(i32);

impl ExitStatus {
    /// Whether it ended with 0.
    #[must_use]
    pub fn success(self) -> bool {
        self.0 == 0
    }

    /// Its exit code: up to 255, or any number on Windows.
    #[must_use]
    pub fn code(self) -> i32 {
        self.0
    }
}

/// Everything that a command wrote, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessOutput {
    /// What it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub status: ExitStatus,
}

/// A command that runs in a container, or a container that one is attached to.
///
/// The streams may be taken out; each ends when the command ends it. The server sends all of
/// them over one connection, and what is not read holds the others up (64 kB of each wait
/// here): read them side by side, or drop those that are not wanted.
///
/// Dropping it ends the connection. A command in a container is not killed by that, unless it
/// ends with its standard input or output.
#[derive(Debug)]
pub struct Process {
    /// Its standard input, if asked for. Dropping it, or shutting it down, ends the input
    /// where [`can_end_input`](Self::can_end_input).
    pub stdin: Option<Input>,
    /// Its standard output, if asked for.
    pub stdout: Option<Output>,
    /// Its standard error, if asked for.
    pub stderr: Option<Output>,
    sizes: mpsc::Sender<Bytes>,
    report: watch::Receiver<Bytes>,
    ended: oneshot::Receiver<Result<(), TransportError>>,
    protocol: Protocol,
    /// What the request was, for error texts.
    subject: String,
    _task: Task,
}

/// A stream to write to.
#[derive(Debug)]
pub struct Input(DuplexStream);

/// A stream to read from.
#[derive(Debug)]
pub struct Output(DuplexStream);

impl PodHandle {
    /// Runs a command in a container.
    ///
    /// ```no_run
    /// # async fn example(client: &evenkeel_client::Client) -> Result<(), evenkeel_client::Error> {
    /// use evenkeel_client::ExecOptions;
    ///
    /// let web = client.pod("shop", "web");
    /// let date = web.exec(&ExecOptions::new(["date", "-u"])).await?.output().await?;
    /// assert!(date.status.success());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It goes over a WebSocket, in version 5 of Kubernetes' protocol or, with servers before
    /// 1.30, in version 4. The request is not repeated when its connection is lost.
    ///
    /// # Errors
    ///
    /// [`Error::Api`] if the server refuses: no such pod, no permission. A program that is not
    /// there shows in [`Process::status`].
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped the command may have been started.
    pub async fn exec(&self, options: &ExecOptions) -> Result<Process> {
        let mut target = self.api.object(None, &self.name, Some("exec"))?;
        for argument in &options.command {
            target.add("command", argument);
        }
        self.process("exec in", target, &options.attach).await
    }

    /// Attaches to a container's main process.
    ///
    /// # Errors
    ///
    /// As [`exec`](Self::exec).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect on the container.
    pub async fn attach(&self, options: &AttachOptions) -> Result<Process> {
        let target = self.api.object(None, &self.name, Some("attach"))?;
        self.process("attach to", target, options).await
    }

    async fn process(
        &self,
        verb: &'static str,
        mut target: Query,
        options: &AttachOptions,
    ) -> Result<Process> {
        options.write_to(&mut target);
        let protocols = [Protocol::V5, Protocol::V4];
        let socket = self.open_socket(verb, target, &protocols).await?;
        let subject = self.api.subject(verb, &self.name).to_string();
        Ok(Process::start(socket, options, subject))
    }
}

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const REPORT: u8 = 3;
const RESIZE: u8 = 4;

impl Process {
    pub(super) fn start(socket: Socket, options: &AttachOptions, subject: String) -> Self {
        let protocol = socket.protocol();
        let (changed, report) = watch::channel(Bytes::new());
        let (sizes, messages) = mpsc::channel(1);
        let (ended_tx, ended) = oneshot::channel();
        let mut incoming = vec![Incoming {
            channel: REPORT,
            skip: 0,
            receiver: Receiver::Text {
                text: BytesMut::new(),
                changed,
            },
        }];
        let mut read = |wanted: bool, channel| {
            wanted.then(|| {
                let (ours, theirs) = duplex(PIPE);
                let receiver = Receiver::Pipe(Some(Box::new(theirs)));
                incoming.push(Incoming {
                    channel,
                    skip: 0,
                    receiver,
                });
                Output(ours)
            })
        };
        let stdout = read(options.stdout, STDOUT);
        let stderr = read(options.reads_stderr(), STDERR);
        let (stdin, outgoing) = match options.stdin {
            true => {
                let (ours, pipe) = duplex(PIPE);
                let pipe = Box::new(pipe);
                (
                    Some(Input(ours)),
                    vec![Outgoing {
                        channel: STDIN,
                        pipe,
                    }],
                )
            }
            false => (None, Vec::new()),
        };
        let task = run(
            socket,
            Channels {
                incoming,
                outgoing,
                messages: Some(messages),
                ended: ended_tx,
            },
        );
        Self {
            stdin,
            stdout,
            stderr,
            sizes,
            report,
            ended,
            protocol,
            subject,
            _task: task,
        }
    }

    /// Whether the end of the standard input can be told to the command. Servers before 1.30
    /// cannot be told.
    #[must_use]
    pub fn can_end_input(&self) -> bool {
        self.protocol == Protocol::V5
    }

    /// Tells the terminal its size. Without a terminal the server takes no notice.
    ///
    /// # Errors
    ///
    /// If the connection has ended.
    ///
    /// # Cancel safety
    ///
    /// A size is sent whole or not at all.
    pub async fn resize(&self, columns: u16, rows: u16) -> Result<()> {
        let mut message = BytesMut::from(&[RESIZE][..]);
        let size = format!("{{\"Width\":{columns},\"Height\":{rows}}}");
        message.extend_from_slice(size.as_bytes());
        let sent = self.sizes.send(message.freeze()).await;
        sent.map_err(|_| self.lost(None))
    }

    /// Waits for the command to end. Its output must be read meanwhile, or dropped.
    ///
    /// # Errors
    ///
    /// [`Error::Api`] if the command could not be run, such as one that is not in the
    /// container; a transport error if the connection ended before the command told its status.
    ///
    /// # Cancel safety
    ///
    /// It may be called again.
    pub async fn status(&mut self) -> Result<ExitStatus> {
        // The sender goes with the connection.
        let told = self.report.wait_for(|report| parse(report).is_some()).await;
        let report = told.map(|report| report.clone());
        match report {
            Ok(report) => outcome(&report),
            Err(_) => {
                let report = self.report.borrow().clone();
                if report.is_empty() {
                    let why = (&mut self.ended).await.ok().and_then(Result::err);
                    return Err(self.lost(why));
                }
                outcome(&report)
            }
        }
    }

    /// Closes the standard input, reads everything and waits for the end.
    ///
    /// # Errors
    ///
    /// As [`status`](Self::status).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the process.
    pub async fn output(mut self) -> Result<ProcessOutput> {
        drop(self.stdin.take());
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let (stdout, stderr) = futures_util::future::join(whole(stdout), whole(stderr)).await;
        let status = self.status().await?;
        Ok(ProcessOutput {
            stdout,
            stderr,
            status,
        })
    }

    fn lost(&self, why: Option<TransportError>) -> Error {
        let why = why.unwrap_or_else(|| {
            let detail = "the connection ended before the command's status came";
            TransportError::with_detail(TransportErrorKind::Closed, detail)
        });
        why.during(&self.subject).into()
    }
}

/// Pipes in memory do not fail; what the connection came to shows in the status.
async fn whole(output: Option<Output>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut output) = output {
        let _ = output.read_to_end(&mut bytes).await;
    }
    bytes
}

fn parse(report: &[u8]) -> Option<Status> {
    serde_json::from_slice(report).ok()
}

/// What the server reports at the end of a command.
fn outcome(report: &[u8]) -> Result<ExitStatus> {
    let what = "the status of a command";
    let status: Status =
        serde_json::from_slice(report).map_err(|error| DecodeError::new(what, &error))?;
    if status.is_success() {
        return Ok(ExitStatus(0));
    }
    if status.reason != Reason::Other("NonZeroExitCode".into()) {
        return Err(status.into());
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let code = causes
        .filter(|cause| cause.reason == "ExitCode")
        .find_map(|cause| cause.message.parse().ok());
    code.map(ExitStatus)
        .ok_or_else(|| DecodeError::new(what, "it has no exit code").into())
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Input {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_in_the_status() {
        let code = |report: &str| outcome(report.as_bytes());
        let success = r#"{"metadata":{},"status":"Success"}"#;
        assert!(code(success).unwrap().success());
        let seven = r#"{"status":"Failure","reason":"NonZeroExitCode","message":"command terminated",
            "details":{"causes":[{"reason":"Other","message":"3"},{"reason":"ExitCode","message":"7"}]}}"#;
        assert_eq!(code(seven).unwrap().code(), 7);
        let windows = seven.replace("\"7\"", "\"-1073741510\"");
        assert_eq!(code(&windows).unwrap().code(), -1_073_741_510);
        let refused =
            r#"{"status":"Failure","reason":"InternalError","code":500,"message":"no such file"}"#;
        let error = code(refused).unwrap_err();
        assert_eq!(error.status().unwrap().message, "no such file");
        for odd in [
            r#"{"status":"Failure","reason":"NonZeroExitCode"}"#,
            r#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"x"}]}}"#,
            "",
            "{",
        ] {
            assert!(matches!(code(odd), Err(Error::Decode(_))), "{odd}");
        }
    }
}
