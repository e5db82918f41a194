//! Subresources with a shape of their own.

use evenkeel_meta::Status;

use crate::faults::Verb;
use crate::http::Reply;
use crate::verbs::Call;

/// Answers a call on a subresource other than `status`.
pub(crate) fn run(_verb: Verb, _call: &Call) -> Result<Reply, Status> {
    Err(Status::method_not_allowed())
}
