//! A control plane in process: the embedded server, simulated nodes, controllers; paused time.

use std::time::Duration;

use evenkeel::{Clock, Election, Manager, Term};
use evenkeel_apiserver::Server;
use evenkeel_client::{Api, Client, Patch, PatchOptions, WriteOptions};
use evenkeel_controllers::{Options, install};
use evenkeel_meta::{Complete, Resource, Timestamp};
use evenkeel_store::Informers;
use evenkeel_testkit::Nodes;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Pod};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What the managers' requests say that they come from: faults are injected for them alone.
pub(crate) const MANAGER: &str = "manager";

pub(crate) struct Plane {
    pub(crate) server: Server,
    pub(crate) client: Client,
    clock: Clock,
}

/// Something that runs beside the test; [`Part::stop`] stops it in order.
pub(crate) struct Part {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Part {
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }

    /// As `kill -9` would.
    pub(crate) fn kill(self) {
        self.task.abort();
    }
}

impl Plane {
    /// The API server alone.
    pub(crate) fn new() -> Self {
        let now = Timestamp::from_second(1_800_000_000);
        let server = Server::builder().now(now).log_requests(100_000).build();
        Self {
            client: Client::from_service(server.clone()),
            clock: Clock::simulated(now),
            server,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Two simulated nodes; pods turn ready after `delay`.
    pub(crate) fn nodes(&self, delay: Duration) -> Part {
        let client = self.client.with_user_agent("nodes");
        let informers = Informers::new(client.clone());
        let nodes = Nodes::new(&informers)
            .count(2)
            .start_delay(delay)
            .clock(self.clock);
        informers.start();
        let stop = CancellationToken::new();
        let term = Term::new(client, stop.clone()).grace(Duration::from_secs(1));
        let task = tokio::spawn(async move {
            nodes.run(term).await.unwrap();
            informers.shutdown().await;
        });
        Part { stop, task }
    }

    /// All controllers, without an election.
    pub(crate) fn manager(&self) -> Part {
        self.managed(MANAGER, None)
    }

    /// All controllers, while the Lease is held.
    pub(crate) fn candidate(&self, identity: &str) -> Part {
        let mut election = Election::new("kube-system", "controllers");
        election.identity = Some(identity.to_owned());
        election.clock = Some(evenkeel::election::Clock::tokio());
        self.managed(identity, Some(election))
    }

    fn managed(&self, agent: &str, election: Option<Election>) -> Part {
        let mut builder = Manager::builder(self.client.with_user_agent(agent));
        if let Some(election) = election {
            builder = builder.election(election);
        }
        let mut manager = builder.build().unwrap();
        let mut options = Options::default();
        options.clock = self.clock;
        install(&mut manager, &options).unwrap();
        let stop = CancellationToken::new();
        let managing = manager.run(stop.clone());
        let task = tokio::spawn(async move { managing.await.unwrap() });
        Part { stop, task }
    }

    pub(crate) fn api<K: Resource>(&self) -> Api<K> {
        self.client.namespaced("default")
    }

    pub(crate) async fn create<K>(&self, object: Value) -> K
    where
        K: Resource + Complete + Serialize + DeserializeOwned,
    {
        let object: K = serde_json::from_value(object).unwrap();
        let api = match evenkeel_meta::MetaView::namespace(object.metadata()) {
            Some(namespace) => self.client.namespaced(namespace),
            None => self.client.all(),
        };
        api.create(&object, &WriteOptions::default()).await.unwrap()
    }

    pub(crate) async fn get<K: Resource + DeserializeOwned>(&self, name: &str) -> K {
        self.api::<K>().get(name).await.unwrap()
    }

    pub(crate) async fn list<K: Resource + DeserializeOwned>(&self) -> Vec<K> {
        let listed = self.api::<K>().list(&Default::default()).await;
        listed.unwrap().items
    }

    /// A merge patch.
    pub(crate) async fn patch<K: Resource + DeserializeOwned>(
        &self,
        name: &str,
        patch: Value,
    ) -> K {
        let options = PatchOptions::default();
        let (api, patch) = (self.api::<K>(), Patch::merge(&patch));
        api.patch(name, &patch, &options).await.unwrap()
    }

    pub(crate) async fn set_image(&self, name: &str, image: &str) {
        let containers = json!([{"name": "c", "image": image}]);
        let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        self.patch::<Deployment>(name, patch).await;
    }

    pub(crate) async fn status(&self, name: &str) -> DeploymentStatus {
        let deployment: Deployment = self.get(name).await;
        deployment.status.unwrap_or_default()
    }

    /// Waits until a Deployment has all its pods, of its present template, and available.
    pub(crate) async fn rolled_out(&self, name: &str) {
        eventually(&format!("{name} is rolled out"), || async {
            is_rolled_out(&self.get(name).await)
        })
        .await;
    }

    /// The ReplicaSets, by age.
    pub(crate) async fn sets(&self) -> Vec<ReplicaSet> {
        let mut sets: Vec<ReplicaSet> = self.list().await;
        sets.sort_by_key(|set| (set.metadata.creation_timestamp.clone(), revision(set)));
        sets
    }

    /// `spec.replicas` of the ReplicaSets, by age.
    pub(crate) async fn sizes(&self) -> Vec<i32> {
        let sets = self.sets().await;
        sets.iter().map(|set| set.spec.replicas.unwrap()).collect()
    }

    /// Pods that nobody deletes and that have not come to their end.
    pub(crate) async fn active_pods(&self) -> Vec<Pod> {
        let mut pods: Vec<Pod> = self.list().await;
        pods.retain(is_active);
        pods
    }

    /// `type reason message` of all events.
    pub(crate) async fn events(&self) -> Vec<String> {
        let events: Vec<Event> = self.list().await;
        let text = |event: &Event| {
            let of = |text: &Option<String>| text.clone().unwrap_or_default();
            let (type_, reason) = (of(&event.type_), of(&event.reason));
            format!("{type_} {reason} {}", of(&event.message))
        };
        events.iter().map(text).collect()
    }
}

pub(crate) fn is_rolled_out(deployment: &Deployment) -> bool {
    let status = deployment.status.clone().unwrap_or_default();
    let is = |count: Option<i32>| count.unwrap_or(0) == deployment.spec.replicas.unwrap();
    status.observed_generation == deployment.metadata.generation
        && is(status.replicas)
        && is(status.updated_replicas)
        && is(status.available_replicas)
}

pub(crate) fn is_active(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

pub(crate) fn image(pod: &Pod) -> &str {
    let image = &pod.spec.as_ref().unwrap().containers[0].image;
    image.as_deref().unwrap()
}

pub(crate) fn annotation<'a>(set: &'a ReplicaSet, name: &str) -> Option<&'a str> {
    let annotations = set.metadata.annotations.as_ref()?;
    let name = format!("deployment.kubernetes.io/{name}");
    annotations.get(&name).map(String::as_str)
}

pub(crate) fn revision(set: &ReplicaSet) -> i64 {
    annotation(set, "revision").map_or(0, |text| text.parse().unwrap())
}

/// The UID of the managing controller.
pub(crate) fn owner(
    meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
) -> Option<&str> {
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true));
    owner.map(|owner| owner.uid.as_str())
}

