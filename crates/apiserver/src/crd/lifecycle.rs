//! Serving a definition's resources, and taking them away with all their objects.

use std::sync::Arc;

use evenkeel_meta::{Meta, Status};
use serde_json::{Value, json};

use super::{CLEANUP, Definition, GROUP, PLURAL};
use crate::deletion::{self, Options, Plan};
use crate::object::{as_map, entry, metadata_mut};
use crate::resources::{Registry, Resource};
use crate::server::State;
use crate::storage::{Key, KeyRange, Raced, Record, Shard, object_key};

/// Serves what a created or changed definition says.
pub(crate) fn changed(state: &State, definition: &Value) {
    let definition = Definition(definition);
    let mut registry = state.registry.write();
    let mut next = Registry::clone(&registry);
    let shard = shard_of(&next, definition)
        .unwrap_or_else(|| Arc::new(Shard::new(Arc::clone(&state.revisions), state.history)));
    next.remove(definition.group(), definition.plural());
    for resource in definition.resources(&shard) {
        next.add(resource);
    }
    *registry = Arc::new(next);
}

/// Marks a definition as going away, then deletes its objects. It goes with the last one.
pub(crate) fn terminate(
    state: &State,
    resource: &Resource,
    key: &Key,
    live: &Arc<Record>,
) -> Result<Result<Arc<Record>, Raced>, Status> {
    let mut object = live.decode().map_err(Status::internal)?;
    if live.meta().deletion_timestamp.is_none() {
        mark(&mut object, &state.clock.now().to_string());
    }
    let draft = resource.encode(&object)?;
    let marked = if draft.same_as(live) {
        Arc::clone(live)
    } else {
        match resource.shard.put(key, Some(live.revision()), draft) {
            Ok(marked) => marked,
            Err(raced) => return Ok(Err(raced)),
        }
    };
    delete_objects(state, &object)?;
    finish_if_empty(
        state,
        Definition(&object).group(),
        Definition(&object).plural(),
    )?;
    Ok(Ok(marked))
}

fn mark(object: &mut Value, now: &str) {
    let metadata = metadata_mut(object);
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(finalizers) = finalizers
        && !finalizers.iter().any(|finalizer| finalizer == CLEANUP)
    {
        finalizers.push(CLEANUP.into());
    }
    metadata.insert("deletionTimestamp".into(), now.into());
    let conditions = entry(as_map(object), "status")
        .entry("conditions")
        .or_insert_with(|| json!([]));
    if let Value::Array(conditions) = conditions {
        conditions.retain(|condition| condition["type"] != "Terminating");
        conditions.push(json!({
            "type": "Terminating",
            "status": "True",
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            "lastTransitionTime": now,
        }));
    }
}

/// Deletes every object of a definition. Those with finalizers stay until they lose them.
fn delete_objects(state: &State, definition: &Value) -> Result<(), Status> {
    let registry = Arc::clone(&state.registry.read());
    let definition = Definition(definition);
    let Some(resource) = any_version(&registry, definition.group(), definition.plural()) else {
        return Ok(());
    };
    let options = Options::default();
    for (key, record) in resource.shard.snapshot(&KeyRange::All) {
        let mut current = Some(record);
        while let Some(record) = current {
            let plan = deletion::plan(
                record.meta(),
                None,
                &resource.rules,
                &options,
                state.clock.now(),
            );
            let outcome = match plan {
                Plan::Keep => Ok(()),
                Plan::Remove => resource.shard.remove(&key, record.revision()).map(|_| ()),
                Plan::Mark { marks, .. } => {
                    let mut object = resource.decode(&record)?;
                    marks.apply(&mut object);
                    let draft = resource.encode(&object)?;
                    resource
                        .shard
                        .put(&key, Some(record.revision()), draft)
                        .map(|_| ())
                }
            };
            // Written in between: look again.
            current = outcome.err().and_then(|Raced| resource.shard.get(&key));
        }
    }
    Ok(())
}

/// Lets a terminating definition go, and its resources with it, when no object is left.
pub(crate) fn finish_if_empty(state: &State, group: &str, plural: &str) -> Result<(), Status> {
    let registry = Arc::clone(&state.registry.read());
    let Some(definitions) = registry.find(GROUP, "v1", PLURAL) else {
        return Ok(());
    };
    let key = object_key(None, &format!("{plural}.{group}"));
    while let Some(live) = definitions.shard.get(&key) {
        let empty =
            any_version(&registry, group, plural).is_none_or(|resource| resource.shard.len() == 0);
        if !is_terminating(live.meta()) || !empty {
            return Ok(());
        }
        let mut object = live.decode().map_err(Status::internal)?;
        if let Some(Value::Array(finalizers)) = metadata_mut(&mut object).get_mut("finalizers") {
            finalizers.retain(|finalizer| finalizer != CLEANUP);
        }
        let draft = definitions.encode(&object)?;
        let written = if draft.meta().finalizers.is_empty() {
            definitions.shard.remove(&key, live.revision()).map(|_| ())
        } else if draft.same_as(&live) {
            Ok(())
        } else {
            definitions
                .shard
                .put(&key, Some(live.revision()), draft)
                .map(|_| ())
        };
        if written.is_ok() {
            break;
        }
    }
    if definitions.shard.get(&key).is_none() {
        let mut registry = state.registry.write();
        let mut next = Registry::clone(&registry);
        let shard = any_version(&next, group, plural).map(|resource| Arc::clone(&resource.shard));
        next.remove(group, plural);
        *registry = Arc::new(next);
        // A definition of the same name begins anew: who watched the old one must ask again.
        if let Some(shard) = shard {
            shard.retire();
        }
    }
    Ok(())
}

/// New objects of a definition that is going away would never be cleaned up.
pub(crate) fn refuse_if_terminating(
    state: &State,
    resource: &Resource,
    name: &str,
) -> Result<(), Status> {
    let registry = Arc::clone(&state.registry.read());
    let definition = registry.find(GROUP, "v1", PLURAL).and_then(|definitions| {
        definitions.shard.get(&object_key(
            None,
            &format!("{}.{}", resource.api.plural, resource.api.group),
        ))
    });
    match definition {
        Some(definition) if is_terminating(definition.meta()) => Err(Status::forbidden(
            &resource.group_resource(),
            name,
            "create not allowed while custom resource definition is terminating",
        )),
        _ => Ok(()),
    }
}

fn is_terminating(meta: &Meta) -> bool {
    meta.deletion_timestamp.is_some()
}

fn any_version<'a>(registry: &'a Registry, group: &str, plural: &str) -> Option<&'a Arc<Resource>> {
    registry
        .group(group)?
        .versions
        .iter()
        .flat_map(|version| &version.resources)
        .find(|resource| resource.api.plural == plural && resource.custom)
}

fn shard_of(registry: &Registry, definition: Definition<'_>) -> Option<Arc<Shard>> {
    any_version(registry, definition.group(), definition.plural())
        .map(|resource| Arc::clone(&resource.shard))
}
