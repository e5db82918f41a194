//! What a tenant consists of, as configurations to apply.
//!
//! Each holds the fields that this operator wants and no others. Server-side apply leaves all
//! others to whoever has set them, and takes away what an earlier configuration had and this one
//! has not: a resource that is no longer in the quota, a member that has left.

use std::collections::BTreeMap;

use evenkeel::meta::{MetaMut, MetaView, OwnershipError};
use k8s_openapi::api::core::v1::{
    LimitRange, LimitRangeItem, LimitRangeSpec, Namespace, ResourceQuota, ResourceQuotaSpec,
};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicySpec,
};
use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use crate::api::{MemberKind, Role, Tenant};

/// Everything that this operator makes carries this label. In namespaces it watches nothing else.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "tenant-operator");
/// The label with the name of the tenant, on everything that is the tenant's.
pub const TENANT: &str = "example.evenkeel.dev/tenant";

const NAME: &str = "tenant";
const RBAC: &str = "rbac.authorization.k8s.io";
const LONGEST_LABEL: usize = 63;

/// The name of a tenant does not fit into a label, by which its pods find each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a tenant's name has at most {LONGEST_LABEL} characters")]
pub struct NameTooLong;

/// Whether there can be such a tenant at all.
///
/// # Errors
/// There cannot.
pub fn check(tenant: &Tenant) -> Result<(), NameTooLong> {
    match tenant.metadata.name().len() {
        ..=LONGEST_LABEL => Ok(()),
        _ => Err(NameTooLong),
    }
}

/// What makes an object a part of a tenant: the labels and the owner. A name is to be added.
///
/// # Errors
/// The tenant was not read from a server.
pub fn marks(tenant: &Tenant) -> Result<ObjectMeta, OwnershipError> {
    let labels = [MANAGED_BY, (TENANT, tenant.metadata.name())];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut marks = ObjectMeta {
        labels: Some(labels.into()),
        ..ObjectMeta::default()
    };
    marks.set_controller(tenant)?;
    Ok(marks)
}

/// A namespace as it is created: the name and the owner. The rest is applied.
#[must_use]
pub fn claim(name: &str, marks: &ObjectMeta) -> Namespace {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    namespace.metadata.owner_references = marks.owner_references.clone();
    namespace
}

/// What a namespace shall have. It is for the one that was seen and no later one of its name: an
/// apply with a UID makes nothing anew.
#[must_use]
pub fn namespace(seen: &Namespace, marks: &ObjectMeta) -> Namespace {
    let metadata = ObjectMeta {
        name: seen.metadata.name.clone(),
        uid: seen.metadata.uid.clone(),
        ..marks.clone()
    };
    Namespace {
        metadata,
        ..Namespace::default()
    }
}

/// The NetworkPolicy keeps others' pods out.
#[must_use]
pub fn policy(place: &str, tenant: &Tenant, marks: &ObjectMeta) -> Option<NetworkPolicy> {
    let own = LabelSelector {
        match_labels: Some([(TENANT.to_owned(), tenant.metadata.name().to_owned())].into()),
        ..LabelSelector::default()
    };
    let peer = NetworkPolicyPeer {
        namespace_selector: Some(own),
        ..NetworkPolicyPeer::default()
    };
    let rule = NetworkPolicyIngressRule {
        from: Some(vec![peer]),
        ..NetworkPolicyIngressRule::default()
    };
    tenant.spec.isolated.then(|| NetworkPolicy {
        metadata: inside(place, NAME, marks),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector::default()),
            policy_types: Some(vec!["Ingress".to_owned()]),
            ingress: Some(vec![rule]),
            ..NetworkPolicySpec::default()
        }),
    })
}

/// The ResourceQuota bounds what is used.
#[must_use]
pub fn quota(place: &str, tenant: &Tenant, marks: &ObjectMeta) -> Option<ResourceQuota> {
    let hard = &tenant.spec.quota;
    (!hard.is_empty()).then(|| ResourceQuota {
        metadata: inside(place, NAME, marks),
        spec: Some(ResourceQuotaSpec {
            hard: Some(hard.clone()),
            ..ResourceQuotaSpec::default()
        }),
        ..ResourceQuota::default()
    })
}

