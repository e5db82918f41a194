use serde_json::{Map, Value};

use super::{child, default, existing, items, pod};

pub(super) fn job(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    pod::template(spec, "template");
    if !spec.contains_key("parallelism") {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    let backoff_limit = if spec.contains_key("backoffLimitPerIndex") {
        i32::MAX
    } else {
        6
    };
    default(spec, "backoffLimit", backoff_limit);
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    default(spec, "manualSelector", false);
    let replacement = if spec.contains_key("podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    default(spec, "podReplacementPolicy", replacement);
    failure_policy(spec);
    let labels = spec
        .get("template")
        .and_then(|template| template.pointer("/metadata/labels"))
        .cloned();
    if let Some(labels) = labels {
        default(child(object, "metadata"), "labels", labels);
    }
}

pub(super) fn cron_job(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    default(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    if let Some(job) = existing(spec, "jobTemplate").and_then(|template| existing(template, "spec"))
    {
        pod::template(job, "template");
        failure_policy(job);
    }
}

fn failure_policy(job: &mut Map<String, Value>) {
    let Some(policy) = existing(job, "podFailurePolicy") else {
        return;
    };
    for rule in items(policy, "rules") {
        for condition in items(rule, "onPodConditions") {
            default(condition, "status", "True");
        }
    }
}