/// `status reason message` of a condition.
pub(crate) fn condition(status: &DeploymentStatus, type_: &str) -> Option<String> {
    let mut conditions = status.conditions.iter().flatten();
    let found = conditions.find(|condition| condition.type_.as_deref() == Some(type_))?;
    let of = |text: &Option<String>| text.clone().unwrap();
    Some(format!(
        "{} {} {}",
        of(&found.status),
        of(&found.reason),
        of(&found.message)
    ))
}

/// The reason of `Progressing`.
pub(crate) fn progressing(status: &DeploymentStatus) -> String {
    let condition = condition(status, "Progressing").unwrap_or_default();
    condition.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// A Deployment, with these fields of `spec` besides the usual ones.
pub(crate) fn deployment(name: &str, replicas: i32, spec: Value) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name)},
    });
    let fields = spec.as_object().unwrap().clone();
    deployment["spec"].as_object_mut().unwrap().extend(fields);
    deployment
}

/// A ReplicaSet, with these fields of `spec` besides the usual ones.
pub(crate) fn replica_set(name: &str, replicas: i32, spec: Value) -> Value {
    let mut set = deployment(name, replicas, spec);
    set["kind"] = "ReplicaSet".into();
    set
}

pub(crate) fn template(name: &str) -> Value {
    json!({"metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "img:1"}]}})
}

/// Polls until `done` holds, for five minutes at most. Time is paused, so this is instant.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, done: impl Fn() -> F) {
    for _ in 0..6_000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never happened: {what}");
}

/// Time for everything that is going to happen at once, its first retries included.
pub(crate) async fn settle() {
    seconds(3).await;
}

pub(crate) async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
