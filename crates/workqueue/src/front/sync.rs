//! The synchronisation types of the front, in one place so that a model checker can stand in for them.

pub(super) use std::sync::Arc;

#[cfg(not(all(test, loom)))]
pub(super) use {
    parking_lot::{Mutex, MutexGuard},
    std::sync::atomic::{AtomicBool, Ordering},
};

#[cfg(all(test, loom))]
pub(super) use {
    checked::Mutex,
    loom::sync::{
        MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

/// Under the model checker the lock is its own: each acquisition is a point where threads may change.
#[cfg(all(test, loom))]
mod checked {
    use loom::sync::{Mutex as Checked, MutexGuard};

    pub(crate) struct Mutex<T>(Checked<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(Checked::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }
}
