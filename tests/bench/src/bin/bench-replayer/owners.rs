//! The ReplicaSets that the pods belong to, as far as their metadata goes.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::encoding::Encoding;
use crate::pods::Pods;
use crate::state::{FIRST_VERSION, State};

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    namespace: String,
    owner_references: Vec<Owner>,
}

#[derive(Deserialize)]
struct Owner {
    name: String,
    uid: String,
}

/// Those of so many pods.
pub(crate) fn of(pods: usize) -> anyhow::Result<State> {
    let mut sets = BTreeMap::new();
    for pod in Pods::new(true, FIRST_VERSION).take(pods) {
        let Pod { metadata } = serde_json::from_str(&pod)?;
        for owner in metadata.owner_references {
            sets.insert((metadata.namespace.clone(), owner.name), owner.uid);
        }
    }
    let texts = sets
        .into_iter()
        .zip(FIRST_VERSION + 1..)
        .map(|(((namespace, name), uid), version)| {
            let types = r#""kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1""#;
            let metadata = format!(
                r#"{{"name":"{name}","namespace":"{namespace}","uid":"{uid}","resourceVersion":"{version}"}}"#
            );
            format!(r#"{{{types},"metadata":{metadata}}}"#).into_bytes()
        })
        .collect();
    State::new(Encoding::Json, true, texts)
}
