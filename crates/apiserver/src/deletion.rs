//! What a deletion does to an object: finalizers, grace and propagation, decided without I/O.

use std::time::Duration;

use evenkeel_meta::{
    GroupVersionKind, Meta, Preconditions, PropagationPolicy, Status, StatusCause, Timestamp,
};
use serde_json::Value;

use crate::object::metadata_mut;
use crate::resources::Rules;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The checked options of one deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) policy: Option<PropagationPolicy>,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) preconditions: Preconditions,
}

/// What decides about the grace of a pod. Other objects have none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PodState {
    pub(crate) assigned: bool,
    pub(crate) finished: bool,
    pub(crate) grace_seconds: Option<i64>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Write nothing.
    Keep,
    /// Write these marks, then remove the object if `remove`.
    Mark { marks: Marks, remove: bool },
    /// Remove the object as it is.
    Remove,
}

/// The metadata of an object that is going away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) deletion_timestamp: Option<Timestamp>,
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) finalizers: Vec<String>,
    pub(crate) bump_generation: bool,
}

impl Options {
    /// From the text of the propagation policy, which may be anything.
    pub(crate) fn new(
        grace_seconds: Option<i64>,
        policy: Option<&str>,
        orphan_dependents: Option<bool>,
        preconditions: Preconditions,
    ) -> Result<Self, Status> {
        let policy = match policy {
            None => None,
            Some(text) if orphan_dependents.is_some() => {
                let why = format!(
                    "Invalid value: \"{text}\": orphanDependents and deletionPropagation cannot be both set"
                );
                return Err(invalid("FieldValueInvalid", why));
            }
            Some("Foreground") => Some(PropagationPolicy::Foreground),
            Some("Background") => Some(PropagationPolicy::Background),
            Some("Orphan") => Some(PropagationPolicy::Orphan),
            Some(other) => {
                let why = format!(
                    "Unsupported value: \"{other}\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
                );
                return Err(invalid("FieldValueNotSupported", why));
            }
        };
        Ok(Self {
            grace_seconds,
            policy,
            orphan_dependents,
            preconditions,
        })
    }

    /// The two GC finalizers are dropped, then at most one is added back.
    fn finalizers(&self, current: &[String], rules: &Rules) -> Vec<String> {
        let has = |name: &str| current.iter().any(|finalizer| finalizer == name);
        let collector = if rules.never_collected {
            None
        } else {
            match (self.orphan_dependents, self.policy) {
                (Some(true), _) | (None, Some(PropagationPolicy::Orphan)) => Some(ORPHAN),
                (None, Some(PropagationPolicy::Foreground)) => Some(FOREGROUND),
                (Some(false), _) | (None, Some(PropagationPolicy::Background)) => None,
                (None, None) if has(ORPHAN) => Some(ORPHAN),
                (None, None) if has(FOREGROUND) => Some(FOREGROUND),
                (None, None) => rules.orphans_by_default.then_some(ORPHAN),
            }
        };
        let kept = current
            .iter()
            .filter(|name| *name != ORPHAN && *name != FOREGROUND)
            .cloned();
        kept.chain(collector.map(str::to_owned)).collect()
    }
}

impl Marks {
    /// Writes the marks into the object.
    pub(crate) fn apply(&self, object: &mut Value) {
        let metadata = metadata_mut(object);
        if let Some(time) = self.deletion_timestamp {
            metadata.insert("deletionTimestamp".into(), time.to_string().into());
        }
        if let Some(grace) = self.grace_seconds {
            metadata.insert("deletionGracePeriodSeconds".into(), grace.into());
        }
        if self.finalizers.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".into(), self.finalizers.clone().into());
        }
        if self.bump_generation {
            let generation = metadata
                .get("generation")
                .and_then(Value::as_i64)
                .unwrap_or(0);
            metadata.insert("generation".into(), (generation + 1).into());
        }
    }
}

