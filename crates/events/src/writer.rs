//! The task that writes what was recorded.

mod send;

pub(crate) use self::send::{Sent, judge};

use std::sync::Arc;

use evenkeel_client::Client;
use evenkeel_meta::Timestamp;
use evenkeel_pace::{Moment, Rng};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::correlator::{Correlator, EventKey};
use crate::event::{Event, Occurrence};
use crate::metrics::Tally;
use crate::outbox::{Outbox, Outcome, Spread, Verdict};

/// How many writes may be on their way at once.
const FLYING: usize = 4;
/// How many events may wait to be written (client-go E1); the rest waits in the intake.
const WAITING: usize = 1000;

type Write = BoxFuture<'static, (Arc<EventKey>, Sent)>;

pub(crate) struct Writer {
    client: Client,
    intake: mpsc::Receiver<Occurrence>,
    correlator: Correlator,
    outbox: Outbox<Arc<EventKey>, Event>,
    flying: FuturesUnordered<Write>,
    tally: Arc<Tally>,
    origin: Instant,
    rng: Rng,
}

impl Writer {
    pub(crate) fn new(
        client: Client,
        intake: mpsc::Receiver<Occurrence>,
        correlator: Correlator,
        tally: Arc<Tally>,
        rng: Rng,
    ) -> Self {
        Self {
            client,
            intake,
            correlator,
            outbox: Outbox::new(Spread::First),
            flying: FuturesUnordered::new(),
            tally,
            origin: Instant::now(),
            rng,
        }
    }

    /// Writes until told to stop, then what is left, each once.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut intake_open = true;
        let mut stopping = false;
        while intake_open || !self.outbox.is_empty() {
            self.start_writes();
            let wake = self
                .outbox
                .wake_at()
                .map(|at| self.origin + at.since_origin());
            tokio::select! {
                biased;
                () = stop.cancelled(), if !stopping => {
                    stopping = true;
                    // What was reported before is taken in still; then the intake ends.
                    self.intake.close();
                    self.outbox.close();
                }
                Some((key, sent)) = self.flying.next() => self.finished(key, sent),
                occurrence = self.intake.recv(), if intake_open && self.outbox.len() < WAITING => {
                    match occurrence {
                        Some(occurrence) => self.correlate(&occurrence),
                        None => intake_open = false,
                    }
                }
                () = sleep_until(wake.unwrap_or(self.origin)), if wake.is_some() => {}
            }
        }
    }

    fn start_writes(&mut self) {
        let now = self.now();
        while self.flying.len() < FLYING
            && let Some((key, event)) = self.outbox.next(now)
        {
            let client = self.client.clone();
            self.flying.push(Box::pin(async move {
                let sent = send::write(&client, &event).await;
                (key, sent)
            }));
        }
    }

    fn correlate(&mut self, occurrence: &Occurrence) {
        let now = self.now();
        match self.correlator.correlate(occurrence, now, Timestamp::now()) {
            Some(correlated) => self.outbox.put(correlated.key, correlated.event),
            None => self.tally.filtered(),
        }
    }

    fn finished(&mut self, key: Arc<EventKey>, sent: Sent) {
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
