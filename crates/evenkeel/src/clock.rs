use evenkeel_meta::Timestamp;
use tokio::time::Instant;

/// The wall clock that controllers read, or one that a test moves.
///
/// Deadlines that live in objects (`minReadySeconds`, `progressDeadlineSeconds`) are measured in
/// wall-clock time, which a test cannot wait for.
///
/// ```
/// use evenkeel::Clock;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
/// tokio::time::sleep(Duration::from_secs(3600)).await; // at once: tokio's clock is paused
/// assert_eq!(clock.now().to_string(), "2026-01-01T01:00:00Z");
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    simulated: Option<Simulated>,
}

#[derive(Clone, Copy, Debug)]
struct Simulated {
    origin: Timestamp,
    started: Instant,
}

impl Clock {
    /// The machine's wall clock.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// Shows `origin` now, and goes on with tokio's clock: where that is paused, it stands still
    /// and jumps with it.
    #[must_use]
    pub fn simulated(origin: Timestamp) -> Self {
        Self {
            simulated: Some(Simulated {
                origin,
                started: Instant::now(),
            }),
        }
    }

    /// What the clock shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.simulated {
            None => Timestamp::now(),
            Some(Simulated { origin, started }) => origin.saturating_add(started.elapsed()),
        }
    }
}
