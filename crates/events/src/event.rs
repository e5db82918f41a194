use std::fmt;

use evenkeel_meta::{ApiResource, Complete, Meta, Object, Resource, Scope, Timestamp};
use serde::{Deserialize, Serialize};

use crate::ObjectReference;

/// Whether something is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum EventType {
    /// It is: for information.
    #[default]
    Normal,
    /// It is not.
    Warning,
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Who reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// The component, such as `deployment-controller`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub component: String,
    /// The node that it runs on; empty for cluster-wide components.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
}

/// A `core/v1` `Event`, in the form that Kubernetes' own components write (kcm C5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    #[serde(default = "api_version")]
    api_version: String,
    #[serde(default = "kind")]
    kind: String,
    /// The event's own metadata.
    pub metadata: Meta,
    /// What it is about.
    #[serde(default)]
    pub involved_object: ObjectReference,
    /// Why: one word in camel case, for programs.
    #[serde(default)]
    pub reason: String,
    /// What happened, for people.
    #[serde(default)]
    pub message: String,
    /// Who reports.
    #[serde(default)]
    pub source: Source,
    /// When it happened first.
    pub first_timestamp: Option<Timestamp>,
    /// When it happened last.
    pub last_timestamp: Option<Timestamp>,
    /// How often it happened.
    #[serde(default)]
    pub count: i32,
    /// Whether it is good or bad news.
    #[serde(rename = "type", default)]
    pub event_type: EventType,
    /// Always null here: it is `events.k8s.io` that sets it.
    pub event_time: Option<Timestamp>,
    /// The component again; empty on an event that stands for several.
    #[serde(default)]
    pub reporting_component: String,
    /// Always empty here.
    #[serde(default)]
    pub reporting_instance: String,
}

const EVENTS: ApiResource = ApiResource::new_static("", "v1", "Event", "events", Scope::Namespaced);

fn api_version() -> String {
    EVENTS.version.clone().into_owned()
}

fn kind() -> String {
    EVENTS.kind.clone().into_owned()
}

impl Event {
    /// An event that has happened once, at `now`.
    pub(crate) fn new(occurrence: &Occurrence, name: String, now: Timestamp) -> Self {
        let namespace = match occurrence.regarding.namespace.as_str() {
            "" => "default",
            namespace => namespace,
        };
        Self {
            api_version: api_version(),
            kind: kind(),
            metadata: Meta {
                name,
                namespace: Some(namespace.to_owned()),
                ..Meta::default()
            },
            involved_object: occurrence.regarding.clone(),
            reason: occurrence.reason.clone(),
            message: occurrence.message.clone(),
            source: (*occurrence.source).clone(),
            first_timestamp: Some(now),
            last_timestamp: Some(now),
            count: 1,
            event_type: occurrence.event_type,
            event_time: None,
            reporting_component: occurrence.source.component.clone(),
            reporting_instance: String::new(),
        }
    }

    /// The namespace that it is written to.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }
}

/// At most this many bytes, without half a character.
pub(crate) fn cut(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        let mut end = longest;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.shrink_to_fit();
    }
    text
}

impl Object for Event {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

impl Resource for Event {
    fn api_resource() -> ApiResource {
        EVENTS
    }
}

impl Complete for Event {}

/// What a caller reports, before it is correlated with what was reported before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// What it is about.
    pub regarding: ObjectReference,
    /// Whether it is good or bad news.
    pub event_type: EventType,
    /// Why.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// Who reports.
    pub source: std::sync::Arc<Source>,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn e6_a_text_is_cut_between_characters() {
        let cut = |text: &str| cut(text.to_owned(), 1024);
        assert_eq!(cut("short"), "short");
        let long = "\u{e9}".repeat(600);
        assert_eq!(cut(&long).len(), 1024);
        let odd = format!("x{long}");
        assert_eq!(cut(&odd).len(), 1023);
        assert_eq!(cut(&"\u{1f6a2}".repeat(256)).len(), 1024, "exactly");
    }

    #[test]
    fn kcm_c5_the_wire_form_is_that_of_the_controller_manager() {
        let occurrence = Occurrence {
            regarding: ObjectReference {
                kind: "ReplicaSet".into(),
                api_version: "apps/v1".into(),
                namespace: "shop".into(),
                name: "web-1".into(),
                uid: "u".into(),
                resource_version: "7".into(),
                field_path: String::new(),
            },
            event_type: EventType::Normal,
            reason: "SuccessfulCreate".into(),
            message: "Created pod: web-1-a".into(),
            source: Arc::new(Source {
                component: "replicaset-controller".into(),
                host: String::new(),
            }),
        };
        let event = Event::new(&occurrence, "web-1.18".into(), Timestamp::from_second(0));
        assert_eq!(
            serde_json::to_value(&event).unwrap(),
            serde_json::json!({
                "kind": "Event", "apiVersion": "v1",
                "metadata": {"name": "web-1.18", "namespace": "shop"},
                "involvedObject": {"kind": "ReplicaSet", "namespace": "shop", "name": "web-1",
                    "uid": "u", "apiVersion": "apps/v1", "resourceVersion": "7"},
                "reason": "SuccessfulCreate", "message": "Created pod: web-1-a",
                "source": {"component": "replicaset-controller"},
                "firstTimestamp": "1970-01-01T00:00:00Z", "lastTimestamp": "1970-01-01T00:00:00Z",
                "count": 1, "type": "Normal", "eventTime": null,
                "reportingComponent": "replicaset-controller", "reportingInstance": ""
            })
        );
        let cluster_scoped = Occurrence {
            regarding: ObjectReference {
                namespace: String::new(),
                ..occurrence.regarding.clone()
            },
            ..occurrence
        };
        let event = Event::new(&cluster_scoped, "n".into(), Timestamp::from_second(0));
        assert_eq!(event.namespace(), "default", "client-go E1");
    }
}
