use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_observe::Metrics;
use evenkeel_pace::Rng;

use crate::ObjectReference;
use crate::correlator::{Correlator, SpamFilter};
use crate::event::{EventType, Occurrence, Source, cut};
use crate::intake::Intake;
use crate::metrics::{Stats, Tally};
use crate::writer::Writer;

/// The longest message, in bytes. A server sets no limit but that of a request, and refuses the whole event then.
const LONGEST_MESSAGE: usize = 16 * 1024;

/// Reports what happens to objects, as events that `kubectl describe` shows.
///
/// [`event`](Self::event) never blocks and never fails: a report goes into a bounded queue,
/// and one task writes what comes of it. Cloning is cheap; clones share the queue, the
/// correlation and the task, and so do the recorders of other components that
/// [`component`](Self::component) makes. Dropping the last of them ends the task;
/// [`shutdown`](Self::shutdown) first writes what is left.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Intake<Occurrence>>,
    source: Arc<Source>,
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
        let correlator = Correlator::new(options.spam);
        let intake = Intake::start(options.queue, Arc::clone(&tally), |reports, stop| {
            Writer::new(client, reports, correlator, tally, options.rng).run(stop)
        });
        Self {
            shared: Arc::new(intake),
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
    /// The object need not exist, but its namespace must; one without a namespace is reported in
    /// `default`. `reason` is one word in camel case, for programs; `message` is for people, and
    /// cut at 16 KiB. Returns at once. If the queue is full, or the recorder is shut down, the report is dropped and
    /// counted in [`stats`](Self::stats).
    pub fn event(
        &self,
        regarding: &ObjectReference,
        event_type: EventType,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.shared.report(Occurrence {
            regarding: regarding.clone(),
            event_type,
            reason: reason.into(),
            message: cut(message.into(), LONGEST_MESSAGE),
            source: Arc::clone(&self.source),
        });
    }

    /// What became of the reports so far, of all components together.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Takes no more reports, and writes those that were taken, trying each once (client-go
    /// E5). May be called by several at once, and again. What the server refused is no error here:
    /// [`stats`](Self::stats) counts it, and the log says why.
    ///
    /// # Errors
    /// If that takes longer than `limit`; the task is ended then.
    ///
    /// # Cancel safety
    /// Dropping the future does not undo the shutdown, and the task goes on writing.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Unwritten> {
        self.shared.shutdown(limit).await
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
