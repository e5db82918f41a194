use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{
    ApiResource, DynamicObject, Meta, MicroTime, ResourceVersion, Scope, TypeMeta,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// `coordination.k8s.io/v1` `Lease`.
pub(crate) const LEASES: ApiResource = ApiResource::new_static(
    "coordination.k8s.io",
    "v1",
    "Lease",
    "leases",
    Scope::Namespaced,
);

/// A Lease as it was read: the election record, and all the rest untouched.
///
/// A write sends back everything that was read, so labels, annotations and fields that this
/// crate does not know survive (client-go L3, L19).
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// `spec`.
    pub record: LeaseRecord,
    /// The object without its spec; with [`Lock::Legacy`](crate::Lock) or `Both`, the legacy
    /// object. Shared: a candidate keeps what it has seen, and writes it back as it is.
    object: Arc<DynamicObject>,
    beside: Beside,
}

/// What was read together with the first object of a lock.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) enum Beside {
    #[default]
    Nothing,
    /// The Lease of a pair; `None` if there is none. Its record is part of what tells that the
    /// holder is alive.
    Lease(Option<Box<Lease>>),
    /// A legacy lock that must be free as well.
    Legacy(Box<LeaseRecord>),
}

/// The election's part of a Lease: its `spec`.
///
/// Compared as a whole, with microseconds, to tell whether a holder is alive: times in it
/// are never compared with a local clock (client-go L4, L6).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LeaseRecord {
    /// Who holds the Lease; empty when nobody does.
    pub holder: String,
    /// How long the holder keeps it after its last renewal, in seconds.
    pub duration_seconds: Option<i32>,
    /// When the holder took it, by the holder's wall clock.
    pub acquired: Option<MicroTime>,
    /// When the holder last renewed it, by the holder's wall clock.
    pub renewed: Option<MicroTime>,
    /// How often it went from one holder to another.
    pub transitions: i32,
    /// Fields that the election leaves alone: `strategy`, `preferredHolder`, later ones.
    pub rest: Map<String, Value>,
}

/// The object is no Lease.
#[derive(Debug, thiserror::Error)]
#[error("not a Lease: {0}")]
pub struct MalformedLease(#[from] serde_json::Error);

impl Lease {
    /// A Lease that does not exist yet.
    #[must_use]
    pub fn new(namespace: &str, name: &str, record: LeaseRecord) -> Self {
        Self {
            record,
            object: Arc::new(DynamicObject {
                types: TypeMeta {
                    api_version: LEASES.api_version().into_owned(),
                    kind: LEASES.kind.clone().into_owned(),
                },
                metadata: Meta {
                    namespace: Some(namespace.to_owned()),
                    name: name.to_owned(),
                    ..Meta::default()
                },
                ..DynamicObject::default()
            }),
            beside: Beside::Nothing,
        }
    }

    /// Splits what the server sent.
    ///
    /// # Errors
    /// When the spec's fields have other types than a Lease's.
    pub fn from_object(mut object: DynamicObject) -> Result<Self, MalformedLease> {
        let spec = object.data.remove("spec").unwrap_or(Value::Null);
        let wire = Option::<WireSpec>::deserialize(spec)?.unwrap_or_default();
        Ok(Self {
            record: wire.into(),
            object: Arc::new(object),
            beside: Beside::Nothing,
        })
    }

    /// A legacy object, or the pair that it is part of.
    pub(crate) fn of_legacy(object: DynamicObject, record: LeaseRecord, beside: Beside) -> Self {
        Self {
            record,
            object: Arc::new(object),
            beside,
        }
    }

    pub(crate) fn with_beside(self, beside: Beside) -> Self {
        Self { beside, ..self }
    }

    pub(crate) fn beside(&self) -> &Beside {
        &self.beside
    }

    /// The object as it was read, whatever its kind.
    pub(crate) fn object(&self) -> &DynamicObject {
        &self.object
    }

    /// Whether two readings show the same state of the election.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let pair = |lease: &Self| match &lease.beside {
            Beside::Lease(Some(lease)) => Some(lease.record.clone()),
            _ => None,
        };
        self.record == other.record && pair(self) == pair(other)
    }

    /// Joins it again for a write.
    #[must_use]
    pub fn into_object(self) -> DynamicObject {
        let mut object = Arc::unwrap_or_clone(self.object);
        object
            .data
            .insert("spec".to_owned(), self.record.into_spec());
        object
    }

    /// The same object with another record.
    #[must_use]
    pub fn with_record(&self, record: LeaseRecord) -> Self {
        Self {
            record,
            object: Arc::clone(&self.object),
            beside: self.beside.clone(),
        }
    }

    /// Which state of the object this is; `None` before it was created.
    #[must_use]
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.object.metadata.resource_version.as_ref()
    }

    /// The object's metadata.
    #[must_use]
    pub fn metadata(&self) -> &Meta {
        &self.object.metadata
    }

    /// Sets labels, leaving those with other keys alone (client-go L19).
    pub(crate) fn merge_labels(&mut self, labels: &BTreeMap<String, String>) {
        let has = &self.object.metadata.labels;
        if labels
            .iter()
            .any(|(key, value)| has.get(key) != Some(value))
        {
            let has = &mut Arc::make_mut(&mut self.object).metadata.labels;
            has.extend(labels.clone());
        }
        if let Beside::Lease(Some(lease)) = &mut self.beside {
            lease.merge_labels(labels);
        }
    }

    /// A server's stand-in for tests: the same object in a given state.
    #[cfg(test)]
    pub(crate) fn at_version(mut self, version: u64) -> Self {
        Arc::make_mut(&mut self.object).metadata.resource_version =
            Some(ResourceVersion::from(version));
        self
    }
}

