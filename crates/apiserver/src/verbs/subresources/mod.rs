//! Subresources with a shape of their own.

mod binding;
mod eviction;
mod scale;
mod token;

use evenkeel_meta::Status;
use serde_json::{Value, json};

use super::{Call, update};
use crate::faults::Verb;
use crate::http::{Reply, status_json};
use crate::resources::Subresource;

/// Answers a call on a subresource other than `status`.
pub(super) fn run(verb: Verb, call: &Call) -> Result<Reply, Status> {
    match (call.subresource, verb) {
        (Some(Subresource::Scale), Verb::Get) => scale::get(call),
        (Some(Subresource::Scale), Verb::Update) => scale::update(call),
        (Some(Subresource::Scale), Verb::Patch) => scale::patch(call),
        (Some(Subresource::Finalize), Verb::Update) => update::update(call),
        (Some(Subresource::Binding), Verb::Create) => binding::create(call),
        (Some(Subresource::Eviction), Verb::Create) => eviction::create(call),
        (Some(Subresource::Token), Verb::Create) => token::create(call),
        _ => Err(Status::method_not_allowed()),
    }
}

/// The answer of subresources that have nothing to tell.
fn success() -> Reply {
    let status = Status {
        status: "Success".into(),
        ..Status::default()
    };
    let mut value: Value = status_json(&status);
    value["code"] = json!(201);
    Reply::value(201, &value)
}
