//! Custom resources: what a definition says, serving it, and its end.

mod definition;
mod lifecycle;
mod status;

pub(crate) use definition::Definition;
pub(crate) use lifecycle::{changed, finish_if_empty, refuse_if_terminating, terminate};
pub(crate) use status::{causes, no_status, prepare};

/// The resource of the definitions themselves.
pub(crate) const GROUP: &str = "apiextensions.k8s.io";
/// See [`GROUP`].
pub(crate) const PLURAL: &str = "customresourcedefinitions";
/// Holds a definition until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
