//! A record of what clients asked.

use std::collections::VecDeque;

use evenkeel_meta::Timestamp;
use http::Method;
use parking_lot::Mutex;

/// A request that the server has answered; a watch when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedRequest {
    /// The HTTP method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The query as it was sent, without its question mark.
    pub query: String,
    /// The User-Agent, empty if there was none.
    pub user_agent: String,
    /// Who asked.
    pub user: String,
    /// The HTTP status code of the answer.
    pub code: u16,
    /// When the answer was ready.
    pub at: Timestamp,
}

/// The last so many requests.
#[derive(Debug)]
pub(crate) struct RequestLog {
    capacity: usize,
    entries: Mutex<VecDeque<LoggedRequest>>,
}

impl RequestLog {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            entries: Mutex::new(VecDeque::new()),
        }
    }

    /// Whether there is any point in making an entry.
    pub(crate) fn is_on(&self) -> bool {
        self.capacity > 0
    }

    pub(crate) fn push(&self, entry: LoggedRequest) {
        let mut entries = self.entries.lock();
        if entries.len() == self.capacity {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    pub(crate) fn take(&self) -> Vec<LoggedRequest> {
        self.entries.lock().drain(..).collect()
    }
}
