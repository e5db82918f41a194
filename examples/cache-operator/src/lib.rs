//! An operator of caches: a [`Cache`] becomes a ConfigMap, a Deployment and a Service.
//!
//! What is in it that an operator of one's own will need too:
//!
//! - a custom resource with a schema, a status and conditions ([`Cache`]);
//! - parts that are owned, shaped field by field so that what the server or others set stays
//!   ([`parts`]);
//! - a change of the configuration that rolls the pods (the hash of it is in the pod template);
//! - something outside the reach of owner references, a line in a directory, that a finalizer
//!   cleans up ([`directory`]);
//! - a status that says which generation it is of ([`status`]);
//! - what a user got wrong as a condition, and no retries until it is changed.
//!
//! What is decided is in pure functions, what is done in [`Caches`].

mod api;
pub mod directory;
pub mod parts;
mod reconciler;
pub mod status;

pub use api::{Cache, CacheSpec, CacheStatus, Eviction};
pub use reconciler::{Caches, FINALIZER, install};
