use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::{oneshot, watch};

use super::PodHandle;
use super::channels::{Channels, Incoming, Outgoing, PIPE, Receiver, Task, run};
use super::socket::{Protocol, Socket};
use crate::error::Result;
use crate::transport::TransportError;

/// A connection to a port of a pod, to read from and to write to.
///
/// It is one TCP connection in the pod: a program that listens here makes one tunnel for each
/// connection that it takes. Reading fails at the end if the pod refused the connection or
/// the way to it broke; the text says which. The end of what is written cannot be told to
/// the pod by itself, only that of the whole tunnel.
///
/// Dropping it ends the connection.
#[derive(Debug)]
pub struct Tunnel {
    pipe: DuplexStream,
    errors: watch::Receiver<Bytes>,
    ended: oneshot::Receiver<Result<(), TransportError>>,
    is_over: bool,
    _task: Task,
}

const DATA: u8 = 0;
const ERRORS: u8 = 1;
/// Each channel begins with the port's number.
const PORT_NUMBER: usize = 2;

impl PodHandle {
    /// Connects to a port of the pod.
    ///
    /// ```no_run
    /// # async fn example(client: &evenkeel_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    ///
    /// let mut web = client.pod("shop", "web").connect(8080).await?;
    /// web.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    /// let mut answer = String::new();
    /// web.read_to_string(&mut answer).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It goes over a WebSocket, in version 4 of Kubernetes' channel protocol, which every
    /// server that still gets fixes understands. SPDY is not spoken.
    ///
    /// # Errors
    ///
    /// [`Error::Api`](crate::Error::Api) if the server refuses: no such pod, no permission.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives it up.
    pub async fn connect(&self, port: u16) -> Result<Tunnel> {
        let mut target = self.api.object(None, &self.name, Some("portforward"))?;
        target.add("ports", port);
        let socket = self
            .open_socket("forward a port of", target, &[Protocol::V4])
            .await?;
        Ok(Tunnel::new(socket))
    }
}

impl Tunnel {
    fn new(socket: Socket) -> Self {
        // One pipe for each direction would let the writer's end be told, which nobody hears.
        let (ours, theirs) = duplex(PIPE);
        let (read_half, write_half) = tokio::io::split(theirs);
        let (changed, errors) = watch::channel(Bytes::new());
        let (ended_tx, ended) = oneshot::channel();
        let incoming = |channel, receiver| Incoming {
            channel,
            skip: PORT_NUMBER,
            receiver,
        };
        let task = run(
            socket,
            Channels {
                incoming: vec![
                    incoming(DATA, Receiver::Pipe(Some(Box::new(write_half)))),
                    incoming(
                        ERRORS,
                        Receiver::Text {
                            text: BytesMut::new(),
                            changed,
                        },
                    ),
                ],
                outgoing: vec![Outgoing {
                    channel: DATA,
                    pipe: Box::new(read_half),
                }],
                messages: None,
                ended: ended_tx,
            },
        );
        Self {
            pipe: ours,
            errors,
            ended,
            is_over: false,
            _task: task,
        }
    }

    /// Why nothing more comes, if that is not how it should be.
    fn poll_failure(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Error>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let outcome = ready!(Pin::new(&mut self.ended).poll(cx));
        self.is_over = true;
        let text = self.errors.borrow();
        if !text.is_empty() {
            let text = String::from_utf8_lossy(&text).into_owned();
            return Poll::Ready(Some(io::Error::new(io::ErrorKind::ConnectionReset, text)));
        }
        let broken = outcome.ok().and_then(Result::err);
        Poll::Ready(broken.map(|error| io::Error::new(io::ErrorKind::ConnectionReset, error)))
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(cx, buffer))?;
        if buffer.filled().len() > before || buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        match ready!(self.poll_failure(cx)) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(cx)
    }
}
