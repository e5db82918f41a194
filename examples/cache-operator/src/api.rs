use std::collections::BTreeMap;

use evenkeel::meta::schema;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a user asks for.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "example.evenkeel.dev",
    version = "v1",
    kind = "Cache",
    namespaced,
    status = "CacheStatus",
    derive = "PartialEq",
    crates(kube_core = "kube_core"),
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name": "Address", "type": "string", "jsonPath": ".status.address"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct CacheSpec {
    /// How many pods.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// The image.
    #[serde(default = "image")]
    pub image: String,
    /// How much a pod keeps, in MiB.
    #[serde(default = "megabytes")]
    #[schemars(range(min = 1))]
    pub megabytes: i32,
    /// What goes when there is no room.
    #[serde(default)]
    pub eviction: Eviction,
    /// More settings of the server, as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// What a cache drops when there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Eviction {
    /// What was not used for the longest time.
    #[default]
    LeastRecentlyUsed,
    /// What was used least often.
    LeastFrequentlyUsed,
    /// Nothing: writes fail.
    Never,
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CacheStatus {
    /// The generation that all of this is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many pods are ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Where clients find it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// `Accepted`, `Ready`.
    #[serde(default)]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

fn one() -> i32 {
    1
}

fn image() -> String {
    "docker.io/valkey/valkey:8".to_owned()
}

fn megabytes() -> i32 {
    64
}
