//! Objects to watch.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::config_map;

pub(crate) fn secret(name: &str, label: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some(name.to_owned());
    secret.metadata.namespace = Some("default".to_owned());
    secret.metadata.labels = Some([("map".to_owned(), label.to_owned())].into());
    secret
}

pub(crate) fn owned(name: &str, owners: &[(&str, &str, bool)]) -> ConfigMap {
    let mut map = config_map(name);
    let owners = owners
        .iter()
        .map(|(api_version, owner, controller)| OwnerReference {
            api_version: (*api_version).to_owned(),
            kind: "ConfigMap".to_owned(),
            name: (*owner).to_owned(),
            uid: format!("uid-of-{owner}"),
            controller: Some(*controller),
            ..OwnerReference::default()
        });
    map.metadata.owner_references = Some(owners.collect());
    map
}

pub(crate) fn labelled(name: &str, value: &str) -> ConfigMap {
    let mut map = config_map(name);
    map.metadata.labels = Some([("l".to_owned(), value.to_owned())].into());
    map
}

pub(crate) fn annotated(name: &str, value: &str) -> ConfigMap {
    let mut map = config_map(name);
    map.metadata.annotations = Some([("a".to_owned(), value.to_owned())].into());
    map
}
