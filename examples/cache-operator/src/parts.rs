//! What a cache consists of, as changes to what is there.
//!
//! Each function sets the fields that this operator cares for and leaves all others as they are:
//! defaults of the server, what an autoscaler or a service mesh has added. What is as it should be
//! is then no difference, and nothing is written.

use std::collections::BTreeMap;

use evenkeel::meta::{MetaMut, OwnershipError};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, PodSpec, Service, ServicePort,
    ServiceSpec, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::{Cache, CacheSpec, Eviction};

/// Everything that this operator makes carries this label, and it watches nothing else.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "cache-operator");
/// The port of a cache.
pub const PORT: i32 = 6379;

const CONTAINER: &str = "cache";
const FILE: &str = "cache.conf";
const CONFIG_HASH: &str = "example.evenkeel.dev/config-hash";

/// A setting that the user may not make.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not yours to set: the operator does")]
pub struct Reserved(String);

/// The server's configuration file.
///
/// # Errors
/// A setting that another field is for.
pub fn configuration(spec: &CacheSpec) -> Result<String, Reserved> {
    let policy = match spec.eviction {
        Eviction::LeastRecentlyUsed => "allkeys-lru",
        Eviction::LeastFrequentlyUsed => "allkeys-lfu",
        Eviction::Never => "noeviction",
    };
    let mut lines = BTreeMap::from([
        ("maxmemory", format!("{}mb", spec.megabytes)),
        ("maxmemory-policy", policy.to_owned()),
        ("port", PORT.to_string()),
    ]);
    for (name, value) in &spec.settings {
        if lines.insert(name, value.clone()).is_some() {
            return Err(Reserved(name.clone()));
        }
    }
    let lines = lines
        .iter()
        .map(|(name, value)| format!("{name} {value}\n"));
    Ok(lines.collect())
}

/// The name of all parts, and what they have before anything is in them.
#[must_use]
pub fn named(cache: &Cache) -> ObjectMeta {
    ObjectMeta {
        name: cache.metadata.name.clone(),
        namespace: cache.metadata.namespace.clone(),
        ..ObjectMeta::default()
    }
}

/// What makes an object a part of a cache. Labels and owners that others have put there stay.
///
/// # Errors
/// Somebody else controls the object.
pub fn mark(meta: &mut ObjectMeta, cache: &Cache) -> Result<(), OwnershipError> {
    let labels = meta.labels.get_or_insert_default();
    labels.insert(MANAGED_BY.0.to_owned(), MANAGED_BY.1.to_owned());
    meta.set_controller(cache)
}

/// The ConfigMap holds the configuration, and nothing else.
pub fn shape_config_map(map: &mut ConfigMap, configuration: &str) {
    map.data = Some([(FILE.to_owned(), configuration.to_owned())].into());
}

/// The Service finds the pods.
pub fn shape_service(service: &mut Service, cache: &Cache) {
    let spec: &mut ServiceSpec = service.spec.get_or_insert_default();
    spec.selector = Some(pod_labels(cache));
    let ports = spec.ports.get_or_insert_default();
    let port: &mut ServicePort = only(ports, |port| port.name.as_deref() == Some(CONTAINER));
    port.name = Some(CONTAINER.to_owned());
    port.port = PORT;
    port.target_port = Some(IntOrString::String(CONTAINER.to_owned()));
}

/// The Deployment runs the pods. Another configuration has another hash, which makes other pods.
pub fn shape_deployment(deployment: &mut Deployment, cache: &Cache, configuration: &str) {
    let spec: &mut DeploymentSpec = &mut deployment.spec;
    spec.replicas = Some(cache.spec.replicas);
    spec.selector = LabelSelector {
        match_labels: Some(pod_labels(cache)),
        ..LabelSelector::default()
    };
    let meta: &mut ObjectMeta = spec.template.metadata.get_or_insert_default();
    meta.labels
        .get_or_insert_default()
        .extend(pod_labels(cache));
    let hash = format!("{:016x}", fnv1a(configuration.as_bytes()));
    let annotations = meta.annotations.get_or_insert_default();
    annotations.insert(CONFIG_HASH.to_owned(), hash);
    shape_pod(spec.template.spec.get_or_insert_default(), cache);
}

