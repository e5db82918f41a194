//! The directory: a ConfigMap with the addresses of all caches of the cluster.
//!
//! It is in another namespace than most caches, so none of them can own it, and a line has no
//! owner at all: a finalizer sees to it that a line goes with its cache.

use evenkeel::client::Patch;
use evenkeel::meta::ObjectKey;
use evenkeel::store::Event;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::parts::MANAGED_BY;

/// The line of a cache: no name of a namespace or of a cache has an underscore.
#[must_use]
pub fn line(cache: &ObjectKey) -> String {
    format!("{}_{}", cache.namespace().unwrap_or_default(), cache.name())
}

/// A directory with one line.
#[must_use]
pub fn first(directory: &ObjectKey, cache: &ObjectKey, address: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(directory.name().to_owned());
    map.metadata.namespace = directory.namespace().map(str::to_owned);
    map.metadata.labels = Some([(MANAGED_BY.0.to_owned(), MANAGED_BY.1.to_owned())].into());
    map.data = Some([(line(cache), address.to_owned())].into());
    map
}

/// Sets one line, or takes it out. Several workers do so at once, each to its own, and none has to
/// wait for another: it holds whatever the state of the rest.
#[must_use]
pub fn change(cache: &ObjectKey, address: Option<&str>) -> Patch {
    Patch::merge(&json!({"data": {line(cache): address}}))
}

/// Tells of each cache whose line an event has changed: somebody else may have done that.
pub fn concerned(event: &Event<ConfigMap>, tell: &mut dyn FnMut(ObjectKey)) {
    let (before, after) = match event {
        Event::Updated { old, new } => (Some(old), Some(new)),
        event => (None, event.object()),
    };
    let none = std::collections::BTreeMap::new();
    let before = before.and_then(|map| map.data.as_ref()).unwrap_or(&none);
    let after = after.and_then(|map| map.data.as_ref()).unwrap_or(&none);
    for line in before.keys().chain(after.keys()) {
        if before.get(line) != after.get(line)
            && let Some((namespace, name)) = line.split_once('_')
        {
            tell(ObjectKey::namespaced(namespace, name));
        }
    }
}

/// Whether the line of `cache` is there and right.
#[must_use]
pub fn says(directory: &ConfigMap, cache: &ObjectKey, address: &str) -> bool {
    let data = directory.data.as_ref();
    data.and_then(|data| data.get(&line(cache)))
        .map(String::as_str)
        == Some(address)
}
