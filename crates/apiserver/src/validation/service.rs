use std::collections::BTreeSet;

use serde_json::Value;

use super::containers::{port_number, port_reference};
use super::metadata;
use super::names;
use super::pod::ip_address;
use super::read::{get, list, number, optional_text, text};
use super::report::{Path, Raw, Report};

pub(super) fn check(new: &Value, old: Option<&Value>, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    let kind = text(spec, "type");
    let headless = text(spec, "clusterIP") == "None";
    let ports = list(spec, "ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        report.required(&at.field("ports"), "");
    }
    if kind == "ExternalName" && text(spec, "externalName").is_empty() {
        report.required(&at.field("externalName"), "");
    }
    check_ports(&at.field("ports"), ports, kind, headless, report);
    metadata::labels(&at.field("selector"), get(spec, "selector"), report);
    report.one_of(
        &at.field("sessionAffinity"),
        optional_text(spec, "sessionAffinity"),
        &["ClientIP", "None"],
    );
    cluster_ip(&at, spec, report);
    for (index, ip) in list(spec, "externalIPs").iter().enumerate() {
        let ips = at.field("externalIPs");
        ip_address(&ips.index(index), ip.as_str().unwrap_or_default(), report);
    }
    report.one_of(
        &at.field("type"),
        optional_text(spec, "type"),
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    );
    policies(&at, spec, kind, report);
    if let Some(old) = old {
        cluster_ip_stays(&at, spec, get(old, "spec"), report);
    }
}

fn check_ports(at: &Path<'_>, ports: &[Value], kind: &str, headless: bool, report: &mut Report) {
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = at.index(index);
        let name = text(port, "name");
        if name.is_empty() && ports.len() > 1 {
            report.required(&at.field("name"), "");
        } else if !name.is_empty() {
            report.complaints(&at.field("name"), name, &names::dns_label(name));
            if !names.insert(name) {
                report.duplicate(&at.field("name"), name);
            }
        }
        port_number(&at.field("port"), number(port, "port").unwrap_or(0), report);
        report.one_of(
            &at.field("protocol"),
            optional_text(port, "protocol"),
            &["SCTP", "TCP", "UDP"],
        );
        let target = get(port, "targetPort");
        if !headless || target.is_string() {
            port_reference(&at.field("targetPort"), target, report);
        }
        if kind == "ClusterIP" && number(port, "nodePort").is_some_and(|port| port != 0) {
            report.forbidden(
                &at.field("nodePort"),
                "may not be used when `type` is 'ClusterIP'",
            );
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let (protocol, number) = (text(port, "protocol"), number(port, "port").unwrap_or(0));
        if !seen.insert((protocol, number)) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":\"{protocol}\",\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
            );
            report.duplicate(&at.index(index), Raw(shown));
        }
    }
}

fn cluster_ip(at: &Path<'_>, spec: &Value, report: &mut Report) {
    let ip = text(spec, "clusterIP");
    if !ip.is_empty() && ip != "None" {
        let ips = at.field("clusterIPs");
        ip_address(&ips.index(0), ip, report);
    }
}

fn policies(at: &Path<'_>, spec: &Value, kind: &str, report: &mut Report) {
    let external = optional_text(spec, "externalTrafficPolicy");
    let reachable =
        matches!(kind, "NodePort" | "LoadBalancer") || !list(spec, "externalIPs").is_empty();
    match external {
        Some(policy) if !reachable => {
            let at = at.field("externalTrafficPolicy");
            report.invalid(
                &at,
                policy,
                "may only be set for externally-accessible services",
            );
        }
        policy => report.one_of(
            &at.field("externalTrafficPolicy"),
            policy,
            &["Cluster", "Local"],
        ),
    }
    let internal = optional_text(spec, "internalTrafficPolicy");
    report.one_of(
        &at.field("internalTrafficPolicy"),
        internal,
        &["Cluster", "Local"],
    );
    report.one_of(
        &at.field("ipFamilyPolicy"),
        optional_text(spec, "ipFamilyPolicy"),
        &["PreferDualStack", "RequireDualStack", "SingleStack"],
    );
}

/// An address stays with its service for as long as that has one; not to send it is to keep it.
fn cluster_ip_stays(at: &Path<'_>, spec: &Value, old: &Value, report: &mut Report) {
    let (new, before) = (text(spec, "clusterIP"), text(old, "clusterIP"));
    let had_one = text(old, "type") != "ExternalName" && text(spec, "type") != "ExternalName";
    if had_one && !before.is_empty() && !new.is_empty() && new != before {
        let ips = at.field("clusterIPs");
        report.invalid(
            &ips.index(0),
            &serde_json::json!([new]),
            "may not change once set",
        );
    }
}
