//! In which order ready keys are handed out.

mod chain;
mod classes;
mod fair;
mod fifo;
mod priority;

pub use fair::Fair;
pub use fifo::Fifo;
pub use priority::Priority;

use crate::Id;

/// With more than this many ids, memory is given back when nothing is in.
const KEPT: usize = 1024;

/// In which order ready keys are handed out.
///
/// An order is a container of [`Id`]s. The queue pushes an id at most once until it comes out again, so an order
/// need not look for duplicates. It is called with the queue's lock held: it must be quick and must not call
/// the queue. Nor should it panic: the add that it panics at is lost, and the panic comes out of whichever call comes to
/// work on it, which may be that of a worker. Other keys are not concerned.
pub trait Order<K> {
    /// A key became ready. Higher priorities are more urgent.
    fn push(&mut self, id: Id, key: &K, priority: i32);

    /// A key that came out before and was held back goes in again, ahead of its equals: it has waited its turn.
    fn push_first(&mut self, id: Id, key: &K, priority: i32);

    /// The priority of a key that is in was raised.
    fn raise(&mut self, id: Id, key: &K, priority: i32);

    /// Takes out the key that is next.
    fn pop(&mut self) -> Option<Id>;

    /// Called when nothing is in and the queue knows no key any more: memory may be given back.
    fn shrink(&mut self) {}
}

impl<K, O: Order<K> + ?Sized> Order<K> for Box<O> {
    fn push(&mut self, id: Id, key: &K, priority: i32) {
        (**self).push(id, key, priority);
    }

    fn push_first(&mut self, id: Id, key: &K, priority: i32) {
        (**self).push_first(id, key, priority);
    }

    fn raise(&mut self, id: Id, key: &K, priority: i32) {
        (**self).raise(id, key, priority);
    }

    fn pop(&mut self) -> Option<Id> {
        (**self).pop()
    }

    fn shrink(&mut self) {
        (**self).shrink();
    }
}

#[cfg(test)]
mod tests;
