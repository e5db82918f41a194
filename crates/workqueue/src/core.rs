//! Each key at most once in the line, and with at most one worker.

use crate::interner::{Interner, State};
use crate::{Added, Id, Key, Order};

/// A key is dirty when there is work for it that nobody has started, and processing while a worker has it.
///
/// Adding a key that is dirty changes nothing. Adding one that is processing marks it dirty; it goes in line only when
/// its worker is done, so no two workers ever have the same key.
///
/// A parked key is not handed out. It keeps its place in line; if its turn comes while it is parked, it is held
/// back and goes first when it is released.
#[derive(Debug)]
pub(crate) struct Core<K, O> {
    keys: Interner<K>,
    order: O,
    /// Keys with work that nobody has started, those that a worker has now included.
    dirty: usize,
    processing: usize,
    /// Keys that a worker has and that are dirty again.
    reruns: usize,
    /// Keys in the order.
    in_line: usize,
    /// Keys in the order that are parked.
    parked_in_line: usize,
    adds: u64,
    closed: bool,
}

const DIRTY: u8 = 1;
const PROCESSING: u8 = 1 << 1;
const IN_LINE: u8 = 1 << 2;
const PARKED: u8 = 1 << 3;
/// A timer refers to the key.
const DELAYED: u8 = 1 << 4;

impl State {
    fn is(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn is_idle(self) -> bool {
        self.flags == 0
    }
}

impl<K: Key, O: Order<K>> Core<K, O> {
    pub(crate) fn new(order: O) -> Self {
        Self {
            keys: Interner::new(),
            order,
            dirty: 0,
            processing: 0,
            reruns: 0,
            in_line: 0,
            parked_in_line: 0,
            adds: 0,
            closed: false,
        }
    }

    pub(crate) fn add(&mut self, key: K, priority: i32) -> Added {
        if self.closed {
            return Added::Refused;
        }
        let id = self.keys.intern(key);
        self.mark(id, priority)
    }

    pub(crate) fn add_ref(&mut self, key: &K, priority: i32) -> Added {
        if self.closed {
            return Added::Refused;
        }
        let id = self.keys.intern_ref(key);
        self.mark(id, priority)
    }

    /// Marks a known key dirty.
    pub(crate) fn mark(&mut self, id: Id, priority: i32) -> Added {
        let state = self.keys.state_mut(id);
        if state.is(DIRTY) {
            if priority > state.priority {
                state.priority = priority;
                if state.is(IN_LINE) {
                    self.order.raise(id, self.keys.key(id), priority);
                }
            }
            return Added::Merged;
        }
        if state.is(PROCESSING) {
            self.reruns += 1;
        } else {
            self.enter_line(id, priority);
        }
        let state = self.keys.state_mut(id);
        state.flags |= DIRTY;
        state.priority = priority;
        self.dirty += 1;
        self.adds += 1;
        Added::Marked(id)
    }

    /// Hands out the key that is next, with its priority.
    pub(crate) fn take(&mut self) -> Option<(Id, i32)> {
        // While only parked keys are in line they keep their places.
        while self.runnable() > 0 {
            let id = self.order.pop()?;
            self.in_line -= 1;
            let state = self.keys.state_mut(id);
            state.flags &= !IN_LINE;
            if state.is(PARKED) {
                self.parked_in_line -= 1;
                continue;
            }
            state.flags = state.flags & !DIRTY | PROCESSING;
            self.dirty -= 1;
            self.processing += 1;
            return Some((id, state.priority));
        }
        None
    }

    /// A worker is done with a key: it goes in line again if it is dirty.
    pub(crate) fn done(&mut self, id: Id) {
        let state = self.keys.state_mut(id);
        if !state.is(PROCESSING) {
            return;
        }
        state.flags &= !PROCESSING;
        self.processing -= 1;
        let state = *state;
        if state.is(DIRTY) {
            self.reruns -= 1;
            self.enter_line(id, state.priority);
        } else {
            self.free_if_idle(id);
        }
    }

