use evenkeel_meta::{DynamicObject, MicroTime};
use serde::{Deserialize, Serialize};

use crate::{LeaseRecord, MalformedLease};

/// Where a legacy object carries its record (client-go L22).
pub(crate) const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

/// The record's wire form; the order of its keys is part of it.
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Wire {
    holder_identity: String,
    lease_duration_seconds: i32,
    acquire_time: Option<MicroTime>,
    renew_time: Option<MicroTime>,
    leader_transitions: i32,
}

/// The record in the object's annotation; one without an annotation is held by nobody.
pub(crate) fn read(object: &DynamicObject) -> Result<LeaseRecord, MalformedLease> {
    let Some(text) = object.metadata.annotations.get(LEADER) else {
        return Ok(LeaseRecord::default());
    };
    let wire: Wire = serde_json::from_str(text)?;
    Ok(LeaseRecord {
        holder: wire.holder_identity,
        duration_seconds: Some(wire.lease_duration_seconds),
        acquired: wire.acquire_time,
        renewed: wire.renew_time,
        transitions: wire.leader_transitions,
        ..LeaseRecord::default()
    })
}

/// Puts the record there; everything else of the object stays as it is.
///
/// With microseconds, which the old releases read and never wrote: two renewals within one
/// second must not look like one (client-go L6).
pub(crate) fn write(
    object: &mut DynamicObject,
    record: &LeaseRecord,
) -> Result<(), MalformedLease> {
    let text = serde_json::to_string(&Wire {
        holder_identity: record.holder.clone(),
        lease_duration_seconds: record.duration_seconds.unwrap_or_default(),
        acquire_time: record.acquired,
        renew_time: record.renewed,
        leader_transitions: record.transitions,
    })?;
    object.metadata.annotations.insert(LEADER.to_owned(), text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn l22_the_record_is_an_annotation_and_nothing_else_is_touched() {
        let wire = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "demo", "annotations": {"other": "kept",
                LEADER: r#"{"holderIdentity":"old","leaseDurationSeconds":15,"acquireTime":"2000-01-01T00:00:01Z","renewTime":"2000-01-01T00:00:03Z","leaderTransitions":4}"#}},
            "data": {"theirs": "kept"}
        });
        let mut object: DynamicObject = serde_json::from_value(wire).unwrap();
        let record = read(&object).unwrap();
        assert_eq!((&*record.holder, record.transitions), ("old", 4));
        assert_eq!(record.duration_seconds, Some(15));

        let time = |micros| Some(MicroTime(Timestamp::from_microsecond(micros)));
        let mine = LeaseRecord {
            holder: "me".to_owned(),
            duration_seconds: Some(15),
            acquired: time(946_684_801_000_000),
            renewed: time(946_684_803_000_001),
            transitions: 5,
            ..LeaseRecord::default()
        };
        write(&mut object, &mine).unwrap();
        assert_eq!(read(&object).unwrap(), mine);
        assert_eq!(
            object.metadata.annotations[LEADER],
            r#"{"holderIdentity":"me","leaseDurationSeconds":15,"acquireTime":"2000-01-01T00:00:01.000000Z","renewTime":"2000-01-01T00:00:03.000001Z","leaderTransitions":5}"#
        );
        assert_eq!(object.metadata.annotations["other"], "kept");
        assert_eq!(object.data["data"]["theirs"], "kept");

        object.metadata.annotations.clear();
        assert_eq!(read(&object).unwrap(), LeaseRecord::default());
        let broken = (LEADER.to_owned(), "not json".to_owned());
        object.metadata.annotations.extend([broken]);
        assert!(read(&object).is_err());
    }
}
