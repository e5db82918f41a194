use std::fmt;
use std::sync::Arc;

use evenkeel_pace::Moment;

/// The monotonic clock that terms are measured with.
///
/// The default, [`Clock::boot`], runs through a suspend of the machine. Timers do not, so
/// a leader on a laptop that slept or a VM that was paused would wake up with its timers
/// believing that no time has passed; the fence reads this clock instead.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl Clock {
    /// Time since boot, suspend included.
    ///
    /// Linux, Android: `CLOCK_BOOTTIME`. Apple: `CLOCK_MONOTONIC`, which runs through sleep
    /// there. Elsewhere: [`std::time::Instant`], which may stand still during suspend.
    #[must_use]
    pub fn boot() -> Self {
        Self(Arc::new(boot::now))
    }

    /// Tokio's clock: the one to use in tests that pause time.
    ///
    /// # Panics
    /// The returned clock panics when it is read outside a tokio runtime whose time is paused.
    #[must_use]
    pub fn tokio() -> Self {
        let origin = tokio::time::Instant::now();
        Self(Arc::new(move || Moment::from(origin.elapsed())))
    }

    /// Any other clock: it must never run backwards, nor slower than time by more than the
    /// fence's margin allows for.
    #[must_use]
    pub fn from_fn(now: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Moment {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::boot()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("now", &self.now()).finish()
    }
}

#[cfg(unix)]
mod boot {
    use std::time::Duration;

    use evenkeel_pace::Moment;
    use rustix::time::{ClockId, clock_gettime};

    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: ClockId = ClockId::Monotonic;

    pub(super) fn now() -> Moment {
        let time = clock_gettime(CLOCK);
        Moment::from(Duration::new(
            u64::try_from(time.tv_sec).unwrap_or_default(),
            u32::try_from(time.tv_nsec).unwrap_or_default(),
        ))
    }
}

#[cfg(not(unix))]
mod boot {
    use std::sync::OnceLock;
    use std::time::Instant;

    use evenkeel_pace::Moment;

    static ORIGIN: OnceLock<Instant> = OnceLock::new();

    #[expect(clippy::disallowed_methods, reason = "this is the boot-time clock")]
    pub(super) fn now() -> Moment {
        Moment::from(ORIGIN.get_or_init(Instant::now).elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_clock_runs_forward() {
        let clock = Clock::boot();
        let (a, b) = (clock.now(), clock.now());
        assert!(b >= a && a > Moment::from(std::time::Duration::ZERO));
    }
}
