use std::collections::BTreeMap;

use evenkeel::meta::schema;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What a tenant is given.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "example.evenkeel.dev",
    version = "v1",
    kind = "Tenant",
    status = "TenantStatus",
    derive = "PartialEq",
    crates(kube_core = "kube_core"),
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].reason"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct TenantSpec {
    /// The names of its namespaces. One that is taken out of here is deleted, with all that is in
    /// it.
    #[schemars(schema_with = "names")]
    pub namespaces: Vec<String>,
    /// Who may do what in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// How much of each resource may be used in each namespace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities")]
    pub quota: BTreeMap<String, Quantity>,
    /// What a container gets that asks for nothing. With a quota of CPU or memory, one that asks
    /// for nothing is not let in without.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities")]
    pub container_defaults: BTreeMap<String, Quantity>,
    /// Whether only the tenant's own pods may connect to its pods.
    #[serde(default = "yes")]
    pub isolated: bool,
}

/// Somebody who works in a tenant's namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Whether it is one or many.
    pub kind: MemberKind,
    /// As the cluster's authentication calls it.
    pub name: String,
    /// What it may do.
    pub role: Role,
}

/// Whether a member is one or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MemberKind {
    /// One; a service account is the user `system:serviceaccount:NAMESPACE:NAME`.
    User,
    /// Many.
    Group,
}

/// The cluster's roles of these names.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// May also give roles to others.
    Admin,
    /// May change most things.
    Edit,
    /// May read most things, and no secret.
    View,
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantStatus {
    /// The generation that all of this is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Its namespaces, those that are on their way out included.
    #[serde(default)]
    pub namespaces: Vec<NamespaceStatus>,
    /// `Accepted`, `Ready`.
    #[serde(default)]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// One of a tenant's namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamespaceStatus {
    /// Its name.
    pub name: String,
    /// How it is.
    pub phase: Phase,
}

/// How a namespace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// It is the tenant's.
    Active,
    /// It was the tenant's and is on its way out.
    Terminating,
    /// It is somebody else's, and left alone.
    Taken,
}

fn yes() -> bool {
    true
}

fn names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "set",
        "minItems": 1,
        "maxItems": 64,
        "items": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
    })
}

fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "type": "string",
            "pattern": "^\\+?[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$",
        },
    })
}
