use crate::LeaseRecord;

/// Whom a pair of locks names that do not agree: nobody may think it free before it expires
/// (client-go L23).
pub(crate) const UNKNOWN: &str = "leaderelection.k8s.io/unknown";

/// What a legacy record and a Lease's say together.
pub(crate) fn joined(legacy: &LeaseRecord, lease: &LeaseRecord) -> LeaseRecord {
    let holder = if legacy.holder == lease.holder {
        &legacy.holder
    } else {
        UNKNOWN
    };
    LeaseRecord {
        holder: holder.to_owned(),
        // Either may be the one that its holder counts on.
        duration_seconds: legacy.duration_seconds.max(lease.duration_seconds),
        transitions: legacy.transitions.max(lease.transitions),
        ..legacy.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(holder: &str, seconds: i32, transitions: i32) -> LeaseRecord {
        LeaseRecord {
            holder: holder.to_owned(),
            duration_seconds: Some(seconds),
            transitions,
            ..LeaseRecord::default()
        }
    }

    #[test]
    fn l23_locks_that_do_not_agree_are_held_by_someone_unknown_for_the_longer_time() {
        let both = joined(&record("A", 15, 3), &record("A", 15, 3));
        assert_eq!(both, record("A", 15, 3));
        for (legacy, lease) in [("A", "B"), ("", "B"), ("A", "")] {
            let both = joined(&record(legacy, 15, 3), &record(lease, 60, 4));
            assert_eq!(both, record(UNKNOWN, 60, 4));
        }
    }
}
