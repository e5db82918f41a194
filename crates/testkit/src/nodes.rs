use std::fmt;
use std::time::Duration;

use evenkeel::{BoxError, Clock, Controller, Term};
use evenkeel_observe::Metrics;
use evenkeel_pace::ItemBackoff;
use evenkeel_store::{Informer, InformerOptions, Informers};

use crate::kubelet::Kubelet;
use crate::node;
use crate::pod::Pod;

/// A set of simulated nodes and the scheduler that binds pods to them.
///
/// See the [crate's documentation](crate).
pub struct Nodes {
    pods: Informer<Pod>,
    count: usize,
    start_delay: Duration,
    workers: usize,
    clock: Clock,
    metrics: Metrics,
}

impl Nodes {
    /// One node. It watches pods through `informers`, which the caller starts.
    #[must_use]
    pub fn new(informers: &Informers) -> Self {
        Self {
            pods: informers.typed(InformerOptions::default()),
            count: 1,
            start_delay: Duration::ZERO,
            workers: 64,
            clock: Clock::system(),
            metrics: Metrics::none(),
        }
    }

    /// How many nodes there are, at least one. Pods are spread evenly.
    #[must_use]
    pub fn count(mut self, count: usize) -> Self {
        self.count = count.max(1);
        self
    }

    /// How long a pod takes from its binding until it is ready.
    #[must_use]
    pub fn start_delay(mut self, delay: Duration) -> Self {
        self.start_delay = delay;
        self
    }

    /// The clock that start delays are measured by, and that conditions are stamped with. The
    /// machine's unless set.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Where the queue reports to.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Registers the nodes and runs pods until the term ends.
    ///
    /// # Errors
    ///
    /// When a node cannot be registered.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the nodes; pods stay as they are.
    pub async fn run(&self, term: Term) -> Result<(), BoxError> {
        let names: Vec<String> = (0..self.count)
            .map(|at| format!("simulated-{at}"))
            .collect();
        for name in &names {
            node::register(&term.client, name, self.clock.now()).await?;
        }
        let kubelet = Kubelet::new(
            self.pods.store().clone(),
            names,
            self.start_delay,
            self.clock,
        );
        Controller::builder("simulated-nodes")
            .for_(&self.pods)
            .concurrency(self.workers)
            // A node does not give up on a pod for long.
            .limiter(|| ItemBackoff::new(Duration::from_millis(5), Duration::from_secs(1)))
            .metrics(self.metrics.clone())
            .reconciler(kubelet)
            .run(term)
            .await?;
        Ok(())
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("count", &self.count)
            .field("start_delay", &self.start_delay)
            .finish_non_exhaustive()
    }
}
