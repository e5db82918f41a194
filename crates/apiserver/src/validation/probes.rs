use serde_json::Value;

use super::containers::{port_number, port_reference};
use super::read::{get, list, number, text};
use super::report::{Path, Report};

const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
const HOOK_HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "sleep"];

pub(super) fn of_container(at: &Path<'_>, container: &Value, report: &mut Report) {
    let lifecycle = get(container, "lifecycle");
    let at_lifecycle = at.field("lifecycle");
    for hook in ["postStart", "preStop"] {
        let handler = get(lifecycle, hook);
        if handler.is_object() {
            self::handler(&at_lifecycle.field(hook), handler, &HOOK_HANDLERS, report);
        }
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = get(container, field);
        if probe.is_object() {
            self::probe(&at.field(field), field, probe, report);
        }
    }
}

fn probe(at: &Path<'_>, kind: &str, probe: &Value, report: &mut Report) {
    handler(at, probe, &HANDLERS, report);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        report.not_negative(&at.field(field), number(probe, field));
    }
    if let Some(seconds) = number(probe, "terminationGracePeriodSeconds") {
        let at = at.field("terminationGracePeriodSeconds");
        if kind == "readinessProbe" {
            report.invalid(&at, seconds, "must not be set for readinessProbes");
        } else if seconds <= 0 {
            report.invalid(&at, seconds, "must be greater than 0");
        }
    }
    if let Some(threshold) = number(probe, "successThreshold").filter(|threshold| *threshold != 1)
        && kind != "readinessProbe"
    {
        report.invalid(&at.field("successThreshold"), threshold, "must be 1");
    }
}

/// Exactly one way to act.
fn handler(at: &Path<'_>, handler: &Value, kinds: &[&str], report: &mut Report) {
    let mut found = kinds.iter().filter(|kind| get(handler, kind).is_object());
    let Some(first) = found.next() else {
        report.required(at, "must specify a handler type");
        return;
    };
    let action = get(handler, first);
    let at_action = at.field(first);
    match *first {
        "exec" if list(action, "command").is_empty() => {
            report.required(&at_action.field("command"), "");
        }
        "httpGet" => {
            if text(action, "path").is_empty() {
                report.required(&at_action.field("path"), "");
            }
            port_reference(&at_action.field("port"), get(action, "port"), report);
            report.one_of(
                &at_action.field("scheme"),
                Some(text(action, "scheme")),
                &["HTTP", "HTTPS"],
            );
        }
        "tcpSocket" => port_reference(&at_action.field("port"), get(action, "port"), report),
        "grpc" => port_number(
            &at_action.field("port"),
            number(action, "port").unwrap_or(0),
            report,
        ),
        _ => {}
    }
    for other in found {
        report.forbidden(&at.field(other), "may not specify more than 1 handler type");
    }
}
