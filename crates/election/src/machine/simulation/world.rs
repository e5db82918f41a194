use std::fmt::Write as _;
use std::time::Duration;

use evenkeel_pace::Rng;

use super::agenda::Agenda;
use super::node::Node;
use super::server::Server;
use crate::machine::{Action, Failure, Input, Operation, Request, RequestId};
use crate::{Fence, Lease};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;
/// Faults begin before this, and end before `HEALED`.
const FAULTS: u64 = 80 * SECOND;
const HEALED: u64 = 110 * SECOND;
/// Long enough after that for a whole lease, on the slowest clock, and some attempts.
const END: u64 = HEALED + 40 * SECOND;

/// What kind of schedules to draw.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    /// Whether writes ask the fence, or only the machine's last word.
    pub(super) fence: bool,
    /// Whether a release believes what it read, or what was last observed.
    pub(super) check_release: bool,
    /// By how much the clocks' rates differ from 1 at most.
    pub(super) drift: f64,
    /// How long before the lease runs out the fence closes.
    pub(super) margin: Duration,
}

impl Schedule {
    pub(super) const SAFE: Self = Self {
        fence: true,
        check_release: true,
        drift: 0.05,
        margin: Duration::from_secs(3),
    };

    /// Nothing is left over that could hide a mistake: clocks of one rate, and no margin.
    pub(super) const SHARP: Self = Self {
        drift: 0.0,
        margin: Duration::ZERO,
        ..Self::SAFE
    };
}

enum Event {
    Tick {
        node: usize,
        tick: u64,
    },
    /// A request reaches the server.
    Arrival {
        node: usize,
        life: u64,
        id: RequestId,
        operation: Operation,
        answer: bool,
    },
    Answer {
        node: usize,
        life: u64,
        id: RequestId,
        result: Result<Lease, Failure>,
    },
    WatchOpen {
        node: usize,
        watch: u64,
    },
    WatchBreak {
        node: usize,
        watch: u64,
    },
    News {
        node: usize,
        watch: u64,
        lease: Lease,
    },
    /// The work of a node wants to write.
    Write {
        node: usize,
    },
    /// The work of a lost or ending term has been joined.
    Joined {
        node: usize,
        life: u64,
    },
    Campaign {
        node: usize,
        life: u64,
    },
    Stop {
        node: usize,
        length: u64,
    },
    Crash {
        node: usize,
    },
    Leave {
        node: usize,
    },
    Outage {
        length: u64,
    },
    Touch,
    /// A write of a leader's work reaches the server; it was based on this state of its object.
    Landing {
        writer: String,
        base: u64,
    },
}

/// All of it, and the queue of what happens when.
pub(super) struct World {
    schedule: Schedule,
    rng: Rng,
    now: u64,
    agenda: Agenda<Event>,
    nodes: Vec<Node>,
    server: Server,
    outage_until: u64,
    loss: f64,
    /// The state of the object that leaders' work writes.
    object: u64,
    tally: Tally,
    last_writes: u64,
    violation: Option<String>,
    log: Option<String>,
    steps: usize,
}

/// More events than any schedule has. Machines that make so many get nowhere.
const STEPS: usize = 200_000;

/// What came of the leaders' writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) schedules: u64,
    pub(super) terms: u64,
    /// Started, each in its holder's term.
    pub(super) writes: u64,
    /// Arrived in somebody else's term all the same.
    pub(super) late: u64,
    /// Of those, turned away since their object had changed.
    pub(super) caught: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.terms += other.terms;
        self.writes += other.writes;
        self.late += other.late;
        self.caught += other.caught;
    }
}

impl World {
    pub(super) fn new(schedule: Schedule, seed: u64) -> Self {
        let mut rng = Rng::seeded(seed);
        let count = 2 + rng.below(6) as usize;
        let nodes = (0..count)
            .map(|index| Node::new(index, schedule, &mut rng))
            .collect();
        let mut world = Self {
            schedule,
            now: 0,
            agenda: Agenda::default(),
            nodes,
            server: Server::default(),
            outage_until: 0,
            loss: [0.0, 0.02, 0.3][rng.below(3) as usize],
            rng,
            object: 0,
            tally: Tally::default(),
            last_writes: 0,
            violation: None,
            log: None,
            steps: 0,
        };
        world.draw_faults();
        world
    }

    /// Writes down what the machines say.
    pub(super) fn logged(mut self) -> Self {
        self.log = Some(String::new());
        self
    }

    fn draw_faults(&mut self) {
        for node in 0..self.nodes.len() {
            let at = self.rng.below(2 * SECOND);
            self.at(at, Event::Campaign { node, life: 1 });
        }
        for _ in 0..4 + self.rng.below(8) {
            let node = self.rng.below(self.nodes.len() as u64) as usize;
            let at = self.rng.below(FAULTS);
            let length = self.rng.below(30 * SECOND);
            let event = match self.rng.below(10) {
                0..4 => Event::Stop { node, length },
                4 => Event::Crash { node },
                5..7 => Event::Leave { node },
                7..9 => Event::Outage { length },
                _ => Event::Touch,
            };
            self.at(at, event);
        }
    }