fn shape_pod(pod: &mut PodSpec, cache: &Cache) {
    let volumes = pod.volumes.get_or_insert_default();
    let volume: &mut Volume = of_name(volumes, |volume| &mut volume.name);
    let source: &mut ConfigMapVolumeSource = volume.config_map.get_or_insert_default();
    source.name = cache.metadata.name.clone().unwrap_or_default();

    let container: &mut Container = of_name(&mut pod.containers, |container| &mut container.name);
    container.image = Some(cache.spec.image.clone());
    container.args = Some(vec![format!("/etc/cache/{FILE}")]);
    let ports = container.ports.get_or_insert_default();
    let port: &mut ContainerPort = only(ports, |port| port.container_port == PORT);
    port.name = Some(CONTAINER.to_owned());
    port.container_port = PORT;
    let mounts = container.volume_mounts.get_or_insert_default();
    let mount: &mut VolumeMount = of_name(mounts, |mount| &mut mount.name);
    mount.mount_path = "/etc/cache".to_owned();
    mount.read_only = Some(true);
    let resources = container.resources.get_or_insert_default();
    // As much again for what is not data.
    let memory = Quantity(format!("{}Mi", 2 * i64::from(cache.spec.megabytes)));
    let limits = resources.limits.get_or_insert_default();
    limits.insert("memory".to_owned(), memory);
}

fn pod_labels(cache: &Cache) -> BTreeMap<String, String> {
    let name = cache.metadata.name.clone().unwrap_or_default();
    BTreeMap::from([
        ("app.kubernetes.io/name".to_owned(), CONTAINER.to_owned()),
        ("app.kubernetes.io/instance".to_owned(), name),
    ])
}

/// The element called [`CONTAINER`], a new one if there is none.
fn of_name<T: Default>(list: &mut Vec<T>, name: impl Fn(&mut T) -> &mut String) -> &mut T {
    let at = list.iter_mut().position(|one| name(one) == CONTAINER);
    let at = at.unwrap_or_else(|| {
        list.push(T::default());
        list.len() - 1
    });
    let found = &mut list[at];
    CONTAINER.clone_into(name(found));
    found
}

/// The element that `is` finds and no other, a new one if there is none.
fn only<T: Default>(list: &mut Vec<T>, is: impl Fn(&T) -> bool) -> &mut T {
    list.retain(|one| is(one));
    list.truncate(1);
    if list.is_empty() {
        list.push(T::default());
    }
    &mut list[0]
}

/// The same in every build of this operator: what std offers may differ from one to the next, and
/// an upgrade of the operator would roll every cache.
fn fnv1a(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> Cache {
        let spec = serde_json::from_str("{}").unwrap();
        let mut cache = Cache::new("web", spec);
        cache.metadata.namespace = Some("shop".to_owned());
        cache
    }

    #[test]
    fn a_setting_that_another_field_is_for_is_refused() {
        let mut cache = cache();
        let text = "maxmemory 64mb\nmaxmemory-policy allkeys-lru\nport 6379\n";
        assert_eq!(configuration(&cache.spec).unwrap(), text);
        cache.spec.settings.insert("hz".into(), "5".into());
        let text = configuration(&cache.spec).unwrap();
        assert!(text.starts_with("hz 5\n"), "{text}");
        cache.spec.settings.insert("port".into(), "1".into());
        let error = configuration(&cache.spec).unwrap_err();
        assert_eq!(error, Reserved("port".to_owned()));
    }

    #[test]
    fn what_others_have_set_stays_and_shaping_twice_changes_nothing() {
        let cache = cache();
        let mut deployment = Deployment::default();
        shape_deployment(&mut deployment, &cache, "a");
        let spec = &mut deployment.spec;
        spec.paused = Some(true);
        let pod = spec.template.spec.as_mut().unwrap();
        pod.containers[0].tty = Some(true);
        let sidecar = Container {
            name: "mesh".to_owned(),
            ..Container::default()
        };
        pod.containers.insert(0, sidecar);
        let before = deployment.clone();
        shape_deployment(&mut deployment, &cache, "a");
        assert_eq!(deployment, before);
        shape_deployment(&mut deployment, &cache, "b");
        let template = |deployment: Deployment| deployment.spec.template.metadata;
        assert_ne!(template(deployment), template(before));

        let mut service = Service::default();
        shape_service(&mut service, &cache);
        let spec = service.spec.as_mut().unwrap();
        spec.cluster_ip = Some("10.0.0.1".to_owned());
        spec.ports.as_mut().unwrap()[0].node_port = Some(30_000);
        let before = service.clone();
        shape_service(&mut service, &cache);
        assert_eq!(service, before);
    }
}