impl LeaseRecord {
    /// The candidate that shall lead next, where a control plane assigns the lead; the holder's
    /// term ends (client-go L21).
    #[must_use]
    pub fn preferred_holder(&self) -> Option<&str> {
        let preferred = self.rest.get("preferredHolder")?.as_str()?;
        (!preferred.is_empty()).then_some(preferred)
    }

    /// How long the record holds from when it was first seen; `own` where it does not say.
    #[must_use]
    pub(crate) fn duration_or(&self, own: Duration) -> Duration {
        self.duration_seconds.map_or(own, |seconds| {
            Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
        })
    }

    fn into_spec(self) -> Value {
        let mut spec = self.rest;
        spec.insert("holderIdentity".to_owned(), json!(self.holder));
        spec.insert("leaseTransitions".to_owned(), json!(self.transitions));
        if let Some(seconds) = self.duration_seconds {
            spec.insert("leaseDurationSeconds".to_owned(), json!(seconds));
        }
        if let Some(time) = self.acquired {
            spec.insert("acquireTime".to_owned(), json!(time.to_string()));
        }
        if let Some(time) = self.renewed {
            spec.insert("renewTime".to_owned(), json!(time.to_string()));
        }
        Value::Object(spec)
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<i32>,
    acquire_time: Option<MicroTime>,
    renew_time: Option<MicroTime>,
    lease_transitions: Option<i32>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl From<WireSpec> for LeaseRecord {
    fn from(wire: WireSpec) -> Self {
        Self {
            holder: wire.holder_identity.unwrap_or_default(),
            duration_seconds: wire.lease_duration_seconds,
            acquired: wire.acquire_time,
            renewed: wire.renew_time,
            transitions: wire.lease_transitions.unwrap_or_default(),
            rest: wire.rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::Timestamp;

    use super::*;

    #[test]
    fn l3_a_new_lease_has_the_wire_form_of_client_go() {
        let time = MicroTime(Timestamp::from_microsecond(946_684_801_234_567));
        let lease = Lease::new(
            "kube-system",
            "demo",
            LeaseRecord {
                holder: "A".to_owned(),
                duration_seconds: Some(15),
                acquired: Some(time),
                renewed: Some(time),
                transitions: 0,
                rest: Map::new(),
            },
        );
        assert_eq!(
            serde_json::to_value(lease.into_object()).unwrap(),
            json!({
                "kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
                "metadata": {"name": "demo", "namespace": "kube-system"},
                "spec": {
                    "holderIdentity": "A", "leaseDurationSeconds": 15,
                    "acquireTime": "2000-01-01T00:00:01.234567Z",
                    "renewTime": "2000-01-01T00:00:01.234567Z",
                    "leaseTransitions": 0
                }
            })
        );
    }

    #[test]
    fn l19_a_write_sends_back_all_that_was_read() {
        let wire = json!({
            "kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
            "metadata": {"name": "demo", "namespace": "ns", "uid": "1", "resourceVersion": "7",
                "labels": {"theirs": "kept", "mine": "old"}, "annotations": {"a": "b"},
                "managedFields": [{"manager": "x"}]},
            "spec": {"holderIdentity": "B", "leaseDurationSeconds": 60, "leaseTransitions": 4,
                "strategy": "OldestEmulationVersion", "fromTheFuture": {"x": [1]}},
            "alsoUnknown": true
        });
        let mut lease = Lease::from_object(serde_json::from_value(wire.clone()).unwrap()).unwrap();
        lease.merge_labels(&BTreeMap::from([("mine".to_owned(), "new".to_owned())]));
        let mut expected = wire;
        expected["metadata"]["labels"]["mine"] = json!("new");
        assert_eq!(serde_json::to_value(lease.into_object()).unwrap(), expected);
    }

    #[test]
    fn ts78_absent_and_null_fields_read_as_a_lease_that_nobody_holds() {
        for spec in [
            json!(null),
            json!({}),
            json!({"holderIdentity": null, "renewTime": null}),
        ] {
            let wire = json!({"metadata": {"name": "demo"}, "spec": spec});
            let lease = Lease::from_object(serde_json::from_value(wire).unwrap()).unwrap();
            assert_eq!(lease.record, LeaseRecord::default());
            let spec = &serde_json::to_value(lease.into_object()).unwrap()["spec"];
            assert_eq!(spec, &json!({"holderIdentity": "", "leaseTransitions": 0}));
        }
        let wrong = json!({"metadata": {"name": "demo"}, "spec": {"holderIdentity": 7}});
        assert!(Lease::from_object(serde_json::from_value(wrong).unwrap()).is_err());
    }
}