    pub(super) fn run(&mut self) {
        while let Some((at, event)) = self.agenda.next() {
            if at > END || self.violation.is_some() {
                return;
            }
            self.now = at;
            self.happen(event);
        }
    }

    fn at(&mut self, at: u64, event: Event) {
        self.agenda.put(at, event);
    }

    fn after(&mut self, delay: u64, event: Event) {
        self.at(self.now + delay, event);
    }

    fn step(&mut self) {
        self.steps += 1;
        assert!(self.steps < STEPS, "the machines go round in circles");
    }

    fn happen(&mut self, event: Event) {
        self.step();
        if let Some(node) = self.stopped(&event) {
            let until = self.nodes[node].stopped_until;
            self.at(until, event);
            return;
        }
        match event {
            Event::Tick { node, tick } => {
                if self.nodes[node].tick == tick {
                    self.tell(node, Input::Tick);
                }
            }
            Event::Arrival {
                node,
                life,
                id,
                operation,
                answer,
            } => {
                let result = self.serve(&operation);
                if answer && !self.rng.chance(self.loss()) {
                    let delay = self.delay();
                    self.after(
                        delay,
                        Event::Answer {
                            node,
                            life,
                            id,
                            result,
                        },
                    );
                }
            }
            Event::Answer {
                node,
                life,
                id,
                result,
            } => {
                if self.nodes[node].life == life {
                    self.tell(
                        node,
                        Input::Answered {
                            request: id,
                            result,
                        },
                    );
                }
            }
            Event::WatchOpen { node, watch } => self.open_watch(node, watch),
            Event::WatchBreak { node, watch } => {
                if self.nodes[node].watch == watch && self.nodes[node].watching {
                    self.nodes[node].watching = false;
                    self.tell(node, Input::WatchClosed);
                    self.reopen_watch(node);
                }
            }
            Event::News { node, watch, lease } => {
                if self.nodes[node].watch == watch {
                    self.tell(node, Input::Seen(lease));
                }
            }
            Event::Write { node } => self.write(node),
            Event::Landing { writer, base } => self.land(&writer, base),
            Event::Joined { node, life } => {
                if self.nodes[node].life == life {
                    self.tell(node, Input::Resign);
                }
            }
            Event::Campaign { node, life } => {
                if self.nodes[node].life == life {
                    self.nodes[node].campaign(self.now, &mut self.rng);
                    self.reopen_watch(node);
                    self.tell(node, Input::Tick);
                }
            }
            Event::Stop { node, length } => self.nodes[node].stopped_until = self.now + length,
            Event::Crash { node } => {
                self.nodes[node].start(node, self.now, &mut self.rng);
                let (life, delay) = (self.nodes[node].life, self.rng.below(10 * SECOND));
                self.after(delay, Event::Campaign { node, life });
            }
            Event::Leave { node } => self.leave(node),
            Event::Outage { length } => self.outage_until = self.now + length,
            Event::Touch => {
                self.server.touch();
                self.publish();
            }
        }
    }

    /// The node that would have to act, if it stands still.
    fn stopped(&self, event: &Event) -> Option<usize> {
        let (Event::Tick { node, .. }
        | Event::Answer { node, .. }
        | Event::WatchBreak { node, .. }
        | Event::News { node, .. }
        | Event::Write { node }
        | Event::Joined { node, .. }
        | Event::Campaign { node, .. }
        | Event::Leave { node }) = event
        else {
            return None;
        };
        (self.nodes[*node].stopped_until > self.now).then_some(*node)
    }

    fn tell(&mut self, index: usize, input: Input) {
        let now = self.now;
        self.nodes[index].tell(now, input);
        while let Some(action) = self.nodes[index].machine.poll() {
            self.step();
            self.act(index, action);
        }
        if let Some(wake) = self.nodes[index].machine.wake_at() {
            let node = &mut self.nodes[index];
            node.tick += 1;
            let (at, tick) = (node.real(wake).max(now + 1), node.tick);
            self.at(at, Event::Tick { node: index, tick });
        }
    }

    fn act(&mut self, index: usize, action: Action) {
        let now = self.now;
        let node = &mut self.nodes[index];
        if let Some(log) = &mut self.log
            && !matches!(action, Action::Send(_) | Action::Renewed { .. })
        {
            let seconds = now as f64 / SECOND as f64;
            let _ = writeln!(log, "{seconds:9.3} {}: {action:?}", node.identity);
        }
        match action {
            Action::Send(request) => self.transmit(index, request),
            Action::Elected { fence, .. } => {
                node.fence = Some(Fence::until(fence, node.clock()));
                node.believes = true;
                self.work(index);
            }
            Action::Renewed { fence } => {
                if let Some(open) = &node.fence {
                    open.extend(fence);
                }
            }
            Action::Lost(_) => {
                if let Some(fence) = &node.fence {
                    fence.seal();
                }
                node.believes = false;
                let (life, delay) = (node.life, self.rng.below(5 * SECOND));
                self.after(delay, Event::Joined { node: index, life });
            }
            Action::RestartWatch => {
                node.watching = false;
                self.reopen_watch(index);
            }
            Action::Finished(_) => {
                let (life, delay) = (node.life, self.rng.below(4 * SECOND));
                self.after(delay, Event::Campaign { node: index, life });
            }
            Action::SlowPath | Action::LeaderChanged(_) | Action::HeldElsewhere(_) => {}
        }
    }