/// Decides on one object.
pub(crate) fn plan(
    meta: &Meta,
    pod: Option<PodState>,
    rules: &Rules,
    options: &Options,
    now: Timestamp,
) -> Plan {
    match pod {
        Some(pod) => plan_graceful(meta, pod, rules, options, now),
        None => {
            let finalizers = options.finalizers(&meta.finalizers, rules);
            finish(meta, meta.deletion_timestamp, None, finalizers, false, now)
        }
    }
}

fn plan_graceful(
    meta: &Meta,
    pod: PodState,
    rules: &Rules,
    options: &Options,
    now: Timestamp,
) -> Plan {
    let Some(deadline) = meta.deletion_timestamp else {
        let grace = pod.grace(options);
        let finalizers = options.finalizers(&meta.finalizers, rules);
        let deadline = now.saturating_add(seconds(grace));
        return finish(
            meta,
            Some(deadline),
            Some(grace),
            finalizers,
            meta.generation.is_some(),
            now,
        );
    };
    let Some(running) = meta.deletion_grace_period_seconds else {
        return finish(
            meta,
            Some(deadline),
            None,
            options.finalizers(&meta.finalizers, rules),
            false,
            now,
        );
    };
    // A deletion under way may only be hurried, and unhurried ones change nothing at all.
    match options.grace_seconds.map(|_| pod.grace(options)) {
        Some(grace) if grace < running => {
            let moved = deadline.as_second() - running + grace;
            let finalizers = options.finalizers(&meta.finalizers, rules);
            finish(
                meta,
                Some(Timestamp::from_second(moved)),
                Some(grace),
                finalizers,
                false,
                now,
            )
        }
        _ if running > 0 => Plan::Keep,
        // Only finalizers hold it now, and they follow the policy.
        _ => {
            let finalizers = options.finalizers(&meta.finalizers, rules);
            if finalizers.is_empty() {
                return Plan::Remove;
            }
            finish(meta, Some(deadline), Some(0), finalizers, false, now)
        }
    }
}

fn finish(
    meta: &Meta,
    deletion_timestamp: Option<Timestamp>,
    grace: Option<i64>,
    finalizers: Vec<String>,
    bump_generation: bool,
    now: Timestamp,
) -> Plan {
    let held = !finalizers.is_empty() || grace.is_some_and(|grace| grace > 0);
    let marks = if finalizers.is_empty() {
        Marks {
            deletion_timestamp,
            grace_seconds: grace,
            finalizers,
            bump_generation,
        }
    } else {
        // Held by finalizers: marked as deleted whatever the type.
        let first_mark = meta.deletion_timestamp.is_none();
        Marks {
            deletion_timestamp: deletion_timestamp.or(Some(now)),
            grace_seconds: grace.or(Some(0)),
            bump_generation: bump_generation || (first_mark && meta.generation.is_some()),
            finalizers,
        }
    };
    let unchanged = marks.finalizers == meta.finalizers
        && marks.deletion_timestamp == meta.deletion_timestamp
        && marks.grace_seconds == meta.deletion_grace_period_seconds;
    match (held, unchanged) {
        (true, true) => Plan::Keep,
        (true, false) => Plan::Mark {
            marks,
            remove: false,
        },
        // A pod shows its last marks to watchers before it goes.
        (false, false) if grace.is_some() => Plan::Mark {
            marks,
            remove: true,
        },
        (false, _) => Plan::Remove,
    }
}

impl PodState {
    fn grace(self, options: &Options) -> i64 {
        let asked = options.grace_seconds.or(self.grace_seconds).unwrap_or(0);
        match asked {
            _ if !self.assigned || self.finished => 0,
            negative if negative < 0 => 1,
            grace => grace,
        }
    }
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

fn invalid(reason: &str, message: String) -> Status {
    let kind = GroupVersionKind::from_api_version("meta.k8s.io/v1", "DeleteOptions");
    let cause = StatusCause {
        reason: reason.into(),
        message,
        field: "propagationPolicy".into(),
    };
    Status::invalid(&kind, "", vec![cause])
}
