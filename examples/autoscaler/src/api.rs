use evenkeel::meta::schema;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube_derive::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// How many pods a Deployment is to have, by a number from somewhere else.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "example.evenkeel.dev",
    version = "v1",
    kind = "Autoscaler",
    namespaced,
    status = "AutoscalerStatus",
    derive = "PartialEq",
    crates(kube_core = "kube_core"),
    printcolumn = r#"{"name": "Target", "type": "string", "jsonPath": ".spec.deployment"}"#,
    printcolumn = r#"{"name": "Replicas", "type": "integer", "jsonPath": ".status.replicas"}"#,
    printcolumn = r#"{"name": "Asked", "type": "integer", "jsonPath": ".status.asked"}"#,
    printcolumn = r#"{"name": "Active", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Active')].status"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerSpec {
    /// The Deployment, in the same namespace.
    pub deployment: String,
    /// The fewest pods. Zero is for users alone.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub min: i32,
    /// The most pods. The fewest, if it is less.
    #[schemars(range(min = 1))]
    pub max: i32,
    /// What the source calls the number.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.-]+$"))]
    pub metric: String,
    /// How much of it a pod is to have.
    #[schemars(range(min = 1))]
    pub per_pod: i32,
    /// How often the source is asked, and how long a number that it has sent holds.
    #[serde(default = "interval")]
    #[schemars(range(min = 1))]
    pub interval_seconds: u32,
    /// For how long fewer pods must do before there are fewer.
    #[serde(default = "stabilization")]
    pub stabilization_seconds: u32,
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerStatus {
    /// The generation that all of this is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many pods the Deployment was told to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// How many the last number asks for, without a look at earlier ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<i32>,
    /// When it was scaled last.
    // Without a default a schema that is written out counts as required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    pub scaled_at: Option<Time>,
    /// `Active`: the target is this one's to scale. `Fresh`: there is a number to scale it by.
    #[serde(default)]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

fn one() -> i32 {
    1
}

fn interval() -> u32 {
    15
}

fn stabilization() -> u32 {
    300
}

fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}
