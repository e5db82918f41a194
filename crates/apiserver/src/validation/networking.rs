use serde_json::Value;

use super::containers::port_reference;
use super::pod::ip_address;
use super::read::{get, list, optional_text, text};
use super::report::{Path, Report};
use super::selectors;

pub(super) fn endpoint_slice(new: &Value, old: Option<&Value>, report: &mut Report) {
    let kind = text(new, "addressType");
    let at_kind = Path::root("addressType");
    if kind.is_empty() {
        report.required(&at_kind, "");
    } else {
        report.one_of(&at_kind, Some(kind), &["FQDN", "IPv4", "IPv6"]);
    }
    let at = Path::root("endpoints");
    for (index, endpoint) in list(new, "endpoints").iter().enumerate() {
        let at = at.index(index);
        let at = at.field("addresses");
        let addresses = list(endpoint, "addresses");
        if addresses.is_empty() {
            report.required(&at, "");
        }
        for (index, address) in addresses
            .iter()
            .enumerate()
            .filter(|_| kind.starts_with("IP"))
        {
            ip_address(
                &at.index(index),
                address.as_str().unwrap_or_default(),
                report,
            );
        }
    }
    if old.is_some_and(|old| text(old, "addressType") != kind) {
        report.invalid(&at_kind, &Value::Null, "field is immutable");
    }
}

pub(super) fn network_policy(new: &Value, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    selectors::check(&at.field("podSelector"), get(spec, "podSelector"), report);
    for direction in ["ingress", "egress"] {
        for (index, rule) in list(spec, direction).iter().enumerate() {
            let rules = at.field(direction);
            let at = rules.index(index);
            for (index, port) in list(rule, "ports").iter().enumerate() {
                let ports = at.field("ports");
                let at = ports.index(index);
                report.one_of(
                    &at.field("protocol"),
                    optional_text(port, "protocol"),
                    &["TCP", "UDP", "SCTP"],
                );
                if !get(port, "port").is_null() {
                    port_reference(&at.field("port"), get(port, "port"), report);
                }
            }
        }
    }
    for (index, kind) in list(spec, "policyTypes").iter().enumerate() {
        let types = at.field("policyTypes");
        report.one_of(&types.index(index), kind.as_str(), &["Ingress", "Egress"]);
    }
}

pub(super) fn ingress(new: &Value, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    if list(spec, "rules").is_empty() && get(spec, "defaultBackend").is_null() {
        report.invalid(
            &at,
            &Value::Null,
            "either `defaultBackend` or `rules` must be specified",
        );
    }
    for (index, rule) in list(spec, "rules").iter().enumerate() {
        let rules = at.field("rules");
        let at = rules.index(index);
        let at = at.field("http");
        for (index, path) in list(get(rule, "http"), "paths").iter().enumerate() {
            let paths = at.field("paths");
            let at = paths.index(index);
            if optional_text(path, "pathType").is_none() {
                report.required(&at.field("pathType"), "pathType must be specified");
            }
        }
    }
}
