use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use super::idle_limited;
use crate::error::{DecodeError, Result};
use crate::transport::{ByteStream, TransportError};

/// No answer that is read whole may be larger; lists and watches are not read whole.
const LARGEST_BODY: usize = 128 << 20;
/// No `Status` is larger; what is longer is cut.
const LARGEST_ERROR_BODY: usize = 1 << 20;

/// Reads a body to its end. `subject` names the request.
pub(super) async fn read_whole(
    body: ByteStream,
    idle: std::time::Duration,
    subject: &(dyn std::fmt::Display + Sync),
) -> Result<Bytes> {
    let named = |error: TransportError| error.during(&subject.to_string());
    let mut body = idle_limited(body, idle);
    // Most answers come in one chunk, which needs no copy.
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
            return Err(DecodeError::new(format!("the answer to {subject}"), &reason).into());
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

/// Reads what there is of an error's body. One that breaks off or falls silent is used as far
/// as it came: the code says enough.
pub(super) async fn read_error(body: ByteStream, idle: std::time::Duration) -> Bytes {
    let mut body = idle_limited(body, idle);
    let mut text = BytesMut::new();
    while let Some(Ok(chunk)) = body.next().await {
        let room = LARGEST_ERROR_BODY.saturating_sub(text.len());
        text.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if room <= chunk.len() {
            break;
        }
    }
    text.freeze()
}
