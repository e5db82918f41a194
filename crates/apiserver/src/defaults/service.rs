use serde_json::{Map, Value};

use super::{child, default, existing, is, items};

/// Three hours.
const CLIENT_IP_AFFINITY_SECONDS: i64 = 10_800;

pub(super) fn service(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    default(spec, "sessionAffinity", "None");
    if is(spec, "sessionAffinity", "None") {
        spec.remove("sessionAffinityConfig");
    } else if is(spec, "sessionAffinity", "ClientIP") {
        let client = child(child(spec, "sessionAffinityConfig"), "clientIP");
        default(client, "timeoutSeconds", CLIENT_IP_AFFINITY_SECONDS);
    }
    default(spec, "type", "ClusterIP");
    for port in items(spec, "ports") {
        default(port, "protocol", "TCP");
        let is_open = match port.get("targetPort") {
            Some(Value::String(name)) => name.is_empty(),
            Some(Value::Number(number)) => number.as_i64() == Some(0),
            _ => true,
        };
        if is_open && let Some(number) = port.get("port").cloned() {
            port.insert("targetPort".to_owned(), number);
        }
    }
    let balanced = is(spec, "type", "LoadBalancer");
    let node_ports = balanced || is(spec, "type", "NodePort");
    let external_ips = spec
        .get("externalIPs")
        .and_then(Value::as_array)
        .is_some_and(|ips| !ips.is_empty());
    if node_ports || (external_ips && is(spec, "type", "ClusterIP")) {
        default(spec, "externalTrafficPolicy", "Cluster");
    }
    if node_ports || is(spec, "type", "ClusterIP") {
        default(spec, "internalTrafficPolicy", "Cluster");
    }
    if balanced {
        default(spec, "allocateLoadBalancerNodePorts", true);
        if let Some(status) = existing(object, "status")
            && let Some(balancer) = existing(status, "loadBalancer")
        {
            for ingress in items(balancer, "ingress").filter(|ingress| ingress.contains_key("ip")) {
                default(ingress, "ipMode", "VIP");
            }
        }
    }
}

pub(super) fn endpoints(object: &mut Map<String, Value>) {
    for subset in items(object, "subsets") {
        for port in items(subset, "ports") {
            default(port, "protocol", "TCP");
        }
    }
}

pub(super) fn endpoint_slice(object: &mut Map<String, Value>) {
    for port in items(object, "ports") {
        port.entry("name").or_insert_with(|| "".into());
        default(port, "protocol", "TCP");
    }
}
