//! The field rules of the types, as the verbs ask for them.

use evenkeel_meta::{GroupVersionKind, PatchKind, Status, StatusCause, Timestamp};
use serde_json::Value;

use crate::apply::{self, Writer};
use crate::defaults;
use crate::http::Query;
use crate::object::as_map;
use crate::patch;
use crate::resources::{Resource, Subresource};
use crate::validation::{self, FieldValidation};

/// The manager of what the server writes on its own account.
const SERVER: &str = "kube-apiserver";

/// Who writes, and when.
#[derive(Debug, Clone)]
pub(crate) struct Author {
    pub(crate) manager: String,
    pub(crate) subresource: Option<Subresource>,
    pub(crate) now: Timestamp,
}

impl Author {
    /// The server itself.
    pub(crate) fn server(subresource: Option<Subresource>, now: Timestamp) -> Self {
        Self {
            manager: SERVER.to_owned(),
            subresource,
            now,
        }
    }

    fn writer(&self) -> Writer<'_> {
        Writer {
            manager: &self.manager,
            subresource: self.subresource.map_or("", Subresource::name),
            now: self.now,
        }
    }
}

/// What the query says to do about unknown fields.
pub(crate) fn mode(query: &Query, options_kind: &str) -> Result<FieldValidation, Status> {
    match query.text("fieldValidation") {
        None | Some("Warn") => Ok(FieldValidation::Warn),
        Some("Ignore") => Ok(FieldValidation::Ignore),
        Some("Strict") => Ok(FieldValidation::Strict),
        Some(other) => {
            let kind = GroupVersionKind::from_api_version("meta.k8s.io/v1", options_kind);
            let cause = StatusCause {
                reason: "FieldValueNotSupported".into(),
                message: format!(
                    "Unsupported value: \"{other}\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
                ),
                field: "fieldValidation".into(),
            };
            Err(Status::invalid(&kind, "", vec![cause]))
        }
    }
}

/// Reads what a client sent as an object of this type; returns the warnings. `body` is the
/// text that `object` was parsed from.
pub(crate) fn decode(
    resource: &Resource,
    object: &mut Value,
    body: &[u8],
    mode: FieldValidation,
) -> Result<Vec<String>, Status> {
    let duplicates = validation::duplicate_fields(body, object);
    validation::check_fields(&resource.schema, object, &duplicates, mode)
}

/// Fills in the defaults of the type.
pub(crate) fn default(resource: &Resource, object: &mut Value) {
    if !resource.custom {
        defaults::apply(resource.schema.kind(), object);
    }
}

/// The rules of the type that an object breaks.
pub(crate) fn causes(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    validation::causes(&resource.schema, object, old)
}

/// The object after a patch, decoded as its type; and the warnings.
pub(crate) fn patched(
    resource: &Resource,
    kind: PatchKind,
    live: &Value,
    patch: &Value,
    mode: FieldValidation,
) -> Result<(Value, Vec<String>), Status> {
    let mut new = match kind {
        PatchKind::Json => patch::json(live, patch)?,
        PatchKind::Strategic => patch::strategic(&resource.schema, live, patch)?,
        PatchKind::Merge | PatchKind::Apply => patch::merge(live, patch)?,
    };
    let decoded = validation::decode(&resource.schema, &mut new, &[], mode);
    match decoded {
        Ok(warnings) => Ok((new, warnings)),
        Err(fault) if kind == PatchKind::Strategic => {
            Err(patch::invalid(&fault, &patch::quoted_patch(patch)))
        }
        Err(fault) => Err(patch::invalid(&fault, &new.to_string())),
    }
}

/// The object after a configuration was applied to it, with its managers.
pub(crate) fn applied(
    resource: &Resource,
    live: Option<&Value>,
    config: &Value,
    author: &Author,
    force: bool,
) -> Result<Value, Status> {
    apply::apply(&resource.schema, live, config, &author.writer(), force)
}

/// Records who changed which fields.
pub(crate) fn track(resource: &Resource, live: Option<&Value>, new: &mut Value, author: &Author) {
    apply::track_update(&resource.schema, live, new, &author.writer());
}

/// Records that the server wrote the status of `new`, which was `before`.
pub(crate) fn track_own_status(
    resource: &Resource,
    before: &Value,
    new: &mut Value,
    now: Timestamp,
) {
    let mut live = new.clone();
    as_map(&mut live).insert("status".into(), before.clone());
    let author = Author::server(Some(Subresource::Status), now);
    track(resource, Some(&live), new, &author);
}

/// Undoes the passing of time in the managers of an object in which nothing else changed.
pub(crate) fn settle_times(live: &Value, new: &mut Value) {
    apply::keep_times_if_unchanged(live, new);
}
