//! The columns of what runs pods, and of pods.

use evenkeel_meta::Timestamp;
use serde_json::Value;

use super::column::{
    age, containers, count, list, name, number, pairs, selector, string, text_or_none, wide,
};
use super::{Column, duration};
use crate::object::{field, text};

pub(super) fn columns(group: &str, plural: &str) -> Option<Vec<Column>> {
    let mut columns = match (group, plural) {
        ("", "pods") => return Some(pods()),
        ("apps", "deployments") => vec![
            name(),
            string("Ready", |it, _| {
                format!(
                    "{}/{}",
                    count(it, &["status", "readyReplicas"]),
                    replicas(it)
                )
                .into()
            }),
            string("Up-to-date", |it, _| {
                count(it, &["status", "updatedReplicas"]).into()
            }),
            string("Available", |it, _| {
                count(it, &["status", "availableReplicas"]).into()
            }),
            age(),
        ],
        ("apps", "replicasets") | ("", "replicationcontrollers") => vec![
            name(),
            number("Desired", |it, _| replicas(it).into()),
            number("Current", |it, _| count(it, &["status", "replicas"]).into()),
            number("Ready", |it, _| {
                count(it, &["status", "readyReplicas"]).into()
            }),
            age(),
        ],
        ("apps", "statefulsets") => vec![
            name(),
            string("Ready", |it, _| {
                format!(
                    "{}/{}",
                    count(it, &["status", "readyReplicas"]),
                    replicas(it)
                )
                .into()
            }),
            age(),
        ],
        ("apps", "daemonsets") => vec![
            name(),
            number("Desired", |it, _| {
                count(it, &["status", "desiredNumberScheduled"]).into()
            }),
            number("Current", |it, _| {
                count(it, &["status", "currentNumberScheduled"]).into()
            }),
            number("Ready", |it, _| {
                count(it, &["status", "numberReady"]).into()
            }),
            number("Up-to-date", |it, _| {
                count(it, &["status", "updatedNumberScheduled"]).into()
            }),
            number("Available", |it, _| {
                count(it, &["status", "numberAvailable"]).into()
            }),
            string("Node Selector", |it, _| {
                pairs(field(it, &["spec", "template", "spec", "nodeSelector"])).into()
            }),
            age(),
        ],
        ("batch", "jobs") => vec![
            name(),
            string("Status", |it, _| job_status(it).into()),
            string("Completions", |it, _| completions(it).into()),
            string("Duration", |it, now| job_duration(it, now).into()),
            age(),
        ],
        ("batch", "cronjobs") => cron_jobs(),
        ("apps", "controllerrevisions") => {
            return Some(vec![
                name(),
                string("Controller", |it, _| controller(it).into()),
                string("Revision", |it, _| count(it, &["revision"]).into()),
                age(),
            ]);
        }
        ("", "podtemplates") => {
            return Some(vec![
                name(),
                string("Containers", |it, _| {
                    containers(field(it, &["template", "spec"]), "name")
                }),
                string("Images", |it, _| {
                    containers(field(it, &["template", "spec"]), "image")
                }),
                string("Pod Labels", |it, _| {
                    pairs(field(it, &["template", "metadata", "labels"])).into()
                }),
            ]);
        }
        _ => return None,
    };
    columns.extend(match (group, plural) {
        ("", "replicationcontrollers") => {
            template_columns(|it, _| pairs(field(it, &["spec", "selector"])).into())
        }
        ("batch", "cronjobs") => Vec::new(),
        ("apps", "statefulsets") => {
            let mut columns = template_columns(|it, _| selector(field(it, &["spec", "selector"])));
            columns.truncate(2);
            columns
        }
        _ => template_columns(|it, _| selector(field(it, &["spec", "selector"]))),
    });
    Some(columns)
}

fn template_columns(selector: fn(&Value, Timestamp) -> Value) -> Vec<Column> {
    vec![
        wide("Containers", |it, _| {
            containers(field(it, &["spec", "template", "spec"]), "name")
        }),
        wide("Images", |it, _| {
            containers(field(it, &["spec", "template", "spec"]), "image")
        }),
        wide("Selector", selector),
    ]
}

fn pods() -> Vec<Column> {
    vec![
        name(),
        string("Ready", |it, _| {
            let ready = list(it, &["status", "containerStatuses"])
                .iter()
                .filter(|status| field(status, &["ready"]).and_then(Value::as_bool) == Some(true))
                .count();
            format!("{ready}/{}", list(it, &["spec", "containers"]).len()).into()
        }),
        string("Status", |it, _| pod_status(it).into()),
        string("Restarts", |it, now| restarts(it, now).into()),
        age(),
        wide("IP", |it, _| text_or_none(it, &["status", "podIP"])),
        wide("Node", |it, _| text_or_none(it, &["spec", "nodeName"])),
        wide("Nominated Node", |it, _| {
            text_or_none(it, &["status", "nominatedNodeName"])
        }),
        wide("Readiness Gates", |it, _| readiness_gates(it).into()),
    ]
}

