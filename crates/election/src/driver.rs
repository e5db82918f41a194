//! Carries out what the machine asks for.

mod exchange;
mod watch;

use std::sync::Arc;

use evenkeel_meta::Timestamp;
use evenkeel_pace::{Moment, Rng};
use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use self::exchange::Leases;
use self::watch::LeaseWatch;
use crate::Lease;
use crate::elector::Settings;
use crate::machine::{Action, Failure, Input, LossCause, Machine, Now, RequestId, Resignation};

/// The machine's turning points, for those who drive a whole term.
#[derive(Debug)]
pub(crate) enum Turn {
    Elected { fence: Moment, transitions: i32 },
    Renewed { fence: Moment },
    Lost(LossCause),
    Finished(Resignation),
}

/// One campaign and at most one term: the machine, its request in flight, and its watch.
pub(crate) struct Driver {
    machine: Machine,
    settings: Arc<Settings>,
    leases: Leases,
    watch: LeaseWatch,
    exchange: Option<Exchange>,
}

struct Exchange {
    id: RequestId,
    answer: BoxFuture<'static, Result<Lease, Failure>>,
}

impl Driver {
    pub(crate) fn new(settings: &Arc<Settings>, mut rng: Rng) -> Self {
        let leases = Leases::new(&settings.client, &settings.candidate, settings.lock);
        let watch = LeaseWatch::new(leases.clone(), &settings.candidate.timing, rng.fork());
        let now = settings.clock.now();
        Self {
            machine: Machine::new(settings.candidate.clone(), rng, now),
            settings: Arc::clone(settings),
            leases,
            watch,
            exchange: None,
        }
    }

    /// Goes on to the next turning point.
    ///
    /// Cancel safe: everything in flight is kept in the driver.
    pub(crate) async fn next(&mut self) -> Turn {
        loop {
            while let Some(action) = self.machine.poll() {
                if let Some(turn) = self.carry_out(action) {
                    return turn;
                }
            }
            let input = self.wait().await;
            self.handle(input);
        }
    }

    /// Gives up the campaign, or the Lease: [`next`](Self::next) then comes to
    /// [`Turn::Finished`].
    pub(crate) fn resign(&mut self) {
        self.handle(Input::Resign);
    }

    fn handle(&mut self, input: Input) {
        let now = Now {
            moment: self.settings.clock.now(),
            wall: Timestamp::now(),
        };
        self.machine.handle(now, input);
    }

    fn carry_out(&mut self, action: Action) -> Option<Turn> {
        match action {
            Action::Send(request) => {
                self.exchange = Some(Exchange {
                    id: request.id,
                    answer: self.leases.carry_out(request.operation),
                });
            }
            Action::RestartWatch => self.watch.restart(),
            Action::SlowPath => self.settings.meters.slow_path.inc(),
            Action::LeaderChanged(leader) => {
                let transitions = self.machine.transitions();
                self.settings.meters.transitions.set(transitions.into());
                self.settings.report_leader(leader);
            }
            Action::HeldElsewhere(holder) => self.settings.report_elsewhere(&holder),
            Action::Elected { fence, transitions } => {
                return Some(Turn::Elected { fence, transitions });
            }
            Action::Renewed { fence } => return Some(Turn::Renewed { fence }),
            Action::Lost(cause) => return Some(Turn::Lost(cause)),
            Action::Finished(how) => return Some(Turn::Finished(how)),
        }
        None
    }

    async fn wait(&mut self) -> Input {
        let awaited = self.machine.awaiting();
        self.exchange = self
            .exchange
            .take()
            .filter(|exchange| Some(exchange.id) == awaited);
        let wake = self
            .machine
            .wake_at()
            .map(|wake| Instant::now() + (wake - self.settings.clock.now()));
        tokio::select! {
            // An answer that is there already counts before the time that has passed since.
            biased;
            input = answer(&mut self.exchange) => input,
            input = self.watch.next() => input,
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => Input::Tick,
        }
    }
}

/// The answer to the request in flight; never, if there is none.
async fn answer(exchange: &mut Option<Exchange>) -> Input {
    let Some(Exchange { id, answer }) = exchange else {
        return std::future::pending().await;
    };
    let result = answer.await;
    let request = *id;
    *exchange = None;
    Input::Answered { request, result }
}
