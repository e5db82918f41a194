//! Server-side apply.

use evenkeel_meta::{GroupVersionKind, Status};
use serde_json::Value;

use super::Writer;
use super::compare::compare;
use super::conflict::Conflicts;
use super::enumerate::fields_of;
use super::last_applied;
use super::managers::{Manager, Managers, ManagersError, Operation};
use super::merge::merge;
use super::prune::prune;
use super::reset;
use super::set::FieldSet;
use super::track::{self, take_managed_fields, unowned};
use super::typed;
use crate::defaults;
use crate::schema::Schema;
use crate::validation::{FieldValidation, decode};

/// The manager of an object's fields that were there before anything was applied to it.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The object after `config` has been applied to `live` (`None`: it is created), decoded,
/// defaulted and with its new `managedFields`.
///
/// # Errors
///
/// 409 with a cause for each field that another manager owns, unless `force`; 400 and 500 as the
/// real server gives them for a configuration of another type, or with fields that do not fit.
pub(crate) fn apply(
    schema: &Schema,
    live: Option<&Value>,
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Value, Status> {
    check_type(schema, config)?;
    typed::check(schema, config)?;
    let mut base = live.unwrap_or_else(|| schema.zero()).clone();
    let unreadable = |error: ManagersError| {
        Status::failure(
            500,
            evenkeel_meta::Reason::Unknown,
            format!("failed to decode managed fields: {error}"),
        )
    };
    let mut managers = Managers::of(&base).map_err(unreadable)?;
    take_managed_fields(&mut base);
    if managers.is_empty() && live.is_some() {
        let before = Writer {
            manager: BEFORE_FIRST_APPLY,
            ..*writer
        };
        managers =
            track::track(schema, schema.zero(), &base, managers, &before).map_err(unreadable)?;
    }
    let change = Application {
        schema,
        live: &base,
        config,
        writer,
    };
    let outcome = match change.run(managers.clone(), force).map_err(unreadable)? {
        Err(conflicts) if writer.manager == last_applied::MANAGER => {
            let left = conflicts.except(&last_applied::unchanged_fields(schema, &base));
            if !left.is_empty() {
                return Err(left.into());
            }
            change.run(managers, true).map_err(unreadable)?
        }
        outcome => outcome,
    };
    let (object, managers) = outcome.map_err(Status::from)?;
    let mut object = match object {
        Some(merged) => finish(schema, merged, config)?,
        None => base,
    };
    managers.store(&mut object);
    if writer.manager == last_applied::MANAGER {
        last_applied::refresh(&mut object, config);
    }
    Ok(object)
}

/// One try to apply.
struct Application<'a> {
    schema: &'a Schema,
    live: &'a Value,
    config: &'a Value,
    writer: &'a Writer<'a>,
}

impl Application<'_> {
    /// The merged object (`None`: as before) and its managers, or who objects.
    fn run(
        &self,
        mut managers: Managers,
        force: bool,
    ) -> Result<Result<(Option<Value>, Managers), Conflicts>, ManagersError> {
        let root = self.schema.root();
        let ignored = reset::fields(self.schema, self.writer.subresource);
        let api_version = self.schema.kind().api_version();
        let mut own = Manager::new(
            self.writer.manager,
            Operation::Apply,
            &api_version,
            self.writer.subresource,
        );
        let last = match managers.find(&own) {
            Some(before) => {
                own.time.clone_from(&before.time);
                before.fields()?
            }
            None => FieldSet::default(),
        };
        let applied = fields_of(root, self.config).recursive_difference(&ignored);
        own.set_fields(applied.clone());
        managers.replace(own.clone());

        let merged = merge(root, Some(self.live), Some(self.config)).unwrap_or(Value::Null);
        let mut owned = FieldSet::default();
        for manager in managers.iter().filter(|_| !last.is_empty()) {
            owned = owned.union(manager.fields()?);
        }
        let merged = prune(root, merged, &last, &owned);

        let comparison = compare(root, self.live, &merged).without(&ignored);
        let (written, removed) = comparison.into_written_and_removed();
        let conflicts = Conflicts::of(managers.owners(&own, &written)?);
        if !force && !conflicts.is_empty() {
            return Ok(Err(conflicts));
        }
        managers.take_from_others(Some(&own), &[&written, &removed])?;
        let changed = *self.live != merged;
        let stripped = applied.difference(unowned());
        if stripped.is_empty() {
            managers.remove(&own);
        } else {
            own.set_fields(stripped);
            if changed {
                own.time = Some(self.writer.now.to_string());
            }
            managers.replace(own);
        }
        Ok(Ok((changed.then_some(merged), managers)))
    }
}

fn check_type(schema: &Schema, config: &Value) -> Result<(), Status> {
    let text = |key: &str| config.get(key).and_then(Value::as_str).unwrap_or_default();
    let sent = GroupVersionKind::from_api_version(text("apiVersion"), text("kind"));
    if sent != *schema.kind() {
        return Err(Status::bad_request(format!(
            "invalid object type: {}",
            typed::describe(&sent)
        )));
    }
    if config
        .pointer("/metadata/managedFields")
        .is_some_and(|fields| !fields.is_null())
    {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// What the merge left becomes an object of its kind again.
fn finish(schema: &Schema, mut object: Value, config: &Value) -> Result<Value, Status> {
    if let Err(fault) = decode(schema, &mut object, &[], FieldValidation::Ignore) {
        let name = typed::object(schema, config);
        let message = format!("failed to convert new object ({name}) to proper version: {fault}");
        return Err(Status::failure(
            500,
            evenkeel_meta::Reason::Unknown,
            message,
        ));
    }
    defaults::apply(schema.kind(), &mut object);
    Ok(object)
}
