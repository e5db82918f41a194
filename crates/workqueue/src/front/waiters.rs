//! Who waits for a key, and whom to wake.

use std::task::{Context, Waker};

use evenkeel_pace::Moment;

/// The getters that wait. One of them, the keeper, also sleeps until the next timer is due: so the queue needs no
/// task of its own, and one timer whatever the number of workers.
///
/// The rule that nothing is lost by: after each change, either a getter that was signalled and has not
/// looked yet is on its way for each key that is ready, or nobody waits. A getter that leaves, with a key
/// or because it was dropped, passes on what it leaves behind.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    places: Vec<Place>,
    free: Vec<usize>,
    /// Those who wait, the latest last. The latest is woken first: its worker is the warmest.
    idle: Vec<usize>,
    keeper: Option<Keeper>,
    signalled: usize,
    /// Those who wait for the end of all work.
    drainers: Vec<Waker>,
}

#[derive(Debug)]
enum Place {
    Free,
    /// Looking, or about to.
    Awake,
    Idle(Waker),
    Keeper(Option<Waker>),
    /// Was told to look.
    Signalled,
}

#[derive(Clone, Copy, Debug)]
struct Keeper {
    place: usize,
    until: Moment,
}

/// What a getter that found nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Wait to be woken.
    Asleep,
    /// Sleep until this moment at the latest, then look again; the waker is not kept.
    Until(Moment),
}

impl Waiters {
    /// A getter begins to wait: it gets a place.
    pub(super) fn enter(&mut self) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.places[place] = Place::Awake;
                place
            }
            None => {
                self.places.push(Place::Awake);
                self.places.len() - 1
            }
        }
    }

    /// A getter looks, told to or not.
    pub(super) fn look(&mut self, place: usize) {
        match self.places[place] {
            Place::Signalled => self.signalled -= 1,
            Place::Idle(_) => self.idle.retain(|idle| *idle != place),
            // A keeper stays one while it looks.
            Place::Keeper(_) => return,
            Place::Awake | Place::Free => {}
        }
        self.places[place] = Place::Awake;
    }

    /// A getter found nothing. `sleeping` is until when it sleeps already, `due` when the next timer is.
    pub(super) fn wait(
        &mut self,
        place: usize,
        due: Option<Moment>,
        sleeping: Option<Moment>,
        cx: &Context<'_>,
    ) -> Wait {
        let keeps = self.keeper.is_some_and(|keeper| keeper.place == place);
        match due {
            Some(due) if keeps || self.keeper.is_none() => {
                self.keeper = Some(Keeper { place, until: due });
                let is_set = sleeping == Some(due);
                self.places[place] = Place::Keeper(is_set.then(|| cx.waker().clone()));
                if is_set {
                    Wait::Asleep
                } else {
                    Wait::Until(due)
                }
            }
            _ => {
                if keeps {
                    self.keeper = None;
                }
                self.places[place] = Place::Idle(cx.waker().clone());
                self.idle.push(place);
                Wait::Asleep
            }
        }
    }

    /// A getter goes, with or without a key.
    pub(super) fn leave(&mut self, place: usize) {
        self.look(place);
        if self.keeper.is_some_and(|keeper| keeper.place == place) {
            self.keeper = None;
        }
        self.places[place] = Place::Free;
        self.free.push(place);
    }

    /// Whom to wake, given how many keys are ready and when the next timer is due. One is enough: whoever is
    /// woken asks again when it has looked.
    pub(super) fn rouse(&mut self, ready: usize, due: Option<Moment>) -> Option<Waker> {
        let unattended = due.is_some() && self.keeper.is_none();
        if ready + usize::from(unattended) > self.signalled
            && let Some(place) = self.idle.pop()
        {
            return self.signal(place);
        }
        let keeper = self.keeper.as_mut()?;
        if ready > self.signalled {
            let place = keeper.place;
            self.keeper = None;
            return self.signal(place);
        }
        let due = due.filter(|due| *due < keeper.until)?;
        keeper.until = due;
        match &self.places[keeper.place] {
            Place::Keeper(waker) => waker.clone(),
            _ => None,
        }
    }

    /// Whether a getter waits that was not told to look.
    pub(super) fn are_any(&self) -> bool {
        !self.idle.is_empty() || self.keeper.is_some()
    }

    /// Takes the wakers of all getters, to make them look.
    pub(super) fn rouse_all(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        self.keeper = None;
        self.idle.clear();
        for place in 0..self.places.len() {
            if matches!(self.places[place], Place::Idle(_) | Place::Keeper(_)) {
                wakers.extend(self.signal(place));
            }
        }
        wakers
    }

    /// Takes the wakers of those who wait for the end.
    pub(super) fn rouse_drainers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.drainers)
    }

    /// Keeps the waker of one who waits for the end.
    pub(super) fn wait_for_end(&mut self, cx: &Context<'_>) {
        if !self
            .drainers
            .iter()
            .any(|waker| waker.will_wake(cx.waker()))
        {
            self.drainers.push(cx.waker().clone());
        }
    }

    fn signal(&mut self, place: usize) -> Option<Waker> {
        self.signalled += 1;
        match std::mem::replace(&mut self.places[place], Place::Signalled) {
            Place::Idle(waker) => Some(waker),
            Place::Keeper(waker) => waker,
            Place::Free | Place::Awake | Place::Signalled => None,
        }
    }
}
