//! From the kind in a manifest to the resource that is served.

use std::time::Duration;

use evenkeel_client::{Client, Discovery};
use evenkeel_meta::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::error::Failure;
use crate::up::load::Object;

/// Between two looks whether a new kind is served.
const LOOK: Duration = Duration::from_millis(20);

/// What the server serves.
pub(super) struct Served(Discovery);

impl Served {
    pub(super) async fn discover(client: &Client) -> Result<Self, Failure> {
        client
            .discover()
            .await
            .map(Self)
            .map_err(|error| Failure::failed(format!("cannot find out what is served: {error}")))
    }

    pub(super) fn find(&self, object: &Object) -> Option<&ApiResource> {
        let kind = GroupVersionKind::from_api_version(&object.api_version, &object.kind);
        self.0.by_kind(&kind).map(|found| &found.api_resource)
    }

    /// Refuses everything if a kind is neither served nor defined by one of the objects.
    pub(super) fn check(&self, objects: &[Object]) -> Result<(), Failure> {
        let unknown = |object: &&Object| {
            self.find(object).is_none() && !objects.iter().any(|other| defines(other, object))
        };
        let mut faults: Vec<_> = objects
            .iter()
            .filter(unknown)
            .map(|object| self.unknown(object))
            .collect();
        if faults.is_empty() {
            return Ok(());
        }
        faults.push("nothing was applied".to_owned());
        Err(Failure::Failed(faults))
    }

    fn unknown(&self, object: &Object) -> String {
        let place = object.origin.place("kind");
        let Object {
            kind,
            api_version,
            name,
            ..
        } = object;
        let elsewhere = self
            .0
            .resources
            .iter()
            .find(|found| found.api_resource.kind == *kind);
        let hint = match elsewhere {
            Some(found) => format!("; it is in {}", found.api_resource.api_version()),
            None => String::new(),
        };
        format!("{place}: {kind} {name}: no kind {kind} is served in {api_version}{hint}")
    }

    /// Looks again until the kinds of all objects are served.
    pub(super) async fn await_kinds(
        &mut self,
        client: &Client,
        objects: &[Object],
        limit: Duration,
    ) -> Result<(), Failure> {
        let looking = async {
            while objects.iter().any(|object| self.find(object).is_none()) {
                *self = Self::discover(client).await?;
                tokio::time::sleep(LOOK).await;
            }
            Ok(())
        };
        match tokio::time::timeout(limit, looking).await {
            Ok(found) => found,
            // What is missing is said of each object that needs it.
            Err(_) => Ok(()),
        }
    }
}

pub(super) fn is_definition(object: &Object) -> bool {
    object.kind == "CustomResourceDefinition"
        && object.api_version.starts_with("apiextensions.k8s.io/")
}

/// Whether `definition` makes the kind of `object` known.
fn defines(definition: &Object, object: &Object) -> bool {
    let text = |pointer: &str| definition.value.pointer(pointer).and_then(Value::as_str);
    let kind = GroupVersionKind::from_api_version(&object.api_version, &object.kind);
    let versions = definition
        .value
        .pointer("/spec/versions")
        .and_then(Value::as_array);
    is_definition(definition)
        && text("/spec/group") == Some(&*kind.group)
        && text("/spec/names/kind") == Some(&*kind.kind)
        && versions
            .into_iter()
            .flatten()
            .any(|version| version["name"].as_str() == Some(&*kind.version))
}
