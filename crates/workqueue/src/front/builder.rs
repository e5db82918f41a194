//! How a queue is made.

use std::fmt;

use evenkeel_observe::Metrics;
use evenkeel_pace::{ItemBackoff, Limiter};

use super::queue::Queue;
use super::shared::Shared;
use super::state::{AnyLimiter, AnyOrder};
use super::sync::Arc;
use crate::{Key, Order, Priority};

/// Makes a [`Queue`]. Got from [`Queue::builder`].
#[must_use]
pub struct Builder<K> {
    name: Option<String>,
    order: AnyOrder<K>,
    limiter: AnyLimiter<K>,
    metrics: Metrics,
}

impl<K: Key + Send + 'static> Builder<K> {
    pub(super) fn new() -> Self {
        Self {
            name: None,
            order: Box::new(Priority::default()),
            limiter: Box::new(ItemBackoff::default()),
            metrics: Metrics::none(),
        }
    }

    /// The queue's name: the value of the label `name` of its metrics. A queue without a name has none.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// In which order ready keys are handed out. Default: [`Priority`], which is first come, first served as long
    /// as nobody gives a priority.
    pub fn order(mut self, order: impl Order<K> + Send + 'static) -> Self {
        self.order = Box::new(order);
        self
    }

    /// How long failed keys wait. Default: [`ItemBackoff`], 5 ms doubling to 1000 s.
    ///
    /// client-go adds a bucket over all keys. If you do too, a burst of failures of some keys delays the first failure of
    /// another, by the bucket's longest wait at most: a minute unless you say otherwise.
    ///
    /// ```
    /// use evenkeel_pace::{ItemBackoff, Limiter, TokenBucket};
    /// use evenkeel_workqueue::Queue;
    ///
    /// let limiter = ItemBackoff::default().max_of(TokenBucket::new(10.0, 100));
    /// let queue: Queue<String> = Queue::builder().limiter(limiter).build();
    /// ```
    pub fn limiter(mut self, limiter: impl Limiter<K> + Send + 'static) -> Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// Where the queue's metrics go. Default: nowhere.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Makes the queue. No task is started; no runtime is needed yet.
    #[must_use]
    pub fn build(self) -> Queue<K> {
        let shared = Arc::new(Shared::new(
            self.name,
            self.order,
            self.limiter,
            &self.metrics,
        ));
        shared.register(&self.metrics);
        Queue::new_shared(shared)
    }
}

impl<K> fmt::Debug for Builder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
