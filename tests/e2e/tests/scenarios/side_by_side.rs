//! What others deploy, on the embedded server and on the real one at once, by one program: both
//! end up with the same contents.

mod both;
mod changes;

use std::path::{Path, PathBuf};

use anyhow::ensure;
use evenkeel_client::{Client, Config};
use evenkeel_e2e::comparison::Known;
use evenkeel_e2e::{Env, manifests};
use serde_json::Value;

use self::both::Both;
use self::changes::{Item, Write};

const DEFINITION: &str = "CustomResourceDefinition";

/// Another folder of manifests to apply.
const FOLDER: &str = "EVENKEEL_MANIFESTS";

/// What no two servers have in common, and what differs by intention.
const KNOWN: &[Known] = &[
    assigned("*", "/metadata/uid"),
    assigned("*", "/metadata/resourceVersion"),
    assigned("*", "/metadata/creationTimestamp"),
    assigned("*", "/metadata/deletionTimestamp"),
    assigned("*", "/metadata/managedFields/*/time"),
    assigned("*", "/status/conditions/*/lastTransitionTime"),
    assigned("services", "/spec/clusterIP"),
    assigned("services", "/spec/clusterIPs/0"),
    assigned("services", "/spec/ports/*/nodePort"),
];

const fn assigned(plural: &'static str, field: &'static str) -> Known {
    let why = "each server counts, tells the time and gives addresses for itself";
    Known { plural, field, why }
}

/// Kinds that the embedded server does not serve: their objects are left out.
const NOT_SERVED: [&str; 1] = ["APIService"];

/// What a kube-apiserver creates for itself when it has been up for a while.
const ITS_OWN: &[(&str, &str)] = &[
    // Now and then its check of addresses finds one that is just being given away.
    ("events", ""),
    ("leases", "kube-system/apiserver-"),
    (
        "configmaps",
        "kube-system/kube-apiserver-legacy-service-account-token-tracking",
    ),
];

/// argo-cd and kube-prometheus are applied, changed in part, deleted in part and applied again.
pub(crate) async fn what_others_deploy_is_stored_alike(env: Env) -> anyhow::Result<()> {
    let embedded = env.start_embedded_beside().await?;
    let config = Config::from_kubeconfig(embedded.kubeconfig(), None)?;
    let embedded = Client::connect(&config)?;
    let mut both = Both::watch(env.client(), &embedded, KNOWN, ITS_OWN).await?;
    both.settle("at the beginning").await?;

    let items = apply(&mut both, manifests::load(&folder())?).await?;
    both.settle("applied").await?;
    let compared = both.compared()?;
    ensure!(
        compared >= items.len(),
        "{compared} of {} compared",
        items.len()
    );

    for (index, item) in items.iter().enumerate() {
        for change in item.changes(index) {
            both.write(item, &change).await?;
        }
    }
    both.settle("changed").await?;

    let (namespaces, others): (Vec<_>, Vec<_>) =
        items.iter().partition(|item| item.is("Namespace"));
    // With a definition everything of its kind goes.
    let (definitions, plain): (Vec<_>, Vec<_>) =
        others.iter().copied().partition(|item| item.is(DEFINITION));
    for item in plain.iter().step_by(4).chain(definitions.last()) {
        both.write(item, &item.delete()).await?;
    }
    for item in plain.iter().filter(|item| item.is("ConfigMap")).take(1) {
        both.write(item, &Write::DeleteCollection("round=two"))
            .await?;
    }
    both.settle("deleted in part").await?;

    for item in &others {
        both.write(item, &item.apply()).await?;
    }
    both.settle("applied again").await?;

    // Nobody empties them: they stay, on their way out.
    for item in namespaces {
        both.write(item, &item.delete()).await?;
    }
    both.settle("with namespaces on their way out").await
}

/// Applies namespaces and definitions, then the rest.
async fn apply(both: &mut Both, mut objects: Vec<Value>) -> anyhow::Result<Vec<Item>> {
    objects.sort_by_key(|object| match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some(DEFINITION) => 1,
        _ => 2,
    });
    let first = objects.partition_point(|object| is(object, "Namespace") || is(object, DEFINITION));
    let rest = objects.split_off(first);
    let mut items = Vec::new();
    for objects in [objects, rest] {
        for object in objects {
            match both.place(object) {
                Ok(item) => {
                    both.write(&item, &item.apply()).await?;
                    items.push(item);
                }
                Err(object) => {
                    let known = NOT_SERVED.iter().any(|kind| is(&object, kind));
                    ensure!(
                        known,
                        "not served: {} {}",
                        object["kind"],
                        object["metadata"]["name"]
                    );
                }
            }
        }
        both.watch_what_is_served().await?;
    }
    Ok(items)
}

fn is(object: &Value, kind: &str) -> bool {
    object["kind"] == kind
}

fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests");
    std::env::var_os(FOLDER).map_or(own, PathBuf::from)
}