    /// Keeps a key out of workers' hands until it is unparked.
    pub(crate) fn park(&mut self, key: &K) -> Id {
        let id = self.keys.intern_ref(key);
        let state = self.keys.state_mut(id);
        if !state.is(PARKED) && state.is(IN_LINE) {
            self.parked_in_line += 1;
        }
        state.flags |= PARKED;
        id
    }

    pub(crate) fn unpark(&mut self, id: Id) {
        let state = self.keys.state_mut(id);
        if !state.is(PARKED) {
            return;
        }
        state.flags &= !PARKED;
        let state = *state;
        if state.is(IN_LINE) {
            self.parked_in_line -= 1;
        } else if state.is(DIRTY) && !state.is(PROCESSING) {
            self.keys.state_mut(id).flags |= IN_LINE;
            self.in_line += 1;
            self.order.push_first(id, self.keys.key(id), state.priority);
        } else {
            self.free_if_idle(id);
        }
    }

    /// Keeps a key known for a timer; says nothing about work. `None` if the queue is shutting down.
    pub(crate) fn retain(&mut self, key: K) -> Option<Id> {
        if self.closed {
            return None;
        }
        let id = self.keys.intern(key);
        self.keys.state_mut(id).flags |= DELAYED;
        Some(id)
    }

    /// The timer has fired: there is work now.
    pub(crate) fn release_and_mark(&mut self, id: Id, priority: i32) -> Added {
        self.keys.state_mut(id).flags &= !DELAYED;
        self.mark(id, priority)
    }

    /// The timer was dropped.
    pub(crate) fn release(&mut self, id: Id) {
        self.keys.state_mut(id).flags &= !DELAYED;
        self.free_if_idle(id);
    }

    /// Refuses adds from now on. What is in line is still handed out.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Drops all work that nobody has started, and says how many keys had some.
    pub(crate) fn discard(&mut self) -> usize {
        while self.order.pop().is_some() {}
        (self.in_line, self.parked_in_line, self.reruns) = (0, 0, 0);
        let discarded = std::mem::take(&mut self.dirty);
        let ids: Vec<Id> = self.keys.ids().collect();
        for id in ids {
            self.keys.state_mut(id).flags &= !(DIRTY | IN_LINE);
            self.free_if_idle(id);
        }
        discarded
    }

    pub(crate) fn find(&self, key: &K) -> Option<Id> {
        self.keys.find(key)
    }

    /// Whether a worker has the key and there is more work for it already.
    pub(crate) fn reruns(&self, key: &K) -> bool {
        self.find(key).is_some_and(|id| {
            let state = self.keys.state(id);
            state.is(PROCESSING) && state.is(DIRTY)
        })
    }

    pub(crate) fn key(&self, id: Id) -> &K {
        self.keys.key(id)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// How many keys are ready and not parked.
    pub(crate) fn runnable(&self) -> usize {
        self.in_line - self.parked_in_line
    }

    /// How many keys have work that nobody has started.
    pub(crate) fn dirty(&self) -> usize {
        self.dirty
    }

    /// How many keys are with a worker.
    pub(crate) fn processing(&self) -> usize {
        self.processing
    }

    /// How many keys wait for a worker: dirty ones without those that a worker has now.
    pub(crate) fn len(&self) -> usize {
        self.dirty - self.reruns
    }

    /// How many keys are known, for whatever reason.
    pub(crate) fn known(&self) -> usize {
        self.keys.len()
    }

    /// How many adds found new work.
    pub(crate) fn adds(&self) -> u64 {
        self.adds
    }

    fn enter_line(&mut self, id: Id, priority: i32) {
        // An order is foreign code: if it panics, the key is not in line, and nothing here says that it is.
        self.order.push(id, self.keys.key(id), priority);
        let state = self.keys.state_mut(id);
        state.flags |= IN_LINE;
        let is_parked = state.is(PARKED);
        self.in_line += 1;
        self.parked_in_line += usize::from(is_parked);
    }

    fn free_if_idle(&mut self, id: Id) {
        if !self.keys.state(id).is_idle() {
            return;
        }
        self.keys.retire(id);
        if self.keys.len() == 0 {
            self.order.shrink();
        }
    }
}
