use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use evenkeel_pace::{Moment, Rng};

/// How often a write is tried (client-go E5, E6).
const TRIES: u32 = 12;
/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_secs(10);

/// How the pauses between tries are spread, so that clients of one server do not come back
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// The first is anything up to the pause (client-go E5).
    First,
    /// Each is up to a quarter longer (client-go E6).
    Each,
}

/// What is to be written, one entry a key. Sans-IO.
///
/// A write that fails is tried again later while others go on; a newer one of the same key
/// takes its place, for it says everything that the older one would have. So what is waiting
/// is bounded by the number of keys, however long the server is away.
#[derive(Debug)]
pub(crate) struct Outbox<K, W> {
    entries: HashMap<K, Entry<W>>,
    ready: VecDeque<K>,
    waiting: BTreeSet<(Moment, u64)>,
    /// Keys of what is waiting.
    tickets: HashMap<u64, K>,
    next_ticket: u64,
    spread: Spread,
    /// Whether every write is tried just once more.
    closing: bool,
}

#[derive(Debug)]
struct Entry<W> {
    write: W,
    tries: u32,
    /// Whether the write is newer than the one that is on its way.
    renewed: bool,
}

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is done, or will never be.
    Settled,
    /// It may work later.
    TryAgain,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is gone, or a newer one has taken its place.
    Done,
    /// It will be tried again.
    Kept,
    /// It was tried often enough.
    GivenUp,
}

impl<K: Clone + Eq + Hash, W: Clone> Outbox<K, W> {
    pub(crate) fn new(spread: Spread) -> Self {
        Self {
            entries: HashMap::new(),
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            tickets: HashMap::new(),
            next_ticket: 0,
            spread,
            closing: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes a write, in the place of an older one of the same key.
    pub(crate) fn put(&mut self, key: K, write: W) {
        match self.entries.get_mut(&key) {
            Some(entry) => {
                entry.write = write;
                entry.renewed = true;
            }
            None => {
                let entry = Entry {
                    write,
                    tries: 0,
                    renewed: false,
                };
                self.entries.insert(key.clone(), entry);
                self.ready.push_back(key);
            }
        }
    }

    /// The next write to start.
    pub(crate) fn next(&mut self, now: Moment) -> Option<(K, W)> {
        while let Some(&(at, ticket)) = self.waiting.first()
            && at <= now
        {
            self.waiting.pop_first();
            self.ready.extend(self.tickets.remove(&ticket));
        }
        let key = self.ready.pop_front()?;
        let entry = self.entries.get_mut(&key)?;
        entry.renewed = false;
        entry.tries += 1;
        let write = entry.write.clone();
        Some((key, write))
    }

    /// When [`next`](Self::next) has something again.
    pub(crate) fn wake_at(&self) -> Option<Moment> {
        self.waiting.first().map(|(at, _)| *at)
    }

    /// A write that was started has come to its end.
    pub(crate) fn finished(
        &mut self,
        key: K,
        outcome: Outcome,
        now: Moment,
        rng: &mut Rng,
    ) -> Verdict {
        let Some(entry) = self.entries.get_mut(&key) else {
            return Verdict::Done;
        };
        if outcome == Outcome::Settled && entry.renewed {
            entry.tries = 0;
            self.ready.push_back(key);
            return Verdict::Done;
        }
        if outcome == Outcome::Settled {
            self.entries.remove(&key);
            return Verdict::Done;
        }
        if self.closing || entry.tries >= TRIES {
            self.entries.remove(&key);
            return Verdict::GivenUp;
        }
        let pause = match (self.spread, entry.tries) {
            (Spread::First, 1) => rng.between(Duration::ZERO..PAUSE),
            (Spread::First, _) => PAUSE,
            (Spread::Each, _) => rng.jittered(PAUSE, 0.25),
        };
        self.next_ticket += 1;
        self.waiting.insert((now + pause, self.next_ticket));
        self.tickets.insert(self.next_ticket, key);
        Verdict::Kept
    }

    /// From now on everything is tried once, at once (client-go E5).
    pub(crate) fn close(&mut self) {
        self.closing = true;
        let waiting = std::mem::take(&mut self.waiting);
        for (_, ticket) in waiting {
            self.ready.extend(self.tickets.remove(&ticket));
        }
    }
}

#[cfg(test)]
mod tests;
