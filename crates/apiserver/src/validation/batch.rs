use serde_json::Value;

use super::pod;
use super::read::{flag, get, list, number, optional_text, text};
use super::report::{Path, Report};
use super::selectors;

const IMMUTABLE: &str = "field is immutable";

pub(super) fn job(new: &Value, old: Option<&Value>, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    let selector = get(spec, "selector");
    if selector.is_null() {
        report.required(&at.field("selector"), "");
    } else {
        selectors::check(&at.field("selector"), selector, report);
    }
    let template = get(spec, "template");
    let labels = get(get(template, "metadata"), "labels");
    if selector.is_null() || !selectors::matches(selector, labels) {
        let at = at.field("template");
        let at = at.field("metadata");
        report.invalid(
            &at.field("labels"),
            labels,
            "`selector` does not match template `labels`",
        );
    }
    job_spec(&at, spec, report);
    if let Some(old) = old {
        job_update(&at, spec, old, report);
    }
}

fn job_spec(at: &Path<'_>, spec: &Value, report: &mut Report) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ] {
        report.not_negative(&at.field(field), number(spec, field));
    }
    let mode = optional_text(spec, "completionMode");
    report.one_of(
        &at.field("completionMode"),
        mode,
        &["NonIndexed", "Indexed"],
    );
    if mode == Some("Indexed") && number(spec, "completions").is_none() {
        report.required(&at.field("completions"), "when completion mode is Indexed");
    }
    let policy = get(spec, "podFailurePolicy");
    for (index, rule) in list(policy, "rules").iter().enumerate() {
        let at = at.field("podFailurePolicy");
        let rules = at.field("rules");
        let at = rules.index(index);
        report.one_of(
            &at.field("action"),
            optional_text(rule, "action"),
            &["Count", "FailIndex", "FailJob", "Ignore"],
        );
    }
    if policy.is_object() && text(spec, "podReplacementPolicy") != "Failed" {
        let replacement = text(spec, "podReplacementPolicy");
        report.not_supported(&at.field("podReplacementPolicy"), replacement, &["Failed"]);
    }
    let template = get(spec, "template");
    let at = at.field("template");
    pod::template(&at, template, &[], report);
    let at = at.field("spec");
    let restart = text(get(template, "spec"), "restartPolicy");
    if matches!(restart, "Always" | "") {
        report.required(
            &at.field("restartPolicy"),
            "valid values: \"OnFailure\", \"Never\"",
        );
    }
}

fn job_update(at: &Path<'_>, spec: &Value, old: &Value, report: &mut Report) {
    let old_spec = get(old, "spec");
    let elastic = text(spec, "completionMode") == "Indexed"
        && number(spec, "completions") == number(spec, "parallelism")
        && number(old_spec, "completions") == number(old_spec, "parallelism");
    // Until it has started, a suspended job's pods may still be directed elsewhere.
    let waiting = flag(old_spec, "suspend") && get(old, "status").get("startTime").is_none();
    for field in [
        "completions",
        "selector",
        "template",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
    ] {
        let may_change = match field {
            "completions" => elastic,
            "template" => waiting,
            _ => false,
        };
        let value = get(spec, field);
        if !may_change && value != get(old_spec, field) {
            report.invalid(&at.field(field), value, IMMUTABLE);
        }
    }
}

pub(super) fn cron_job(new: &Value, report: &mut Report) {
    let at = Path::root("spec");
    let spec = get(new, "spec");
    schedule(&at.field("schedule"), text(spec, "schedule"), report);
    report.not_negative(
        &at.field("startingDeadlineSeconds"),
        number(spec, "startingDeadlineSeconds"),
    );
    let concurrency = optional_text(spec, "concurrencyPolicy");
    report.one_of(
        &at.field("concurrencyPolicy"),
        concurrency,
        &["Allow", "Forbid", "Replace"],
    );
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        report.not_negative(&at.field(field), number(spec, field));
    }
    let at = at.field("jobTemplate");
    job_spec(
        &at.field("spec"),
        get(get(spec, "jobTemplate"), "spec"),
        report,
    );
}

fn schedule(at: &Path<'_>, schedule: &str, report: &mut Report) {
    if schedule.is_empty() {
        report.required(at, "");
        return;
    }
    if schedule.contains("TZ") {
        report.invalid(
            at,
            schedule,
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        );
        return;
    }
    if schedule.starts_with('@') {
        return;
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        let why = format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        );
        report.invalid(at, schedule, &why);
    }
}
