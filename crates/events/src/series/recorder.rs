use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::Client;

use super::SeriesOccurrence;
use super::event::LONGEST_NOTE;
use super::writer::Writer;
use crate::event::cut;
use crate::intake::Intake;
use crate::metrics::{Stats, Tally};
use crate::{EventType, ObjectReference, RecorderOptions, Unwritten};

/// Reports what happens to objects, as events of `events.k8s.io/v1` (client-go E6).
///
/// As with [`Recorder`](crate::Recorder), [`event`](Self::event) never blocks and never fails,
/// everything is bounded, and one task writes. Cloning is cheap; dropping the last clone ends the
/// task; [`shutdown`](Self::shutdown) first writes what is left.
///
/// ```
/// use std::time::Duration;
///
/// use evenkeel_apiserver::Server;
/// use evenkeel_client::{Client, ListOptions};
/// use evenkeel_events::{EventType, ObjectReference, SeriesEvent, SeriesRecorder};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::from_service(Server::new());
/// let recorder = SeriesRecorder::new(client.clone(), "example.com/scheduler", "node-1");
/// let pod = ObjectReference {
///     api_version: "v1".into(),
///     kind: "Pod".into(),
///     namespace: "default".into(),
///     name: "web".into(),
///     ..ObjectReference::default()
/// };
/// for _ in 0..3 {
///     let note = "0/3 nodes are available";
///     recorder.event(&pod, None, EventType::Warning, "FailedScheduling", "Scheduling", note);
/// }
/// recorder.shutdown(Duration::from_secs(5)).await?;
/// let events = client.namespaced::<SeriesEvent>("default").list(&ListOptions::default()).await?;
/// assert_eq!(events.items[0].series.map(|series| series.count), Some(3));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SeriesRecorder {
    shared: Arc<Intake<SeriesOccurrence>>,
    controller: Arc<str>,
    instance: Arc<str>,
}

impl SeriesRecorder {
    /// A recorder of a controller, such as `example.com/my-controller`, on a host.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    #[must_use]
    pub fn new(client: Client, controller: &str, host: &str) -> Self {
        Self::with_options(client, controller, host, RecorderOptions::default())
    }

    /// A recorder with other limits. There is no spam filter.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    #[must_use]
    pub fn with_options(
        client: Client,
        controller: &str,
        host: &str,
        options: RecorderOptions,
    ) -> Self {
        let tally = Arc::new(Tally::new(&options.metrics));
        let intake = Intake::start(options.queue, Arc::clone(&tally), |reports, stop| {
            Writer::new(client, reports, tally, options.rng).run(stop)
        });
        Self {
            shared: Arc::new(intake),
            controller: controller.into(),
            instance: format!("{controller}-{host}").into(),
        }
    }

    /// Reports that something happened to an object.
    ///
    /// `reason` and `action` are words in camel case, for programs; `note` is for people, and cut
    /// at 1,024 bytes. Returns at once. If the queue is full, or the recorder is shut down, the
    /// report is dropped and counted in [`stats`](Self::stats).
    pub fn event(
        &self,
        regarding: &ObjectReference,
        related: Option<&ObjectReference>,
        event_type: EventType,
        reason: impl Into<String>,
        action: impl Into<String>,
        note: impl Into<String>,
    ) {
        self.shared.report(SeriesOccurrence {
            regarding: regarding.clone(),
            related: related.cloned(),
            event_type,
            reason: reason.into(),
            action: action.into(),
            note: cut(note.into(), LONGEST_NOTE),
            controller: Arc::clone(&self.controller),
            instance: Arc::clone(&self.instance),
        });
    }

    /// What became of the reports so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Takes no more reports, and writes those that were taken, trying each once. May be called
    /// by several at once, and again.
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

impl fmt::Debug for SeriesRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeriesRecorder")
            .field("controller", &self.controller)
            .field("instance", &self.instance)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