/// The LimitRange speaks for containers that do not say what they need.
#[must_use]
pub fn limits(place: &str, tenant: &Tenant, marks: &ObjectMeta) -> Option<LimitRange> {
    let defaults = &tenant.spec.container_defaults;
    let item = || LimitRangeItem {
        type_: "Container".to_owned(),
        default: Some(defaults.clone()),
        default_request: Some(defaults.clone()),
        ..LimitRangeItem::default()
    };
    (!defaults.is_empty()).then(|| LimitRange {
        metadata: inside(place, NAME, marks),
        spec: Some(LimitRangeSpec {
            limits: vec![item()],
        }),
    })
}

/// A RoleBinding for each role that somebody has. What a binding's role is can never be changed,
/// so the role is in the name.
#[must_use]
pub fn bindings(place: &str, tenant: &Tenant, marks: &ObjectMeta) -> Vec<RoleBinding> {
    let mut roles = BTreeMap::<Role, Vec<Subject>>::new();
    for member in &tenant.spec.members {
        let kind = match member.kind {
            MemberKind::User => "User",
            MemberKind::Group => "Group",
        };
        roles.entry(member.role).or_default().push(Subject {
            api_group: Some(RBAC.to_owned()),
            kind: kind.to_owned(),
            name: member.name.clone(),
            namespace: None,
        });
    }
    let binding = |(role, subjects): (Role, Vec<Subject>)| {
        let role = match role {
            Role::Admin => "admin",
            Role::Edit => "edit",
            Role::View => "view",
        };
        RoleBinding {
            metadata: inside(place, &format!("{NAME}-{role}"), marks),
            role_ref: RoleRef {
                api_group: Some(RBAC.to_owned()),
                kind: "ClusterRole".to_owned(),
                name: role.to_owned(),
            },
            subjects: Some(subjects),
        }
    };
    roles.into_iter().map(binding).collect()
}

fn inside(place: &str, name: &str, marks: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(place.to_owned()),
        ..marks.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tenant(spec: serde_json::Value) -> Tenant {
        Tenant::new("acme", serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn there_is_no_part_for_what_is_not_asked_for() {
        let marks = ObjectMeta::default();
        let bare = tenant(json!({"namespaces": ["a"], "isolated": false}));
        assert_eq!(quota("a", &bare, &marks), None);
        assert_eq!(limits("a", &bare, &marks), None);
        assert_eq!(policy("a", &bare, &marks), None);
        assert_eq!(bindings("a", &bare, &marks), []);
    }

    #[test]
    fn each_role_that_somebody_has_is_one_binding() {
        let member = |name: &str, role: &str| json!({"kind": "User", "name": name, "role": role});
        let members = [
            member("eve", "view"),
            member("ada", "admin"),
            member("bob", "view"),
        ];
        let tenant = tenant(json!({"namespaces": ["a"], "members": members}));
        let bindings = bindings("a", &tenant, &ObjectMeta::default());
        let told = bindings.iter().map(|binding| {
            let subjects = binding.subjects.iter().flatten();
            let names: Vec<_> = subjects.map(|subject| &*subject.name).collect();
            (
                binding.metadata.name(),
                &*binding.role_ref.name,
                names.join(" "),
            )
        });
        let expected = [
            ("tenant-admin", "admin", "ada".to_owned()),
            ("tenant-view", "view", "eve bob".to_owned()),
        ];
        assert!(told.eq(expected));
    }

    #[test]
    fn a_name_that_is_no_label_is_refused() {
        let mut tenant = tenant(json!({"namespaces": ["a"]}));
        tenant.metadata.name = Some("a".repeat(63));
        assert_eq!(check(&tenant), Ok(()));
        tenant.metadata.name = Some("a".repeat(64));
        assert_eq!(check(&tenant), Err(NameTooLong));
    }
}
