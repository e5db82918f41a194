//! Who objects to an apply, as the answer says it.

use std::fmt::Write as _;

use evenkeel_meta::{Reason, Status, StatusCause, StatusDetails};

use super::element::Element;
use super::managers::{Manager, Operation};
use super::set::FieldSet;

/// Fields that an applier would change and another manager owns.
#[derive(Debug)]
pub(super) struct Conflicts(Vec<Conflict>);

#[derive(Debug)]
struct Conflict {
    /// In the answer's words.
    manager: String,
    /// What conflicts are sorted by.
    name: String,
    path: Vec<Element>,
}

impl Conflicts {
    pub(super) fn of(owners: Vec<(&Manager, FieldSet)>) -> Self {
        let mut conflicts = Vec::new();
        for (manager, fields) in owners {
            fields.for_each(&mut |path| {
                conflicts.push(Conflict {
                    manager: describe(manager),
                    name: manager.name.clone(),
                    path: path.to_vec(),
                });
            });
        }
        conflicts.sort_by(|left, right| left.name.cmp(&right.name));
        Self(conflicts)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops the conflicts about these fields.
    pub(super) fn except(mut self, allowed: &FieldSet) -> Self {
        self.0.retain(|conflict| !allowed.contains(&conflict.path));
        self
    }

    fn message(&self) -> String {
        if let [conflict] = self.0.as_slice() {
            return format!(
                "Apply failed with 1 conflict: conflict with {}: {}",
                conflict.manager,
                path(&conflict.path)
            );
        }
        let mut message = format!("Apply failed with {} conflicts: ", self.0.len());
        let mut previous = None;
        for conflict in &self.0 {
            if previous != Some(&conflict.manager) {
                let line_break = if previous.is_some() { "\n" } else { "" };
                let _ = write!(message, "{line_break}conflicts with {}:", conflict.manager);
                previous = Some(&conflict.manager);
            }
            let _ = write!(message, "\n- {}", path(&conflict.path));
        }
        message
    }
}

impl From<Conflicts> for Status {
    fn from(conflicts: Conflicts) -> Self {
        let causes = conflicts.0.iter().map(|conflict| StatusCause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {}", conflict.manager),
            field: path(&conflict.path),
        });
        let mut status = Self::failure(409, Reason::Conflict, conflicts.message());
        status.details = Some(StatusDetails {
            causes: causes.collect(),
            ..StatusDetails::default()
        });
        status
    }
}

fn describe(manager: &Manager) -> String {
    let mut text = format!("{:?}", manager.name);
    if !manager.subresource.is_empty() {
        let _ = write!(text, " with subresource {:?}", manager.subresource);
    }
    if manager.operation == Operation::Update {
        let _ = write!(text, " using {}", manager.api_version);
    }
    text
}

fn path(elements: &[Element]) -> String {
    elements.iter().map(ToString::to_string).collect()
}