    /// The work ends, then the Lease is given back.
    fn leave(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        if let Some(fence) = &node.fence {
            fence.seal();
        }
        node.believes = false;
        self.tell(index, Input::Resign);
    }

    fn transmit(&mut self, node: usize, request: Request) {
        let Request { id, operation } = request;
        let life = self.nodes[node].life;
        let copies = 1 + u64::from(self.rng.chance(self.loss() / 2.0));
        for copy in 0..copies {
            if self.rng.chance(self.loss()) {
                continue;
            }
            let delay = self.delay();
            let (operation, answer) = (operation.clone(), copy == 0);
            self.after(
                delay,
                Event::Arrival {
                    node,
                    life,
                    id,
                    operation,
                    answer,
                },
            );
        }
    }

    fn serve(&mut self, operation: &Operation) -> Result<Lease, Failure> {
        if self.now < self.outage_until {
            return Err(Failure::Unanswered);
        }
        let result = self.server.apply(operation);
        if result.is_ok() && *operation != Operation::Get {
            self.publish();
        }
        result
    }

    fn publish(&mut self) {
        let Some(lease) = self.server.lease().cloned() else {
            return;
        };
        for node in 0..self.nodes.len() {
            // A watch loses nothing in the middle; a half-open one delivers nothing more.
            if self.nodes[node].watching {
                let watch = self.nodes[node].watch;
                if self.rng.chance(self.loss() / 10.0) {
                    self.nodes[node].watching = false;
                    continue;
                }
                let delay = self.delay();
                self.after(
                    delay,
                    Event::News {
                        node,
                        watch,
                        lease: lease.clone(),
                    },
                );
            }
        }
    }

    fn open_watch(&mut self, node: usize, watch: u64) {
        if self.nodes[node].watch != watch || self.now < self.outage_until {
            return;
        }
        self.nodes[node].watching = true;
        self.tell(node, Input::WatchOpened);
        if let Some(lease) = self.server.lease().cloned() {
            let delay = self.delay();
            self.after(delay, Event::News { node, watch, lease });
        }
        let lasts = 5 * SECOND + self.rng.below(300 * SECOND);
        self.after(lasts, Event::WatchBreak { node, watch });
    }

    fn reopen_watch(&mut self, node: usize) {
        self.nodes[node].watch += 1;
        let watch = self.nodes[node].watch;
        let delay = self.rng.below(3 * SECOND);
        self.after(delay, Event::WatchOpen { node, watch });
    }

    /// Work begins, if that of an earlier term is not still at it.
    fn work(&mut self, node: usize) {
        if !self.nodes[node].works {
            self.nodes[node].works = true;
            let delay = self.rng.below(1_000 * MILLI);
            self.after(delay, Event::Write { node });
        }
    }

    fn write(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let may_write = node.may_write(self.now, self.schedule.fence);
        node.works = node.believes || may_write;
        if node.works {
            let delay = 100 * MILLI + self.rng.below(900 * MILLI);
            self.after(delay, Event::Write { node: index });
        }
        if !may_write {
            return;
        }
        let node = &self.nodes[index];
        self.tally.writes += 1;
        self.last_writes += u64::from(self.now > END - 5 * SECOND);
        let (writer, base) = (node.identity.clone(), self.object);
        if writer != self.server.owner {
            let (at, owner) = (self.now as f64 / SECOND as f64, &self.server.owner);
            let what = format!("{writer} writes at {at:.3} in the term of {owner}");
            self.violation = Some(what);
        }
        let delay = self.delay();
        self.after(delay, Event::Landing { writer, base });
    }

    /// What was sent in time may arrive too late: then only its precondition is left.
    fn land(&mut self, writer: &str, base: u64) {
        let is_late = *writer != self.server.owner;
        let is_caught = base != self.object;
        if !is_caught {
            self.object += 1;
        }
        self.tally.late += u64::from(is_late);
        self.tally.caught += u64::from(is_late && is_caught);
    }

    fn loss(&self) -> f64 {
        if self.now < HEALED { self.loss } else { 0.0 }
    }

    /// Mostly quick; sometimes so late that the sender has given up long before.
    fn delay(&mut self) -> u64 {
        let slow = self.now < HEALED && self.rng.chance(self.loss);
        let most = if slow { 20 * SECOND } else { 80 * MILLI };
        MILLI + self.rng.below(most)
    }

    pub(super) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Whether somebody was leading at the end.
    pub(super) fn recovered(&self) -> bool {
        self.last_writes > 0
    }

    pub(super) fn tally(&self) -> Tally {
        Tally {
            schedules: 1,
            terms: self.server.terms,
            ..self.tally
        }
    }

    pub(super) fn log(&self) -> &str {
        self.log.as_deref().unwrap_or_default()
    }
}
