//! The synchronisation types of the front, in one place so that a model checker can stand in for them.

pub(super) use std::sync::Arc;

pub(super) use parking_lot::Mutex;
