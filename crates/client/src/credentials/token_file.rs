use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Secret, bearer_header};
use crate::config::file;
use crate::error::CredentialError;

/// A token is re-read when its copy is older than this: a minute less ten seconds.
const FRESH_FOR: Duration = Duration::from_secs(50);
/// The largest file that is read.
const LARGEST_FILE: u64 = 1 << 20;

/// A bearer token in a file that someone else renews.
pub(super) struct TokenFile {
    path: PathBuf,
    copy: Mutex<Copy>,
}

struct Copy {
    header: HeaderValue,
    /// `None` for a fallback that did not come from the file.
    read_at: Option<Instant>,
    /// One request reads the file, the others use the copy meanwhile.
    being_read: bool,
}

impl TokenFile {
    pub(super) fn open(path: PathBuf, fallback: Option<&Secret>) -> Result<Self, CredentialError> {
        let read = file::read_text(&path, LARGEST_FILE).map_err(|error| error.to_string());
        let (header, read_at) = match (parse(read), fallback) {
            (Ok(header), _) => (header, Some(Instant::now())),
            (Err(_), Some(token)) => (bearer_header(token)?, None),
            (Err(reason), None) => return Err(CredentialError::TokenFile { path, reason }),
        };
        Ok(Self {
            path,
            copy: Mutex::new(Copy {
                header,
                read_at,
                being_read: false,
            }),
        })
    }

    /// The token to send now.
    pub(super) async fn current(&self) -> HeaderValue {
        let claim = {
            let mut copy = self.copy.lock();
            let fresh = copy.read_at.is_some_and(|at| at.elapsed() < FRESH_FOR);
            if fresh || copy.being_read {
                return copy.header.clone();
            }
            copy.being_read = true;
            Claim(self)
        };
        self.read().await;
        drop(claim);
        self.copy.lock().header.clone()
    }

    /// Reads the file after the server refused `used`; whether there is another token now.
    pub(super) async fn replace(&self, used: Option<&HeaderValue>) -> bool {
        if Some(&self.copy.lock().header) != used {
            return true;
        }
        self.read().await;
        Some(&self.copy.lock().header) != used
    }

    /// Replaces the copy. What cannot be read or parsed leaves the last good one in use, and
    /// is tried again by the next request.
    async fn read(&self) {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || file::read_text(&path, LARGEST_FILE));
        let text = match read.await {
            Ok(text) => text.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match parse(text) {
            Ok(header) => {
                let mut copy = self.copy.lock();
                copy.header = header;
                copy.read_at = Some(Instant::now());
            }
            Err(reason) => {
                tracing::warn!(path = %self.path.display(), reason, "keeping the last token");
            }
        }
    }
}

fn parse(text: Result<String, String>) -> Result<HeaderValue, String> {
    let text = text?;
    match text.trim() {
        "" => Err("the file is empty".into()),
        token => bearer_header(&Secret::new(token)).map_err(|error| error.to_string()),
    }
}

/// The right to read the file; given back when the reader is done or was dropped.
struct Claim<'a>(&'a TokenFile);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.copy.lock().being_read = false;
    }
}

impl std::fmt::Debug for TokenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
