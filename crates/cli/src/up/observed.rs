//! The few fields that tell how an object is doing.

use evenkeel_meta::{Meta, Object};
use serde::Deserialize;

/// Any kind, as far as it tells how it is doing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Observed {
    pub(crate) metadata: Meta,
    pub(crate) spec: Spec,
    pub(crate) status: Status,
}

/// What is wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) replicas: Option<i64>,
    pub(crate) paused: Option<bool>,
    pub(crate) node_name: Option<String>,
}

/// What is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Status {
    pub(crate) observed_generation: Option<i64>,
    pub(crate) phase: Option<String>,
    pub(crate) replicas: Option<i64>,
    pub(crate) ready_replicas: Option<i64>,
    pub(crate) updated_replicas: Option<i64>,
    pub(crate) available_replicas: Option<i64>,
    pub(crate) desired_number_scheduled: Option<i64>,
    pub(crate) updated_number_scheduled: Option<i64>,
    pub(crate) number_available: Option<i64>,
    pub(crate) conditions: Option<Vec<Condition>>,
}

/// A condition of a status.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
}

impl Object for Observed {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

impl Observed {
    pub(crate) fn condition(&self, type_: &str) -> Option<&Condition> {
        let conditions = self.status.conditions.as_deref().unwrap_or_default();
        conditions.iter().find(|condition| condition.type_ == type_)
    }

    pub(crate) fn is_true(&self, type_: &str) -> bool {
        self.condition(type_)
            .is_some_and(|condition| condition.status == "True")
    }

    /// Replicas that are wanted; the API's default is one.
    pub(crate) fn wanted(&self) -> i64 {
        self.spec.replicas.unwrap_or(1)
    }

    /// Whether a pod counts as done: ready, or finished.
    pub(crate) fn is_ready_pod(&self) -> bool {
        self.is_true("Ready") || self.status.phase.as_deref() == Some("Succeeded")
    }

    /// Whether the controller has seen the last change.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.status.observed_generation.unwrap_or(0) >= self.metadata.generation.unwrap_or(0)
    }
}

impl Condition {
    /// `Reason: message`.
    pub(crate) fn why(&self) -> String {
        let parts = [&self.reason, &self.message].into_iter().flatten();
        let parts: Vec<_> = parts
            .filter(|part| !part.is_empty())
            .map(String::as_str)
            .collect();
        parts.join(": ")
    }
}
