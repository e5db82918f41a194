//! The rules of each kind.

use evenkeel_meta::{GroupVersionKind, StatusCause};
use serde_json::Value;

use super::report::Report;
use super::{
    access, batch, config, constraints, metadata, networking, pod, pod_update, policy, service,
    storage, workloads,
};
use crate::schema::{Origin, Schema};

/// Each rule that an object breaks, in the order of the real server's answer; `old` is the object
/// that it replaces. Of metadata, what holds for finalizers, owners and identity is not among them.
pub(crate) fn causes(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let mut report = Report::default();
    metadata::check(schema.kind(), new, old.is_none(), &mut report);
    match schema.origin() {
        Origin::BuiltIn => built_in(schema.kind(), new, old, &mut report),
        Origin::Custom => constraints::check(schema, new, &mut report),
    }
    report.into_causes()
}

fn built_in(kind: &GroupVersionKind, new: &Value, old: Option<&Value>, report: &mut Report) {
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
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            access::binding(kind, new, old, report);
        }
        _ => {}
    }
}
