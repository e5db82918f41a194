use std::time::Duration;

use evenkeel_pace::{Moment, TokenBucket};
use parking_lot::Mutex;
use tokio::time::Instant;

/// A token bucket that many requests wait at (client-go RC1).
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

    /// Waits for a token; answers how long that took.
    pub(super) async fn wait(&self) -> Duration {
        let now = Moment::from(self.origin.elapsed());
        let wait = self.bucket.lock().reserve(now);
        if wait > Duration::from_millis(50) {
            tracing::debug!(?wait, "waiting for the client's rate limit");
        }
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        wait
    }
}

impl std::fmt::Debug for Limiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limiter").finish_non_exhaustive()
    }
}
