//! The rules of each built-in kind.

use evenkeel_meta::{GroupVersionKind, Status, StatusCause};
use serde_json::Value;

use super::report::Report;
use super::{access, batch, config, metadata, networking, pod, pod_update, policy, service, storage, workloads};

/// Refuses (422) an object that breaks a rule of its kind; `old` is the object that it replaces.
pub(crate) fn validate(kind: &GroupVersionKind, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let causes = causes(kind, new, old);
    if causes.is_empty() {
        return Ok(());
    }
    let name = new.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(Status::invalid(kind, name, causes))
}

/// Each rule that an object breaks, in the order of the real server's answer.
pub(crate) fn causes(kind: &GroupVersionKind, new: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let mut report = Report::default();
    metadata::check(kind, new, old.is_none(), &mut report);
    let report = &mut report;
    match (&*kind.group, &*kind.kind) {
        ("", "Pod") => match old {
            None => pod::check(new, report),
            Some(old) => pod_update::check(new, old, report),
        },
        ("", "Service") => service::check(new, old, report),
        ("", "ConfigMap") => config::config_map(new, old, report),
        ("", "Secret") => config::secret(new, old, report),
        ("", "Namespace") => config::namespace(new, report),
        ("", "PersistentVolumeClaim") => storage::persistent_volume_claim(new, old, report),
        ("", "Event") => config::event(new, report),
        ("", "ReplicationController") => workloads::replication_controller(new, report),
        ("apps", "Deployment") => workloads::deployment(new, old, report),
        ("apps", "ReplicaSet") => workloads::replica_set(new, old, report),
        ("apps", "StatefulSet") => workloads::stateful_set(new, old, report),
        ("apps", "DaemonSet") => workloads::daemon_set(new, old, report),
        ("batch", "Job") => batch::job(new, old, report),
        ("batch", "CronJob") => batch::cron_job(new, report),
        ("coordination.k8s.io", "Lease") => config::lease(new, report),
        ("policy", "PodDisruptionBudget") => policy::disruption_budget(new, report),
        ("autoscaling", "HorizontalPodAutoscaler") => policy::autoscaler(new, report),
        ("scheduling.k8s.io", "PriorityClass") => policy::priority_class(new, old, report),
        ("discovery.k8s.io", "EndpointSlice") => networking::endpoint_slice(new, old, report),
        ("networking.k8s.io", "NetworkPolicy") => networking::network_policy(new, report),
        ("networking.k8s.io", "Ingress") => networking::ingress(new, report),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => access::role(kind, new, report),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => access::binding(kind, new, old, report),
        _ => {}
    }
    std::mem::take(report).into_causes()
}
