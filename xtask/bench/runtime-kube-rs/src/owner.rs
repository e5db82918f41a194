//! Runs for owners, and the events that they answer.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::StreamExt;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Client};
use kube_core::ResourceExt;
use kube_core::metadata::PartialObjectMeta;
use kube_runtime::controller::{Action, Config as Concurrency};
use kube_runtime::reflector::ObjectRef;
use kube_runtime::{Controller, watcher};

use crate::runs::Runs;

type Set = PartialObjectMeta<ReplicaSet>;

/// When the events were sent that owners are yet to be run for.
type Sent = Mutex<HashMap<ObjectRef<Set>, Vec<String>>>;

pub async fn run(
    client: Client,
    pods: Api<PartialObjectMeta<Pod>>,
    concurrency: Concurrency,
    runs: Arc<Runs>,
) {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (started, sent) = (started.as_micros(), Arc::new(Sent::default()));
    let noted = Arc::clone(&sent);
    // What `owns` does, which keeps no copy of the pods, and a note of each event. What there was at the
    // start is no event.
    let owner = move |pod: PartialObjectMeta<Pod>| {
        let owner = pod.owner_references().first()?;
        let set = ObjectRef::new(&owner.name).within(&pod.namespace()?);
        let version = pod.resource_version()?;
        if version
            .parse::<u128>()
            .is_ok_and(|version| version > started)
        {
            noted
                .lock()
                .unwrap()
                .entry(set.clone())
                .or_default()
                .push(version);
        }
        Some(set)
    };
    Controller::new(Api::<Set>::all(client), watcher::Config::default())
        .with_config(concurrency)
        .watches(pods, watcher::Config::default(), owner)
        .run(reconcile, again, Arc::new((runs, sent)))
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn reconcile(
    set: Arc<Set>,
    context: Arc<(Arc<Runs>, Arc<Sent>)>,
) -> Result<Action, Infallible> {
    let (runs, sent) = &*context;
    runs.begin();
    let sent = sent.lock().unwrap().remove(&ObjectRef::from_obj(&*set));
    for version in sent.unwrap_or_default() {
        runs.note(Some(&version));
    }
    Ok(Action::await_change())
}

fn again(_: Arc<Set>, _: &Infallible, _: Arc<(Arc<Runs>, Arc<Sent>)>) -> Action {
    Action::requeue(Duration::from_secs(1))
}
