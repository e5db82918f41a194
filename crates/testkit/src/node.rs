//! The Node objects.

use evenkeel_client::{Client, Error, Patch, PatchOptions, WriteOptions};
use evenkeel_meta::{ApiResource, DynamicObject, Scope, Timestamp};
use serde_json::json;

const NODES: ApiResource = ApiResource::new_static("", "v1", "Node", "nodes", Scope::Cluster);

/// Marks a node as simulated.
pub(crate) const LABEL: &str = "evenkeel.dev/simulated";

/// Registers a node, or finds it registered, and reports it ready.
pub(crate) async fn register(client: &Client, name: &str, now: Timestamp) -> Result<(), Error> {
    let api = client.dynamic(NODES, None);
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", LABEL: "true"},
        },
    });
    let node: DynamicObject = serde_json::from_value(node)
        .map_err(|error| evenkeel_client::Error::from(evenkeel_meta::Status::internal(error)))?;
    match api.create(&node, &WriteOptions::default()).await {
        Err(error) if !error.is_already_exists() => return Err(error),
        _ => {}
    }
    let resources = json!({"cpu": "1000", "memory": "1Ti", "pods": "100000"});
    let status = Patch::strategic(&json!({"status": {
        "capacity": resources,
        "allocatable": resources,
        "conditions": [{
            "type": "Ready",
            "status": "True",
            "reason": "Simulated",
            "message": "this node is simulated: nothing runs on it",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }],
        "nodeInfo": {
            "kubeletVersion": "simulated", "kubeProxyVersion": "", "machineID": "", "systemUUID": "",
            "bootID": "", "kernelVersion": "", "osImage": "simulated", "containerRuntimeVersion": "",
            "operatingSystem": "linux", "architecture": "amd64",
        },
    }}));
    api.patch_status(name, &status, &PatchOptions::default())
        .await?;
    Ok(())
}
