use std::time::Duration;

use evenkeel_pace::Backoff;

/// The bounds of a [`Reflector`](super::Reflector)'s patience. The defaults are client-go's,
/// where it has one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReflectorOptions {
    /// Whether to try a watch-list before a list.
    pub watch_list: bool,
    /// Objects per page of a list. `None` pages at 500 where the server reads its database, and
    /// asks for everything at once where it can answer from its cache (R10).
    pub page_size: Option<u32>,
    /// The least time after which the server shall end a watch; each watch draws from this to its
    /// double. Less than five minutes counts as five minutes (R15).
    pub min_watch_timeout: Duration,
    /// The least time from the start of one watch to the start of the next, so that a server that
    /// ends each at once is not asked in a hot loop (R18, ours).
    pub watch_spacing: Duration,
    /// How long a watch-list may go without an object before its marker is given up (WL8, ours).
    pub marker_wait: Duration,
    /// How waits after failures grow: 0.8 s, doubling to 30 s, each up to its double (R2).
    pub backoff: Backoff,
}

impl Default for ReflectorOptions {
    fn default() -> Self {
        Self {
            watch_list: true,
            page_size: None,
            min_watch_timeout: Duration::from_secs(300),
            watch_spacing: Duration::from_secs(1),
            marker_wait: Duration::from_secs(10),
            backoff: Backoff::new(Duration::from_millis(800), Duration::from_secs(30)).jitter(1.0),
        }
    }
}
