//! A getter's turn: from asking for a key to getting one.

use std::future::poll_fn;
use std::task::{Context, Poll};

use evenkeel_pace::Moment;
use tokio::time::timeout_at;

use super::item::Item;
use super::shared::Shared;
use super::state::{Found, Hand};
use super::sync::Arc;
use super::waiters::Wait;
use crate::Key;

/// A getter that looks or waits. Dropping it passes on the key or the timer that it was woken for.
pub(super) struct Turn<'a, K: Key> {
    shared: &'a Arc<Shared<K>>,
    place: Option<usize>,
}

enum Step<K> {
    Key(Hand<K>),
    End,
    /// Sleep until this moment at the latest, then look again.
    Sleep(Moment),
}

impl<'a, K: Key> Turn<'a, K> {
    pub(super) fn new(shared: &'a Arc<Shared<K>>) -> Self {
        Self {
            shared,
            place: None,
        }
    }

    pub(super) async fn get(mut self) -> Option<Item<K>> {
        let clock = self.shared.clock();
        let mut sleeping = None;
        loop {
            let look = poll_fn(|cx| self.poll(sleeping, cx));
            let step = match sleeping {
                None => look.await,
                Some(until) => match timeout_at(clock.instant(until), look).await {
                    Ok(step) => step,
                    Err(_) => {
                        sleeping = None;
                        continue;
                    }
                },
            };
            match step {
                Step::Key(hand) => return Some(Item::new(Arc::clone(self.shared), hand)),
                Step::End => return None,
                Step::Sleep(until) => sleeping = Some(until),
            }
        }
    }

    fn poll(&mut self, sleeping: Option<Moment>, cx: &Context<'_>) -> Poll<Step<K>> {
        let place = &mut self.place;
        match self.shared.look(place, sleeping, cx) {
            Found::Key(hand, waited) => {
                self.shared.observe_wait(waited);
                Poll::Ready(Step::Key(hand))
            }
            Found::End => Poll::Ready(Step::End),
            Found::Nothing(Wait::Until(due)) => Poll::Ready(Step::Sleep(due)),
            Found::Nothing(Wait::Asleep) => Poll::Pending,
        }
    }
}

impl<K: Key> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        if self.place.is_some() {
            let place = &mut self.place;
            self.shared.change(|state| state.leave(place));
        }
    }
}
