//! The five conditions of a terminating namespace (contract kcm NS2).

use evenkeel_client::DiscoveryFailure;
use k8s_openapi::api::core::v1::{NamespaceCondition, NamespaceStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff;

use super::content::Remaining;

/// What a condition shall say.
struct Wanted {
    type_: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

/// Sets the conditions by what a pass found; answers whether anything changed.
pub(super) fn set(
    status: &mut NamespaceStatus,
    discovery: &[DiscoveryFailure],
    remaining: &Remaining,
    now: jiff::Timestamp,
) -> bool {
    let mut changed = false;
    for wanted in wanted(discovery, remaining) {
        changed |= set_one(status, wanted, now);
    }
    changed
}

fn wanted(discovery: &[DiscoveryFailure], remaining: &Remaining) -> [Wanted; 5] {
    let either = |type_, fault: Option<(&'static str, String)>, reason, message: &str| match fault {
        Some((reason, message)) => Wanted {
            type_,
            holds: true,
            reason,
            message,
        },
        None => Wanted {
            type_,
            holds: false,
            reason,
            message: message.to_owned(),
        },
    };
    let failed = (!discovery.is_empty()).then(|| {
        let versions: Vec<_> = discovery.iter().map(describe).collect();
        let message = format!(
            "Discovery failed for some groups, {} failing: unable to retrieve the complete list of server APIs: {}",
            versions.len(),
            versions.join(", ")
        );
        ("DiscoveryFailed", message)
    });
    let undeleted = (!remaining.errors.is_empty()).then(|| {
        let errors: Vec<_> = remaining.errors.iter().map(ToString::to_string).collect();
        (
            "ContentDeletionFailed",
            format!(
                "Failed to delete all resource types, {} remaining: {}",
                errors.len(),
                errors.join(", ")
            ),
        )
    });
    let left = (!remaining.objects.is_empty()).then(|| {
        let counts: Vec<_> = remaining
            .objects
            .iter()
            .map(|(resource, count)| format!("{resource} has {count} resource instances"))
            .collect();
        (
            "SomeResourcesRemain",
            format!("Some resources are remaining: {}", counts.join(", ")),
        )
    });
    let held = (!remaining.finalizers.is_empty()).then(|| {
        let counts: Vec<_> = remaining
            .finalizers
            .iter()
            .map(|(finalizer, count)| format!("{finalizer} in {count} resource instances"))
            .collect();
        (
            "SomeFinalizersRemain",
            format!(
                "Some content in the namespace has finalizers remaining: {}",
                counts.join(", ")
            ),
        )
    });
    [
        either(
            "NamespaceDeletionDiscoveryFailure",
            failed,
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        either(
            "NamespaceDeletionGroupVersionParsingFailure",
            None,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        either(
            "NamespaceDeletionContentFailure",
            undeleted,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        either(
            "NamespaceContentRemaining",
            left,
            "ContentRemoved",
            "All content successfully removed",
        ),
        either(
            "NamespaceFinalizersRemaining",
            held,
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ]
}

fn describe(failure: &DiscoveryFailure) -> String {
    let DiscoveryFailure {
        group_version,
        error,
        ..
    } = failure;
    match error {
        Some(error) => format!("{group_version}: {error}"),
        None => format!("{group_version}: stale GroupVersion discovery: {group_version}"),
    }
}

fn set_one(status: &mut NamespaceStatus, wanted: Wanted, now: jiff::Timestamp) -> bool {
    let holds = if wanted.holds { "True" } else { "False" };
    let conditions = status.conditions.get_or_insert_default();
    let found = conditions.iter_mut().find(|c| c.type_ == wanted.type_);
    let (condition, is_new) = match found {
        Some(condition) => (condition, false),
        None => {
            conditions.push(NamespaceCondition {
                type_: wanted.type_.to_owned(),
                ..NamespaceCondition::default()
            });
            match conditions.last_mut() {
                Some(condition) => (condition, true),
                None => return false,
            }
        }
    };
    let same = condition.status == holds
        && condition.reason.as_deref() == Some(wanted.reason)
        && condition.message.as_deref() == Some(&wanted.message);
    if same {
        return false;
    }
    if is_new || condition.status != holds {
        condition.last_transition_time = Some(Time(now));
    }
    condition.status = holds.to_owned();
    condition.reason = Some(wanted.reason.to_owned());
    condition.message = Some(wanted.message);
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn at(second: i64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(second).unwrap()
    }

    fn get<'a>(status: &'a NamespaceStatus, type_: &str) -> &'a NamespaceCondition {
        let mut conditions = status.conditions.iter().flatten();
        conditions.find(|c| c.type_ == type_).unwrap()
    }

    #[test]
    fn kcm_ns2_all_five_are_written_together_and_only_when_they_change() {
        let mut status = NamespaceStatus::default();
        let remaining = Remaining {
            objects: BTreeMap::from([("configmaps.".into(), 2), ("secrets.".into(), 1)]),
            finalizers: BTreeMap::from([("q.r/s".into(), 1), ("x.y/z".into(), 3)]),
            ..Remaining::default()
        };
        assert!(set(&mut status, &[], &remaining, at(1)));
        assert_eq!(status.conditions.as_ref().unwrap().len(), 5);
        let left = get(&status, "NamespaceContentRemaining");
        assert_eq!(
            left.message.as_deref(),
            Some(
                "Some resources are remaining: configmaps. has 2 resource instances, secrets. has 1 resource instances"
            )
        );
        assert_eq!(
            (left.status.as_str(), left.reason.as_deref()),
            ("True", Some("SomeResourcesRemain"))
        );
        assert_eq!(
            get(&status, "NamespaceFinalizersRemaining")
                .message
                .as_deref(),
            Some(
                "Some content in the namespace has finalizers remaining: q.r/s in 1 resource instances, x.y/z in 3 resource instances"
            )
        );
        assert!(!set(&mut status, &[], &remaining, at(2)), "nothing new");
        assert!(set(&mut status, &[], &Remaining::default(), at(3)));
        let left = get(&status, "NamespaceContentRemaining");
        assert_eq!(
            left.message.as_deref(),
            Some("All content successfully removed")
        );
        assert_eq!(left.last_transition_time, Some(Time(at(3))));
        assert_eq!(
            get(&status, "NamespaceDeletionDiscoveryFailure").last_transition_time,
            Some(Time(at(1)))
        );
    }
}
