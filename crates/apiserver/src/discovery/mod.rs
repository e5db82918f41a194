//! What is served: versions, groups, resources, health and OpenAPI.

use std::sync::Arc;

use evenkeel_meta::Status;

use crate::http::{Reply, Request, Route};
use crate::server::State;
use crate::verbs::unknown_path;

/// Answers a request that is about no resource.
pub(crate) fn serve(
    _state: &Arc<State>,
    _route: &Route<'_>,
    request: &Request,
) -> Result<Reply, Status> {
    match request.path.as_str() {
        "/healthz" | "/livez" | "/readyz" => Ok(Reply::text("ok")),
        _ => Err(unknown_path()),
    }
}
