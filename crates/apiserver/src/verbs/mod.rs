//! The verbs: from a routed request to an answer.

mod call;
mod create;
mod delete;
mod delete_collection;
mod dispatch;
mod get;
mod list;
mod patch;
mod reviews;
mod subresources;
mod update;
mod watch;
mod write;

pub(crate) use call::Call;
pub(crate) use dispatch::{dispatch, unknown_path};
