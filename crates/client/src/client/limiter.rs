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
            let reservation = Reservation(self);
            tokio::time::sleep(wait).await;
            std::mem::forget(reservation);
        }
        wait
    }
}

/// A token that goes back if its waiter is dropped.
struct Reservation<'a>(&'a Limiter);

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.0.bucket.lock().give_back();
    }
}

impl std::fmt::Debug for Limiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limiter").finish_non_exhaustive()
    }
}
