//! Several byte streams over one WebSocket.

use std::future::pending;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::future::{Either, join_all, select};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use super::socket::{Protocol, Socket};
use crate::transport::{TransportError, TransportErrorKind};

/// How much of a channel may wait for its reader, in bytes. When it is full, everything waits.
pub(super) const PIPE: usize = 64 << 10;
/// How much is sent in one message.
const CHUNK: usize = 16 << 10;
/// A quiet connection is pinged this often.
const PING_EVERY: Duration = Duration::from_secs(15);
/// A connection on which nothing arrives for so long is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// The channel number that, in version 5, names a channel that ends.
const CLOSE: u8 = 255;

/// The task that runs a connection. Dropping it ends the connection.
#[derive(Debug)]
pub(super) struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Where the messages of a channel go.
pub(super) enum Receiver {
    /// To a reader, piece by piece. `None` when that is gone: the rest is thrown away.
    Pipe(Option<Box<dyn AsyncWrite + Send + Unpin>>),
    /// To whoever wants the text as it grows; no more of it than [`LONGEST_TEXT`] is kept.
    Text {
        text: BytesMut,
        changed: tokio::sync::watch::Sender<Bytes>,
    },
}

/// No status and no error message is longer.
const LONGEST_TEXT: usize = 1 << 20;

/// One channel that the server writes to.
pub(super) struct Incoming {
    pub(super) channel: u8,
    /// How many bytes at its beginning are not for the receiver.
    pub(super) skip: usize,
    pub(super) receiver: Receiver,
}

/// One channel that is written to.
pub(super) struct Outgoing {
    pub(super) channel: u8,
    pub(super) pipe: Box<dyn AsyncRead + Send + Unpin>,
}

/// The ends of a connection's channels, on the connection's side.
pub(super) struct Channels {
    pub(super) incoming: Vec<Incoming>,
    pub(super) outgoing: Vec<Outgoing>,
    /// Whole messages, channel number and all.
    pub(super) messages: Option<mpsc::Receiver<Bytes>>,
    /// Told how the connection ended; never told when the task is dropped.
    pub(super) ended: tokio::sync::oneshot::Sender<Result<(), TransportError>>,
}

/// Starts the task that carries everything to and fro until the server ends the connection.
pub(super) fn run(socket: Socket, channels: Channels) -> Task {
    Task(tokio::spawn(carry(socket, channels)))
}

async fn carry(socket: Socket, channels: Channels) {
    let protocol = socket.protocol();
    let (to_server, from_server) = socket.into_stream().split();
    let (queue, queued) = mpsc::channel(4);
    let reading = Box::pin(read(from_server, channels.incoming));
    let writing = Box::pin(async {
        let inputs = channels
            .outgoing
            .into_iter()
            .map(|outgoing| feed(outgoing, protocol, queue.clone()));
        let inputs = join_all(inputs);
        let messages = forward(channels.messages, queue.clone());
        let sending = send(to_server, queued);
        let fed = futures_util::future::join(inputs, messages);
        match select(Box::pin(sending), Box::pin(fed)).await {
            Either::Left(((), _)) => {}
            // Everything was said; pings go on.
            Either::Right((_, sending)) => sending.await,
        }
    });
    // What cannot be written shows as an end or an error of reading.
    let outcome = match select(reading, writing).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(((), reading)) => reading.await,
    };
    let _ = channels.ended.send(outcome);
}

/// Takes messages apart until the connection ends.
async fn read(
    mut from_server: impl futures_core::Stream<Item = Result<Message, WsError>> + Unpin,
    mut channels: Vec<Incoming>,
) -> Result<(), TransportError> {
    loop {
        let Ok(message) = timeout(SILENCE, from_server.next()).await else {
            return Err(TransportError::timeout("sign of life", SILENCE));
        };
        match message {
            None | Some(Err(WsError::ConnectionClosed)) => return Ok(()),
            Some(Err(error)) => return Err(broken(error)),
            Some(Ok(Message::Binary(message))) => deliver(message, &mut channels).await,
            Some(Ok(Message::Text(text))) => deliver(text.into(), &mut channels).await,
            Some(Ok(
                Message::Close(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_),
            )) => {}
        }
    }
}

fn broken(error: WsError) -> TransportError {
    let kind = match &error {
        WsError::Io(_) | WsError::AlreadyClosed => TransportErrorKind::Closed,
        WsError::Protocol(
            tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
        ) => TransportErrorKind::Closed,
        _ => TransportErrorKind::Protocol,
    };
    TransportError::new(kind, error)
}

async fn deliver(mut message: Bytes, channels: &mut Vec<Incoming>) {
    if message.is_empty() {
        return;
    }
    let number = message.split_to(1)[0];
    if let (CLOSE, Some(&ended)) = (number, message.first()) {
        channels.retain(|incoming| incoming.channel != ended);
        return;
    }
    let Some(incoming) = channels.iter_mut().find(|own| own.channel == number) else {
        return;
    };
    let skipped = incoming.skip.min(message.len());
    incoming.skip -= skipped;
    let message = message.split_off(skipped);
    match &mut incoming.receiver {
        Receiver::Pipe(pipe) => {
            if let Some(reader) = pipe
                && reader.write_all(&message).await.is_err()
            {
                *pipe = None;
            }
        }
        Receiver::Text { text, changed } => {
            let room = LONGEST_TEXT.saturating_sub(text.len());
            text.extend_from_slice(&message[..message.len().min(room)]);
            changed.send_replace(Bytes::copy_from_slice(text));
        }
    }
}

/// Reads what the caller writes, and says so when that ends, if the protocol can.
async fn feed(mut outgoing: Outgoing, protocol: Protocol, queue: mpsc::Sender<Bytes>) {
    loop {
        let mut message = BytesMut::with_capacity(CHUNK + 1);
        message.put_u8(outgoing.channel);
        match outgoing.pipe.read_buf(&mut message).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if queue.send(message.freeze()).await.is_err() {
            return;
        }
    }
    if protocol == Protocol::V5 {
        let close = Bytes::copy_from_slice(&[CLOSE, outgoing.channel]);
        let _ = queue.send(close).await;
    }
}

async fn forward(messages: Option<mpsc::Receiver<Bytes>>, queue: mpsc::Sender<Bytes>) {
    let Some(mut messages) = messages else {
        return;
    };
    while let Some(message) = messages.recv().await {
        if queue.send(message).await.is_err() {
            return;
        }
    }
}

/// Sends what is queued, and pings. Ends when the connection cannot be written to.
async fn send(
    mut to_server: impl futures_util::Sink<Message, Error = WsError> + Unpin,
    mut queued: mpsc::Receiver<Bytes>,
) {
    let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    loop {
        let next = async {
            match queued.recv().await {
                Some(message) => Message::Binary(message),
                None => pending().await,
            }
        };
        let message = match select(std::pin::pin!(next), std::pin::pin!(ping.tick())).await {
            Either::Left((message, _)) => message,
            Either::Right(_) => Message::Ping(Bytes::new()),
        };
        if to_server.send(message).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
