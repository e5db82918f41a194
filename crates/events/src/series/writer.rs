use std::sync::Arc;

use evenkeel_client::{Client, Patch, PatchOptions, WriteOptions};
use evenkeel_meta::Timestamp;
use evenkeel_pace::{Moment, Rng};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{SeriesCache, SeriesEvent, SeriesOccurrence};
use crate::metrics::Tally;
use crate::outbox::{Outbox, Outcome, Spread, Verdict};
use crate::writer::{Sent, judge};

/// How many writes may be on their way at once (client-go E6).
const FLYING: usize = 8;
/// How many events may wait to be written; the rest waits in the intake.
const WAITING: usize = 1000;

/// Namespace and name.
type Key = (String, String);
type Write = BoxFuture<'static, (Key, Sent)>;

pub(super) struct Writer {
    client: Client,
    intake: mpsc::Receiver<SeriesOccurrence>,
    cache: SeriesCache,
    outbox: Outbox<Key, SeriesEvent>,
    flying: FuturesUnordered<Write>,
    tally: Arc<Tally>,
    origin: Instant,
    rng: Rng,
}

impl Writer {
    pub(super) fn new(
        client: Client,
        intake: mpsc::Receiver<SeriesOccurrence>,
        tally: Arc<Tally>,
        rng: Rng,
    ) -> Self {
        Self {
            client,
            intake,
            cache: SeriesCache::new(Moment::ORIGIN),
            outbox: Outbox::new(Spread::Each),
            flying: FuturesUnordered::new(),
            tally,
            origin: Instant::now(),
            rng,
        }
    }

    /// Writes until told to stop, then what is left, each once.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut intake_open = true;
        let mut stopping = false;
        while intake_open || !self.outbox.is_empty() {
            self.start_writes();
            let due = self.cache.wake_at();
            let wake = self.outbox.wake_at().map_or(due, |at| at.min(due));
            tokio::select! {
                biased;
                () = stop.cancelled(), if !stopping => {
                    stopping = true;
                    self.intake.close();
                    self.outbox.close();
                }
                Some((key, sent)) = self.flying.next() => self.finished(key, sent),
                occurrence = self.intake.recv(), if intake_open && self.outbox.len() < WAITING => {
                    let writes = match occurrence {
                        Some(occurrence) => {
                            let now = self.now();
                            self.cache.report(&occurrence, now, Timestamp::now())
                        }
                        None => {
                            intake_open = false;
                            self.cache.close()
                        }
                    };
                    self.put(writes);
                }
                () = sleep_until(self.origin + wake.since_origin()) => {
                    let writes = self.cache.tick(self.now());
                    self.put(writes);
                }
            }
        }
    }

    fn put(&mut self, writes: Vec<SeriesEvent>) {
        for event in writes {
            let key = (event.namespace().to_owned(), event.metadata.name.clone());
            self.outbox.put(key, event);
        }
    }

    fn start_writes(&mut self) {
        let now = self.now();
        while self.flying.len() < FLYING
            && let Some((key, event)) = self.outbox.next(now)
        {
            let client = self.client.clone();
            self.flying.push(Box::pin(async move {
                let sent = write(&client, &event).await;
                (key, sent)
            }));
        }
    }

    fn finished(&mut self, key: Key, sent: Sent) {
        let outcome = match sent {
            Sent::Written | Sent::Refused => Outcome::Settled,
            Sent::Unknown => Outcome::TryAgain,
        };
        let now = self.now();
        let verdict = self.outbox.finished(key, outcome, now, &mut self.rng);
        match (sent, verdict) {
            (Sent::Written, _) => self.tally.written(),
            (Sent::Refused, _) | (Sent::Unknown, Verdict::GivenUp) => self.tally.failed(),
            (Sent::Unknown, Verdict::Done | Verdict::Kept) => {}
        }
    }

    fn now(&self) -> Moment {
        Moment::from(self.origin.elapsed())
    }
}

/// One try: a PATCH of the series if there is one, a POST otherwise or if the event is gone.
async fn write(client: &Client, event: &SeriesEvent) -> Sent {
    let api = client.namespaced::<SeriesEvent>(event.namespace());
    let name = &event.metadata.name;
    let about = (event.namespace(), name.as_str(), event.reason.as_str());
    if let Some(series) = &event.series {
        let patch = Patch::strategic(&json!({ "series": series }));
        match api.patch(name, &patch, &PatchOptions::default()).await {
            Err(error) if error.is_not_found() => {}
            result => return judge(result, about),
        }
    }
    match api.create(event, &WriteOptions::default()).await {
        // An earlier try has created it, without this count.
        Err(error) if error.is_already_exists() && event.series.is_some() => Sent::Unknown,
        result => judge(result, about),
    }
}
