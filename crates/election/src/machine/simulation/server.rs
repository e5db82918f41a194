use crate::Lease;
use crate::machine::tests::Table;
use crate::machine::{Failure, Operation};

/// The Lease's server, and whose term it is by its book.
#[derive(Default)]
pub(super) struct Server {
    table: Table,
    /// Who took the Lease last. A release does not end the term in this book: the one who
    /// released must have stopped before, so nobody else's writes count as theirs.
    pub(super) owner: String,
    pub(super) terms: u64,
}

impl Server {
    pub(super) fn apply(&mut self, operation: &Operation) -> Result<Lease, Failure> {
        let result = self.table.apply(operation);
        if let (Operation::Create(_) | Operation::Update(_), Ok(lease)) = (operation, &result) {
            let holder = &lease.record.holder;
            if !holder.is_empty() && *holder != self.owner {
                self.owner.clone_from(holder);
                self.terms += 1;
            }
        }
        result
    }

    pub(super) fn lease(&self) -> Option<&Lease> {
        self.table.lease.as_ref()
    }

    /// Somebody labels the Lease.
    pub(super) fn touch(&mut self) {
        if self.table.lease.is_some() {
            self.table.touch();
        }
    }
}
