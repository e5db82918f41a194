use std::sync::Arc;

use evenkeel_meta::{ApiResource, Complete, Meta, MicroTime, Object, Resource, Scope, Timestamp};
use serde::{Deserialize, Serialize};

use crate::event::cut;
use crate::{EventType, ObjectReference};

/// The longest note that a server takes, in bytes.
pub(super) const LONGEST_NOTE: usize = 1024;

/// An `events.k8s.io/v1` `Event`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeriesEvent {
    #[serde(default = "api_version")]
    api_version: String,
    #[serde(default = "kind")]
    kind: String,
    /// The event's own metadata.
    pub metadata: Meta,
    /// When it happened first.
    pub event_time: Option<MicroTime>,
    /// What came after the first time; `None` if nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Who reports, such as `example.com/my-controller`.
    #[serde(default)]
    pub reporting_controller: String,
    /// Which of its processes.
    #[serde(default)]
    pub reporting_instance: String,
    /// What was done about it, or failed: one word in camel case.
    #[serde(default)]
    pub action: String,
    /// Why: one word in camel case, for programs.
    #[serde(default)]
    pub reason: String,
    /// What it is about.
    #[serde(default)]
    pub regarding: ObjectReference,
    /// Another object that it has to do with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related: Option<ObjectReference>,
    /// What happened, for people.
    #[serde(default)]
    pub note: String,
    /// Whether it is good or bad news.
    #[serde(rename = "type", default)]
    pub event_type: EventType,
}

/// How often an event happened, and when last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// The first time included.
    pub count: i32,
    /// When it happened last.
    pub last_observed_time: MicroTime,
}

/// What a caller reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesOccurrence {
    /// What it is about.
    pub regarding: ObjectReference,
    /// Another object that it has to do with.
    pub related: Option<ObjectReference>,
    /// Whether it is good or bad news.
    pub event_type: EventType,
    /// Why.
    pub reason: String,
    /// What was done.
    pub action: String,
    /// What happened.
    pub note: String,
    /// Who reports.
    pub controller: Arc<str>,
    /// Which of its processes.
    pub instance: Arc<str>,
}

const EVENTS: ApiResource =
    ApiResource::new_static("events.k8s.io", "v1", "Event", "events", Scope::Namespaced);

fn api_version() -> String {
    EVENTS.api_version().into_owned()
}

fn kind() -> String {
    EVENTS.kind.clone().into_owned()
}

impl SeriesEvent {
    pub(crate) fn new(occurrence: &SeriesOccurrence, name: String, now: Timestamp) -> Self {
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
            event_time: Some(MicroTime(now)),
            series: None,
            reporting_controller: (*occurrence.controller).to_owned(),
            reporting_instance: (*occurrence.instance).to_owned(),
            action: occurrence.action.clone(),
            reason: occurrence.reason.clone(),
            regarding: occurrence.regarding.clone(),
            related: occurrence.related.clone(),
            note: cut(occurrence.note.clone(), LONGEST_NOTE),
            event_type: occurrence.event_type,
        }
    }

    /// The namespace that it is written to.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }
}

impl Object for SeriesEvent {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

impl Resource for SeriesEvent {
    fn api_resource() -> ApiResource {
        EVENTS
    }
}

impl Complete for SeriesEvent {}
