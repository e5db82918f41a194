//! The trait of keyed limiters, and its combinators.

use std::time::Duration;

use crate::Moment;

/// Says how long a key waits before it is tried again.
///
/// Implementations are called with a queue's lock held: they must be quick and must not call the queue.
pub trait Limiter<K: ?Sized> {
    /// How long to wait before `key` is tried again. Each call counts as one more failure of the key.
    fn when(&mut self, key: &K, now: Moment) -> Duration;

    /// Forgets the failures of `key`: it succeeded, or nobody will try it again.
    fn forget(&mut self, key: &K);

    /// How many failures of `key` count at present.
    fn failures(&self, key: &K) -> u32;

    /// This limiter with every delay cut to `longest`.
    fn capped(self, longest: Duration) -> Capped<Self>
    where
        Self: Sized,
    {
        Capped {
            inner: self,
            longest,
        }
    }

    /// The larger delay of this limiter and `other`.
    fn max_of<L>(self, other: L) -> MaxOf<Self, L>
    where
        Self: Sized,
        L: Limiter<K>,
    {
        MaxOf(self, other)
    }
}

impl<K: ?Sized, L: Limiter<K> + ?Sized> Limiter<K> for Box<L> {
    fn when(&mut self, key: &K, now: Moment) -> Duration {
        (**self).when(key, now)
    }

    fn forget(&mut self, key: &K) {
        (**self).forget(key);
    }

    fn failures(&self, key: &K) -> u32 {
        (**self).failures(key)
    }
}

/// Asks both limiters and takes the larger delay and the larger count of failures.
///
/// client-go's default for controllers is this, of [`ItemBackoff`](crate::ItemBackoff) and
/// [`TokenBucket`](crate::TokenBucket):
///
/// ```
/// use evenkeel_pace::{ItemBackoff, Limiter, Moment, TokenBucket};
///
/// let mut limiter = ItemBackoff::<String>::default().max_of(TokenBucket::new(10.0, 100));
/// # let _ = limiter.when(&"key".to_owned(), Moment::ORIGIN);
/// ```
#[derive(Clone, Debug)]
pub struct MaxOf<A, B>(pub A, pub B);

impl<K: ?Sized, A: Limiter<K>, B: Limiter<K>> Limiter<K> for MaxOf<A, B> {
    fn when(&mut self, key: &K, now: Moment) -> Duration {
        // Both are asked, always: each keeps its own count.
        let (a, b) = (self.0.when(key, now), self.1.when(key, now));
        a.max(b)
    }

    fn forget(&mut self, key: &K) {
        self.0.forget(key);
        self.1.forget(key);
    }

    fn failures(&self, key: &K) -> u32 {
        self.0.failures(key).max(self.1.failures(key))
    }
}

/// Cuts the delays of another limiter. Made by [`Limiter::capped`].
#[derive(Clone, Debug)]
pub struct Capped<L> {
    inner: L,
    longest: Duration,
}

impl<K: ?Sized, L: Limiter<K>> Limiter<K> for Capped<L> {
    fn when(&mut self, key: &K, now: Moment) -> Duration {
        self.inner.when(key, now).min(self.longest)
    }

    fn forget(&mut self, key: &K) {
        self.inner.forget(key);
    }

    fn failures(&self, key: &K) -> u32 {
        self.inner.failures(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FastSlow, ItemBackoff, TokenBucket};

    const NOW: Moment = Moment::ORIGIN;

    #[test]
    fn client_go_rl2_default_is_the_larger_of_item_and_bucket() {
        let mut limiter = ItemBackoff::default().max_of(TokenBucket::new(10.0, 100));
        for key in 0..100 {
            assert_eq!(limiter.when(&key, NOW), Duration::from_millis(5));
        }
        assert_eq!(limiter.when(&100, NOW), Duration::from_millis(100));
        assert_eq!(limiter.failures(&100), 1);
    }

    #[test]
    fn client_go_rl4_ts66_max_of_takes_the_largest_delay_and_count() {
        let fast = FastSlow::new(Duration::from_millis(5), Duration::from_secs(3), 3);
        let item = ItemBackoff::new(Duration::from_millis(1), Duration::from_secs(1));
        let mut limiter = fast.max_of(item);
        let delays: Vec<_> = (0..5)
            .map(|_| limiter.when(&"a", NOW).as_millis())
            .collect();
        assert_eq!(delays, [5, 5, 5, 3000, 3000]);
        assert_eq!(limiter.failures(&"a"), 5);
        limiter.forget(&"a");
        assert_eq!(limiter.failures(&"a"), 0);
        assert_eq!(limiter.when(&"a", NOW), Duration::from_millis(5));
    }

    #[test]
    fn client_go_rl4_ts66_a_cap_clamps_the_inner_delay() {
        let mut limiter = ItemBackoff::new(Duration::from_secs(1), Duration::from_secs(1000))
            .capped(Duration::from_secs(3));
        let delays: Vec<_> = (0..4).map(|_| limiter.when(&"a", NOW).as_secs()).collect();
        assert_eq!(delays, [1, 2, 3, 3]);
        assert_eq!(
            limiter.failures(&"a"),
            4,
            "the cap hides nothing from the count"
        );
        let boxed: &mut dyn Limiter<&str> = &mut Box::new(limiter);
        boxed.forget(&"a");
        assert_eq!(
            (boxed.failures(&"a"), boxed.when(&"a", NOW)),
            (0, Duration::from_secs(1))
        );
    }
}
