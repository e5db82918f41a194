//! Which changes of an object are worth a run.
//!
//! A condition is only ever asked about an update of one object. Additions and deletions, the
//! setting of the deletion timestamp (which changes nothing else, incident 12) and resyncs, which
//! somebody asked for, pass without being asked: no condition can swallow them.
//!
//! ```
//! use evenkeel::{Watch, changed};
//! use k8s_openapi::api::apps::v1::Deployment;
//! # fn example(deployments: &evenkeel::store::Informer<Deployment>) {
//! // What users ask for, and not what controllers report.
//! let asked = Watch::of(deployments).when(changed::generation().or(changed::labels()));
//! // Whatever else can be told from the two states.
//! let ready = |deployment: &Deployment| deployment.status.as_ref().and_then(|s| s.ready_replicas);
//! let reported = Watch::of(deployments).when(changed::value(ready));
//! # }
//! ```

use std::ops::Not;
use std::sync::Arc;

use evenkeel_meta::{MetaView, Object};

/// A condition on the state before and the state after an update.
#[must_use]
pub struct Changed<T>(Arc<Test<T>>);

type Test<T> = dyn Fn(&T, &T) -> bool + Send + Sync;

/// Whatever can be told from the old and the new state.
pub fn by<T: 'static>(test: impl Fn(&T, &T) -> bool + Send + Sync + 'static) -> Changed<T> {
    Changed(Arc::new(test))
}

/// What `read` makes of the object has changed.
pub fn value<T: 'static, V: PartialEq>(
    read: impl Fn(&T) -> V + Send + Sync + 'static,
) -> Changed<T> {
    by(move |old, new| read(old) != read(new))
}

/// The generation: the server counts it up when what is asked for changes, and for a kind with
/// a status subresource not when the status does.
pub fn generation<T: Object + 'static>() -> Changed<T> {
    value(|object: &T| object.metadata().generation())
}

/// Any label.
pub fn labels<T: Object + 'static>() -> Changed<T> {
    by(|old: &T, new: &T| !old.metadata().labels().eq(new.metadata().labels()))
}

/// Any annotation.
pub fn annotations<T: Object + 'static>() -> Changed<T> {
    by(|old: &T, new: &T| {
        let (old, new) = (old.metadata(), new.metadata());
        !old.annotations().eq(new.annotations())
    })
}

/// The resource version: anything at all.
pub fn resource_version<T: Object + 'static>() -> Changed<T> {
    value(|object: &T| object.metadata().resource_version())
}

impl<T: 'static> Changed<T> {
    /// One of the two.
    pub fn or(self, other: Self) -> Self {
        by(move |old, new| self.holds(old, new) || other.holds(old, new))
    }

    /// Both.
    pub fn and(self, other: Self) -> Self {
        by(move |old, new| self.holds(old, new) && other.holds(old, new))
    }

    /// Whether it holds for an update from `old` to `new`.
    #[must_use]
    pub fn holds(&self, old: &T, new: &T) -> bool {
        (self.0)(old, new)
    }
}

impl<T: 'static> Not for Changed<T> {
    type Output = Self;

    fn not(self) -> Self {
        by(move |old, new| !self.holds(old, new))
    }
}

impl<T> Clone for Changed<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> std::fmt::Debug for Changed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Changed")
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::Metadata;
    use serde_json::json;

    use super::*;

    fn object(fields: &serde_json::Value) -> Metadata {
        let mut metadata = json!({"name": "a", "generation": 1, "resourceVersion": "1"});
        let (fields, there) = (
            fields.as_object().unwrap(),
            metadata.as_object_mut().unwrap(),
        );
        there.extend(fields.clone());
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    #[expect(clippy::needless_pass_by_value, reason = "literals read better")]
    fn holds(changed: &Changed<Metadata>, old: serde_json::Value, new: serde_json::Value) -> bool {
        changed.holds(&object(&old), &object(&new))
    }

    #[test]
    fn controller_runtime_t65_what_has_changed_and_what_has_not() {
        let one = || json!({"labels": {"a": "1"}, "annotations": {"a": "1"}});
        for (changed, field) in [(labels(), "labels"), (annotations(), "annotations")] {
            assert!(!holds(&changed, one(), one()));
            assert!(!holds(&changed, json!({}), json!({})));
            assert!(
                !holds(&changed, json!({}), json!({field: {}})),
                "none is none"
            );
            for other in [
                json!({}),
                json!({field: {"a": "2"}}),
                json!({field: {"a": "1", "b": "1"}}),
            ] {
                assert!(holds(&changed, one(), other.clone()), "{other}");
                assert!(holds(&changed, other, one()));
            }
        }
        assert!(holds(&generation(), json!({}), json!({"generation": 2})));
        assert!(!holds(
            &generation(),
            json!({}),
            json!({"resourceVersion": "2"})
        ));
        assert!(holds(
            &resource_version(),
            json!({}),
            json!({"resourceVersion": "2"})
        ));
        assert!(!holds(
            &resource_version(),
            json!({}),
            json!({"generation": 2})
        ));
    }

    #[test]
    fn controller_runtime_t65_conditions_are_joined_and_turned_around() {
        let (yes, no) = (
            || by(|_: &Metadata, _: &Metadata| true),
            || by(|_: &Metadata, _: &Metadata| false),
        );
        for (a, b) in [(true, true), (true, false), (false, true), (false, false)] {
            let make = |value: bool| if value { yes() } else { no() };
            assert_eq!(holds(&make(a).or(make(b)), json!({}), json!({})), a || b);
            assert_eq!(holds(&make(a).and(make(b)), json!({}), json!({})), a && b);
            assert_eq!(holds(&!make(a), json!({}), json!({})), !a);
        }
    }
}
