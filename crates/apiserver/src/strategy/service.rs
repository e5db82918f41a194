//! Services: addresses and node ports.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Map, Value, json};

use crate::object::{as_map, entry};
use crate::storage::{KeyRange, Shard};

/// 10.96.0.0/16, without its first address and its last ones.
const ADDRESSES: u32 = 65_000;
const FIRST_NODE_PORT: u32 = 30_000;
const NODE_PORTS: u32 = 2_768;

/// Where the next address and node port come from.
#[derive(Debug, Default)]
pub(crate) struct Allocator {
    address: AtomicU32,
    node_port: AtomicU32,
}

impl Allocator {
    fn address(&self, services: &Shard) -> String {
        loop {
            let next = self.address.fetch_add(1, Ordering::Relaxed) % ADDRESSES + 1;
            let address = format!("10.96.{}.{}", next / 256, next % 256);
            if !is_taken(services, &address) {
                return address;
            }
        }
    }

    fn node_port(&self) -> u32 {
        FIRST_NODE_PORT + self.node_port.fetch_add(1, Ordering::Relaxed) % NODE_PORTS
    }

    /// Gives a service what its type needs and it does not have yet.
    pub(super) fn complete(&self, services: &Shard, service: &mut Value) {
        let spec = entry(as_map(service), "spec");
        let kind = text(spec, "type").to_owned();
        if kind == "ExternalName" {
            return;
        }
        if text(spec, "clusterIP").is_empty() {
            spec.insert("clusterIP".into(), self.address(services).into());
        }
        let address = spec.get("clusterIP").cloned().unwrap_or_default();
        spec.entry("clusterIPs").or_insert_with(|| json!([address]));
        spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
        spec.entry("ipFamilyPolicy")
            .or_insert_with(|| json!("SingleStack"));
        let balanced = spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false));
        if kind == "NodePort" || (kind == "LoadBalancer" && balanced) {
            for port in ports(spec) {
                if port.get("nodePort").and_then(Value::as_u64).unwrap_or(0) == 0 {
                    port.insert("nodePort".into(), self.node_port().into());
                }
            }
        }
    }

    /// Keeps what was allocated before where an update leaves it out, and takes back what
    /// the new type does not use.
    pub(super) fn carry_over(&self, services: &Shard, live: &Value, new: &mut Value) {
        let Some(old) = live.get("spec").and_then(Value::as_object) else {
            return;
        };
        let spec = entry(as_map(new), "spec");
        let (old_kind, kind) = (text(old, "type"), text(spec, "type").to_owned());
        if kind != "ExternalName" && old_kind != "ExternalName" {
            for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if let (true, Some(value)) = (is_open(spec, name), old.get(name)) {
                    spec.insert(name.into(), value.clone());
                }
            }
        }
        let old_ports = old.get("ports").and_then(Value::as_array);
        for port in ports(spec) {
            let before = old_ports.into_iter().flatten().find(|old| {
                old.get("port") == port.get("port") && old.get("protocol") == port.get("protocol")
            });
            let Some(node_port) = before.and_then(|old| old.get("nodePort")) else {
                continue;
            };
            match kind.as_str() {
                "NodePort" | "LoadBalancer" => {
                    port.entry("nodePort").or_insert_with(|| node_port.clone());
                }
                _ if port.get("nodePort") == Some(node_port) => {
                    port.remove("nodePort");
                }
                _ => {}
            }
        }
        self.complete(services, new);
    }
}

fn ports(spec: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    ports.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn text<'a>(spec: &'a Map<String, Value>, name: &str) -> &'a str {
    spec.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_open(spec: &Map<String, Value>, name: &str) -> bool {
    spec.get(name)
        .is_none_or(|value| value.is_null() || value.as_str() == Some(""))
}

/// `spec.clusterIP` is the first selectable field of a service.
fn is_taken(services: &Shard, address: &str) -> bool {
    let mut taken = false;
    let visited = services.scan(&KeyRange::All, None, None, |_, record| {
        taken = record
            .fields()
            .first()
            .is_some_and(|used| **used == *address);
        !taken
    });
    taken && visited.is_ok()
}
