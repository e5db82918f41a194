//! What a collector asked the server for, by the server's own log.

use std::path::Path;

use evenkeel_e2e::audit;
use evenkeel_e2e::bench::stage::Maker;

/// Reads of single objects and writes, of the kinds that are collected here, since a moment.
///
/// The Go manager's controllers have users agents of their own; ours have not, but none of
/// the others reads or deletes single objects of a Deployment that is gone.
pub(crate) fn count(log: &Path, maker: Maker, since: &str) -> anyhow::Result<usize> {
    let is_collectors = |agent: &str| match maker {
        Maker::Evenkeel => agent.contains("evenkeel") && agent.contains("controller-manager"),
        Maker::Go => agent.contains("generic-garbage-collector"),
    };
    let requests = audit::read(log)?;
    let counted = requests.iter().filter(|request| {
        request.received.as_str() >= since
            && is_collectors(&request.user_agent)
            && matches!(request.verb.as_str(), "get" | "delete" | "patch")
            && matches!(
                request.resource.as_str(),
                "pods" | "replicasets" | "deployments" | "configmaps"
            )
    });
    Ok(counted.count())
}
