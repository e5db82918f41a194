use std::time::Duration;

use evenkeel_pace::{Backoff, Moment, Rng};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Slows all requests of a client down while its server says that it is overloaded: after an
/// answer of 429 or 5xx nothing is sent for a while, which doubles with each further one, and
/// the first good answer ends it.
///
/// client-go keeps this for each request apart, where it acts only between the tries of that
/// one (RC14); here the client and its clones share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverloadBackoff {
    /// The first pause.
    pub base: Duration,
    /// The longest.
    pub cap: Duration,
}

impl OverloadBackoff {
    /// Pauses from `base`, doubled, up to `cap`.
    #[must_use]
    pub const fn new(base: Duration, cap: Duration) -> Self {
        Self { base, cap }
    }

    /// What client-go's variables say, in whole seconds.
    pub(crate) fn from_variables(get: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let seconds = |name: &str| {
            let seconds: u64 = get(name)?.trim().parse().ok()?;
            (seconds > 0).then(|| Duration::from_secs(seconds))
        };
        let base = seconds("KUBE_CLIENT_BACKOFF_BASE")?;
        Some(Self::new(base, seconds("KUBE_CLIENT_BACKOFF_DURATION")?))
    }
}

/// How the server of a client does, as far as its answers tell.
pub(crate) struct Overload {
    state: Mutex<State>,
    origin: Instant,
}

struct State {
    backoff: Backoff,
    rng: Rng,
    /// Nothing is sent before.
    free: Moment,
}

impl Overload {
    pub(crate) fn new(options: OverloadBackoff) -> Self {
        let origin = Instant::now();
        Self {
            state: Mutex::new(State {
                backoff: Backoff::new(options.base, options.cap),
                rng: Rng::seeded(0),
                free: Moment::from(Duration::ZERO),
            }),
            origin,
        }
    }

    /// Waits until something may be sent.
    pub(super) async fn pass(&self) {
        loop {
            let free = self.state.lock().free.since_origin();
            if free <= self.origin.elapsed() {
                return;
            }
            tokio::time::sleep_until(self.origin + free).await;
        }
    }

    pub(super) fn answered(&self, code: http::StatusCode) {
        let now = Moment::from(self.origin.elapsed());
        let mut state = self.state.lock();
        let State { backoff, rng, free } = &mut *state;
        if code == http::StatusCode::TOO_MANY_REQUESTS || code.is_server_error() {
            // Answers to what was sent before the pause began say nothing new.
            if *free <= now {
                *free = now + backoff.next(rng);
            }
        } else {
            backoff.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rc14_the_variables_need_each_other() {
        let with = |variables: &'static [(&str, &str)]| {
            let get = |name: &str| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            OverloadBackoff::from_variables(get)
        };
        const BASE: (&str, &str) = ("KUBE_CLIENT_BACKOFF_BASE", "1");
        const CAP: (&str, &str) = ("KUBE_CLIENT_BACKOFF_DURATION", "120");
        let both = OverloadBackoff::new(Duration::from_secs(1), Duration::from_secs(120));
        assert_eq!(with(&[BASE, CAP]), Some(both));
        assert_eq!(with(&[BASE]), None);
        assert_eq!(with(&[CAP]), None);
        assert_eq!(with(&[("KUBE_CLIENT_BACKOFF_BASE", "0"), CAP]), None);
        assert_eq!(with(&[("KUBE_CLIENT_BACKOFF_BASE", "x"), CAP]), None);
    }
}
