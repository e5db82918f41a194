//! The recorder of events that everything in a Manager shares, made when it is first asked for.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_events::{Recorder, RecorderOptions};
use evenkeel_observe::Metrics;

/// How long events may take to be written after everything else has stopped.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// See the [module](self).
#[derive(Clone)]
pub(crate) struct Recorders(Arc<Inner>);

struct Inner {
    /// Not fenced: that something ended is said afterwards.
    client: Client,
    metrics: Metrics,
    shared: OnceLock<Recorder>,
}

impl Recorders {
    pub(crate) fn new(client: Client, metrics: Metrics) -> Self {
        Self(Arc::new(Inner {
            client,
            metrics,
            shared: OnceLock::new(),
        }))
    }

    pub(crate) fn of(&self, component: &str) -> Recorder {
        let shared = self.0.shared.get_or_init(|| {
            let mut options = RecorderOptions::default();
            options.metrics = self.0.metrics.clone();
            Recorder::with_options(self.0.client.clone(), component, "", options)
        });
        shared.component(component)
    }

    /// Writes what is left, if there was anything to write, and ends the task.
    pub(crate) async fn shutdown(&self) {
        if let Some(shared) = self.0.shared.get()
            && let Err(error) = shared.shutdown(LAST_EVENTS).await
        {
            tracing::warn!(%error, "Stopping with events that were not written");
        }
    }
}

/// The recorder of one component, made when it is first asked for.
pub(crate) struct OwnRecorder {
    pub(crate) recorders: Recorders,
    pub(crate) component: String,
    pub(crate) made: OnceLock<Recorder>,
}

impl OwnRecorder {
    pub(crate) fn get(&self) -> &Recorder {
        self.made.get_or_init(|| self.recorders.of(&self.component))
    }
}
