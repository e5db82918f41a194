//! The columns of Services and of what routes to them.

use serde_json::Value;

use super::Column;
use super::column::{age, list, name, pairs, selector, string, text_or_none, wide};
use crate::object::{field, integer, text};

const SHOWN: usize = 3;

pub(super) fn columns(group: &str, plural: &str) -> Option<Vec<Column>> {
    Some(match (group, plural) {
        ("", "services") => vec![
            name(),
            string("Type", |it, _| {
                text(it, &["spec", "type"]).unwrap_or_default().into()
            }),
            string("Cluster-IP", |it, _| {
                text_or_none(it, &["spec", "clusterIP"])
            }),
            string("External-IP", |it, _| external(it).into()),
            string("Port(s)", |it, _| service_ports(it).into()),
            age(),
            wide("Selector", |it, _| {
                pairs(field(it, &["spec", "selector"])).into()
            }),
        ],
        ("", "endpoints") => vec![
            name(),
            string("Endpoints", |it, _| endpoints(it).into()),
            age(),
        ],
        ("discovery.k8s.io", "endpointslices") => vec![
            name(),
            string("AddressType", |it, _| {
                text(it, &["addressType"]).unwrap_or_default().into()
            }),
            string("Ports", |it, _| {
                let ports = list(it, &["ports"])
                    .iter()
                    .filter_map(|port| integer(port, &["port"]));
                some_of(
                    &ports.map(|port| port.to_string()).collect::<Vec<_>>(),
                    "<unset>",
                )
                .into()
            }),
            string("Endpoints", |it, _| {
                let addresses = list(it, &["endpoints"])
                    .iter()
                    .flat_map(|endpoint| list(endpoint, &["addresses"]));
                let addresses: Vec<String> = addresses
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect();
                some_of(&addresses, "<unset>").into()
            }),
            age(),
        ],
        ("networking.k8s.io", "ingresses") => vec![
            name(),
            string("Class", |it, _| {
                text_or_none(it, &["spec", "ingressClassName"])
            }),
            string("Hosts", |it, _| {
                let hosts = list(it, &["spec", "rules"])
                    .iter()
                    .filter_map(|rule| text(rule, &["host"]));
                some_of(&hosts.map(str::to_owned).collect::<Vec<_>>(), "*").into()
            }),
            string("Address", |it, _| balancer(it).into()),
            string("Ports", |it, _| {
                if list(it, &["spec", "tls"]).is_empty() {
                    "80".into()
                } else {
                    "80, 443".into()
                }
            }),
            age(),
        ],
        ("networking.k8s.io", "ingressclasses") => vec![
            name(),
            string("Controller", |it, _| {
                text_or_none(it, &["spec", "controller"])
            }),
            string("Parameters", |it, _| {
                let part = |part: &str| text(it, &["spec", "parameters", part]);
                match (part("kind"), part("apiGroup"), part("name")) {
                    (Some(kind), Some(group), Some(name)) => {
                        format!("{kind}.{group}/{name}").into()
                    }
                    (Some(kind), None, Some(name)) => format!("{kind}/{name}").into(),
                    _ => "<none>".into(),
                }
            }),
            age(),
        ],
        ("networking.k8s.io", "networkpolicies") => vec![
            name(),
            string("Pod-Selector", |it, _| {
                selector(field(it, &["spec", "podSelector"]))
            }),
            age(),
        ],
        _ => return None,
    })
}

fn external(service: &Value) -> String {
    let ips: Vec<&str> = list(service, &["spec", "externalIPs"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    match text(service, &["spec", "type"]) {
        Some("ExternalName") => text(service, &["spec", "externalName"])
            .unwrap_or_default()
            .to_owned(),
        Some("LoadBalancer") => {
            let mut all = balancer(service);
            if !ips.is_empty() {
                all = if all.is_empty() {
                    ips.join(",")
                } else {
                    format!("{all},{}", ips.join(","))
                };
            }
            if all.is_empty() {
                "<pending>".to_owned()
            } else {
                all
            }
        }
        _ if !ips.is_empty() => ips.join(","),
        _ => "<none>".to_owned(),
    }
}

fn balancer(object: &Value) -> String {
    let points = list(object, &["status", "loadBalancer", "ingress"]).iter();
    let named =
        points.filter_map(|point| text(point, &["ip"]).or_else(|| text(point, &["hostname"])));
    named.collect::<Vec<_>>().join(",")
}

fn service_ports(service: &Value) -> String {
    let ports: Vec<String> = list(service, &["spec", "ports"])
        .iter()
        .map(|port| {
            let number = integer(port, &["port"]).unwrap_or(0);
            let protocol = text(port, &["protocol"]).unwrap_or("TCP");
            match integer(port, &["nodePort"]) {
                Some(node_port) if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
                _ => format!("{number}/{protocol}"),
            }
        })
        .collect();
    if ports.is_empty() {
        "<none>".to_owned()
    } else {
        ports.join(",")
    }
}

fn endpoints(object: &Value) -> String {
    let mut all = Vec::new();
    for subset in list(object, &["subsets"]) {
        let addresses = list(subset, &["addresses"])
            .iter()
            .filter_map(|address| text(address, &["ip"]));
        let ports: Vec<i64> = list(subset, &["ports"])
            .iter()
            .filter_map(|port| integer(port, &["port"]))
            .collect();
        for address in addresses {
            if ports.is_empty() {
                all.push(address.to_owned());
            }
            all.extend(ports.iter().map(|port| format!("{address}:{port}")));
        }
    }
    some_of(&all, "<none>")
}

/// The first few, and how many more there are.
fn some_of(all: &[String], none: &str) -> String {
    match all.len() {
        0 => none.to_owned(),
        count if count > SHOWN => format!("{} + {} more...", all[..SHOWN].join(","), count - SHOWN),
        _ => all.join(","),
    }
}
