use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_observe::Metrics;
use evenkeel_pace::Rng;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::ObjectReference;
use crate::correlator::{Correlator, SpamFilter};
use crate::event::{EventType, Occurrence, Source};
use crate::metrics::{Stats, Tally};
use crate::writer::Writer;

/// Reports what happens to objects, as events that `kubectl describe` shows.
///
/// [`event`](Self::event) never blocks and never fails: a report goes into a bounded queue,
/// and one task writes what comes of it. Cloning is cheap; clones share the queue, the
/// correlation and the task, and so do the recorders of other components that
/// [`component`](Self::component) makes. Dropping the last of them ends the task;
/// [`shutdown`](Self::shutdown) first writes what is left.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    source: Arc<Source>,
}

struct Shared {
    intake: mpsc::Sender<Occurrence>,
    stop: CancellationToken,
    /// Closed when the task has ended.
    ended: watch::Receiver<()>,
    task: JoinHandle<()>,
    tally: Arc<Tally>,
}

/// How a recorder works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecorderOptions {
    /// How many reports may wait to be looked at; more are dropped (client-go E1). 1,000.
    pub queue: usize,
    /// How much one object may say.
    pub spam: SpamFilter,
    /// Where to report metrics.
    pub metrics: Metrics,
    /// What the jitter of retries is drawn from.
    pub rng: Rng,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self {
            queue: 1000,
            spam: SpamFilter::default(),
            metrics: Metrics::none(),
            rng: Rng::from_entropy(),
        }
    }
}

/// The time for a [`Recorder::shutdown`] was over before everything was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("events were left unwritten")]
pub struct Unwritten;

impl Recorder {
    /// A recorder that reports as `component`, such as `deployment-controller`, on `host`;
    /// the host is empty for what is not tied to a node.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    #[must_use]
    pub fn new(client: Client, component: impl Into<String>, host: impl Into<String>) -> Self {
        Self::with_options(client, component, host, RecorderOptions::default())
    }

    /// A recorder with other limits.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    #[must_use]
    pub fn with_options(
        client: Client,
        component: impl Into<String>,
        host: impl Into<String>,
        options: RecorderOptions,
    ) -> Self {
        let tally = Arc::new(Tally::new(&options.metrics));
        let (intake, receiver) = mpsc::channel(options.queue.max(1));
        let correlator = Correlator::new(options.spam);
        let writer = Writer::new(
            client,
            receiver,
            correlator,
            Arc::clone(&tally),
            options.rng,
        );
        let stop = CancellationToken::new();
        let (ending, ended) = watch::channel(());
        let told = stop.clone();
        let task = tokio::spawn(async move {
            writer.run(told).await;
            drop(ending);
        });
        Self {
            shared: Arc::new(Shared {
                intake,
                stop,
                ended,
                task,
                tally,
            }),
            source: Arc::new(Source {
                component: component.into(),
                host: host.into(),
            }),
        }
    }

    /// A recorder of another component on the same host, which shares everything with this one.
    #[must_use]
    pub fn component(&self, component: impl Into<String>) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            source: Arc::new(Source {
                component: component.into(),
                host: self.source.host.clone(),
            }),
        }
    }

    /// Reports that something happened to an object.
    ///
    /// `reason` is one word in camel case, for programs; `message` is for people. Returns at
    /// once. If the queue is full, or the recorder is shut down, the report is dropped and
    /// counted in [`stats`](Self::stats).
    pub fn event(
        &self,
        regarding: &ObjectReference,
        event_type: EventType,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) {
        let occurrence = Occurrence {
            regarding: regarding.clone(),
            event_type,
            reason: reason.into(),
            message: message.into(),
            source: Arc::clone(&self.source),
        };
        if self.shared.stop.is_cancelled() || self.shared.intake.try_send(occurrence).is_err() {
            self.shared.tally.drop_one();
        }
    }

    /// What became of the reports so far, of all components together.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.tally.stats()
    }

    /// Takes no more reports, and writes those that were taken, trying each once (client-go
    /// E5). May be called by several at once, and again.
    ///
    /// # Errors
    /// If that takes longer than `limit`; the task is ended then.
    ///
    /// # Cancel safety
    /// Dropping the future does not undo the shutdown, and the task goes on writing.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Unwritten> {
        self.shared.stop.cancel();
        let mut ended = self.shared.ended.clone();
        // Nothing is ever sent: the only change is the end.
        let result = timeout(limit, ended.changed()).await;
        result.map(drop).map_err(|_| {
            self.shared.task.abort();
            Unwritten
        })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("source", &self.source)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
