use std::collections::BTreeMap;
use std::time::Duration;

use super::super::{Candidate, Failure, Operation};
use crate::lease::Beside;
use crate::{Lease, LeaseRecord, Timing};

pub(crate) fn timing() -> Timing {
    Timing::default()
}

pub(crate) fn candidate(name: &str) -> Candidate {
    Candidate {
        namespace: "kube-system".to_owned(),
        name: "demo".to_owned(),
        identity: name.into(),
        timing: timing(),
        margin: timing().default_margin(),
        labels: BTreeMap::new(),
        coordinated: false,
    }
}

/// One Lease on a server: compare-and-swap by resource version.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) lease: Option<Lease>,
    revision: u64,
    /// What the next requests fail with instead of being carried out.
    pub(crate) failures: Vec<Failure>,
    /// What the lock of an old release says, for candidates that look at it too.
    pub(crate) legacy: Option<LeaseRecord>,
}

impl Table {
    /// A Lease that somebody else wrote.
    pub(crate) fn held_by(holder: &str, seconds: u64) -> Self {
        let mut table = Self::default();
        table.put(holder, seconds, 0);
        table
    }

    /// Writes the record past any check, with a new version.
    pub(crate) fn put(&mut self, holder: &str, seconds: u64, transitions: i32) {
        let record = LeaseRecord {
            holder: holder.to_owned(),
            duration_seconds: i32::try_from(seconds).ok(),
            renewed: Some(evenkeel_meta::MicroTime(
                evenkeel_meta::Timestamp::from_microsecond(i64::try_from(self.revision).unwrap()),
            )),
            transitions,
            ..LeaseRecord::default()
        };
        let base = self.lease.clone();
        let base =
            base.unwrap_or_else(|| Lease::new("kube-system", "demo", LeaseRecord::default()));
        self.store(base.with_record(record));
    }

    /// What the control plane does: it names the holder, or whom it would prefer.
    pub(crate) fn assign(&mut self, holder: &str, preferred: &str) {
        let base = self.lease.clone();
        let base =
            base.unwrap_or_else(|| Lease::new("kube-system", "demo", LeaseRecord::default()));
        let mut record = base.record.clone();
        record.holder = holder.to_owned();
        record.duration_seconds = Some(15);
        let fields = [
            ("strategy", "OldestEmulationVersion"),
            ("preferredHolder", preferred),
        ];
        record.rest = fields
            .map(|(k, v)| (k.to_owned(), v.into()))
            .into_iter()
            .collect();
        self.store(base.with_record(record));
    }

    /// Changes the object but not the record.
    pub(crate) fn touch(&mut self) {
        let mut lease = self.lease.clone().unwrap();
        lease.merge_labels(&BTreeMap::from([(
            "touched".to_owned(),
            self.revision.to_string(),
        )]));
        self.store(lease);
    }

    pub(crate) fn delete(&mut self) -> Lease {
        self.revision += 1;
        self.lease.take().unwrap().at_version(self.revision)
    }

    pub(crate) fn holder(&self) -> &str {
        self.lease.as_ref().map_or("", |lease| &lease.record.holder)
    }

    pub(crate) fn transitions(&self) -> i32 {
        self.lease.as_ref().unwrap().record.transitions
    }

    pub(crate) fn carry_out(
        &mut self,
        operation: &Operation,
    ) -> (&'static str, Result<Lease, Failure>) {
        let name = match operation {
            Operation::Get => "get",
            Operation::Create(_) => "create",
            Operation::Update(_) => "update",
        };
        if !self.failures.is_empty() {
            return (name, Err(self.failures.remove(0)));
        }
        (name, self.apply(operation))
    }

    pub(crate) fn apply(&mut self, operation: &Operation) -> Result<Lease, Failure> {
        if let (Operation::Get, Some(legacy)) = (operation, &self.legacy) {
            let lease = self.lease.clone();
            let lease =
                lease.unwrap_or_else(|| Lease::new("kube-system", "demo", LeaseRecord::default()));
            return Ok(lease.with_beside(Beside::Legacy(Box::new(legacy.clone()))));
        }
        match (operation, &self.lease) {
            (Operation::Get, Some(lease)) => Ok(lease.clone()),
            (Operation::Get | Operation::Update(_), None) => Err(Failure::NotFound),
            (Operation::Create(_), Some(_)) => Err(Failure::Conflict),
            (Operation::Create(lease), None) => Ok(self.store((**lease).clone())),
            (Operation::Update(new), Some(old)) => {
                if new.resource_version() == old.resource_version() {
                    Ok(self.store((**new).clone()))
                } else {
                    Err(Failure::Conflict)
                }
            }
        }
    }

    fn store(&mut self, lease: Lease) -> Lease {
        self.revision += 1;
        let lease = lease.at_version(self.revision);
        self.lease = Some(lease.clone());
        lease
    }
}

/// How long a fence is open after a renewal was sent, with the default timing.
pub(crate) const FENCE: Duration = Duration::from_secs(12);