/// The phase, or the more telling reason of a container.
fn pod_status(pod: &Value) -> String {
    let phase = text(pod, &["status", "phase"]).unwrap_or("Unknown");
    let mut status = text(pod, &["status", "reason"])
        .filter(|reason| !reason.is_empty())
        .unwrap_or(phase)
        .to_owned();
    let mut running = false;
    for container in list(pod, &["status", "containerStatuses"]).iter().rev() {
        let reason = |state: &str| {
            text(container, &["state", state, "reason"]).filter(|reason| !reason.is_empty())
        };
        if let Some(reason) = reason("waiting").or_else(|| reason("terminated")) {
            reason.clone_into(&mut status);
        } else if let Some(terminated) = field(container, &["state", "terminated"]) {
            status = match count(terminated, &["signal"]) {
                0 => format!("ExitCode:{}", count(terminated, &["exitCode"])),
                signal => format!("Signal:{signal}"),
            };
        } else if field(container, &["state", "running"]).is_some() {
            running |= field(container, &["ready"]).and_then(Value::as_bool) == Some(true);
        }
    }
    if status == "Completed" && running {
        let ready = list(pod, &["status", "conditions"])
            .iter()
            .any(|condition| {
                text(condition, &["type"]) == Some("Ready")
                    && text(condition, &["status"]) == Some("True")
            });
        status = if ready { "Running" } else { "NotReady" }.to_owned();
    }
    let finished = matches!(phase, "Succeeded" | "Failed");
    if field(pod, &["metadata", "deletionTimestamp"]).is_some() && !finished {
        let lost = text(pod, &["status", "reason"]) == Some("NodeLost");
        status = if lost { "Unknown" } else { "Terminating" }.to_owned();
    }
    status
}

fn restarts(pod: &Value, now: Timestamp) -> String {
    let containers = list(pod, &["status", "containerStatuses"]);
    let restarts: i64 = containers
        .iter()
        .map(|container| count(container, &["restartCount"]))
        .sum();
    let last = containers
        .iter()
        .filter_map(|container| text(container, &["lastState", "terminated", "finishedAt"]))
        .max();
    match last {
        Some(last) if restarts > 0 => format!(
            "{restarts} ({} ago)",
            duration::since(Some(&last.into()), now)
        ),
        _ => restarts.to_string(),
    }
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let conditions = list(pod, &["status", "conditions"]);
    let open = gates.iter().filter(|gate| {
        let wanted = text(gate, &["conditionType"]);
        conditions.iter().any(|condition| {
            text(condition, &["type"]) == wanted && text(condition, &["status"]) == Some("True")
        })
    });
    format!("{}/{}", open.count(), gates.len())
}

fn cron_jobs() -> Vec<Column> {
    vec![
        name(),
        string("Schedule", |it, _| text_or_none(it, &["spec", "schedule"])),
        string("Timezone", |it, _| text_or_none(it, &["spec", "timeZone"])),
        Column {
            kind: "boolean".into(),
            ..string("Suspend", |it, _| {
                let suspended =
                    field(it, &["spec", "suspend"]).and_then(Value::as_bool) == Some(true);
                if suspended {
                    "True".into()
                } else {
                    "False".into()
                }
            })
        },
        number("Active", |it, _| {
            list(it, &["status", "active"]).len().into()
        }),
        string("Last Schedule", |it, now| {
            match field(it, &["status", "lastScheduleTime"]) {
                Some(time) => duration::since(Some(time), now).into(),
                None => "<none>".into(),
            }
        }),
        age(),
        wide("Containers", |it, _| {
            containers(
                field(it, &["spec", "jobTemplate", "spec", "template", "spec"]),
                "name",
            )
        }),
        wide("Images", |it, _| {
            containers(
                field(it, &["spec", "jobTemplate", "spec", "template", "spec"]),
                "image",
            )
        }),
        wide("Selector", |it, _| {
            selector(field(it, &["spec", "jobTemplate", "spec", "selector"]))
        }),
    ]
}

fn job_status(job: &Value) -> &'static str {
    let has = |kind: &str| {
        list(job, &["status", "conditions"])
            .iter()
            .any(|condition| {
                text(condition, &["type"]) == Some(kind)
                    && text(condition, &["status"]) == Some("True")
            })
    };
    match () {
        () if has("Complete") => "Complete",
        () if has("Failed") => "Failed",
        () if field(job, &["metadata", "deletionTimestamp"]).is_some() => "Terminating",
        () if has("Suspended") => "Suspended",
        () if has("FailureTarget") => "FailureTarget",
        () if has("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let succeeded = count(job, &["status", "succeeded"]);
    match (
        field(job, &["spec", "completions"]),
        count(job, &["spec", "parallelism"]),
    ) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn job_duration(job: &Value, now: Timestamp) -> String {
    let time =
        |name: &str| text(job, &["status", name]).and_then(|text| text.parse::<Timestamp>().ok());
    match time("startTime") {
        None => String::new(),
        Some(start) => {
            duration::human(time("completionTime").unwrap_or(now).as_second() - start.as_second())
        }
    }
}

fn controller(object: &Value) -> String {
    let owner = list(object, &["metadata", "ownerReferences"])
        .iter()
        .find(|owner| field(owner, &["controller"]).and_then(Value::as_bool) == Some(true));
    let Some(owner) = owner else {
        return "<none>".to_owned();
    };
    let kind = text(owner, &["kind"])
        .unwrap_or_default()
        .to_ascii_lowercase();
    let group = text(owner, &["apiVersion"])
        .and_then(|version| version.split_once('/'))
        .map(|(group, _)| group);
    let name = text(owner, &["name"]).unwrap_or_default();
    match group {
        Some(group) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

fn replicas(object: &Value) -> i64 {
    count(object, &["spec", "replicas"])
}
