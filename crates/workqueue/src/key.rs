//! What can be a key.

use std::hash::Hash;

/// What can be a key: anything that can be cloned, compared and hashed.
///
/// A key is cloned when it is handed out, so it should be cheap to clone: an integer, an `Arc<str>`, a small struct
/// of those. Cloning, comparing, hashing and dropping happen with the queue's lock held: none of them may call the
/// queue, and none should panic: the panic comes out of whichever call comes to work on the key, which may be that of
/// another worker. Implemented for every type that fits.
pub trait Key: Clone + Eq + Hash {}

impl<T: Clone + Eq + Hash> Key for T {}
