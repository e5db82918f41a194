//! Tables: objects as rows for people.

mod column;
mod core;
mod custom;
mod duration;
mod network;
mod policy;
mod workloads;

use std::sync::Arc;

use bytes::Bytes;
use evenkeel_meta::{Status, Timestamp};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::http::{Query, TableObject};
use crate::represent::metadata_only;
use crate::resources::Resource;
use crate::storage::Record;

pub(crate) use self::column::Column;
pub(crate) use self::custom::columns as custom_columns;

/// Prints records of one resource.
#[derive(Debug)]
pub(crate) struct Printer {
    resource: Arc<Resource>,
    columns: Vec<Column>,
    version: &'static str,
    object: TableObject,
    clock: Clock,
    /// The columns are described once: in a watch, by the first event.
    described: bool,
}

impl Printer {
    pub(crate) fn new(
        resource: &Arc<Resource>,
        version: &'static str,
        query: &Query,
        clock: Clock,
    ) -> Result<Self, Status> {
        let object = match query.text("includeObject") {
            None | Some("Metadata") => TableObject::Metadata,
            Some("Object") => TableObject::Object,
            Some("None") => TableObject::None,
            Some(other) => {
                return Err(Status::bad_request(format!(
                    "includeObject: Unsupported value: \"{other}\": supported values: \"None\", \"Metadata\", \"Object\""
                )));
            }
        };
        Ok(Self {
            columns: columns(resource),
            resource: Arc::clone(resource),
            version,
            object,
            clock,
            described: false,
        })
    }

    /// A table of one object, by itself or in a watch event.
    pub(crate) fn one(&mut self, record: &Record) -> Result<Bytes, Status> {
        self.table(
            &[record],
            &json!({"resourceVersion": record.revision().to_string()}),
        )
    }

    /// A table of a list with this metadata.
    pub(crate) fn table(&mut self, records: &[&Record], metadata: &Value) -> Result<Bytes, Status> {
        let now = self.clock.now();
        let rows = records
            .iter()
            .map(|record| self.row(record, now))
            .collect::<Result<Vec<_>, _>>()?;
        let columns = if self.described {
            Value::Null
        } else {
            self.columns.iter().map(Column::describe).collect()
        };
        self.described = true;
        let table = json!({
            "kind": "Table",
            "apiVersion": format!("meta.k8s.io/{}", self.version),
            "metadata": metadata,
            "columnDefinitions": columns,
            "rows": rows,
        });
        Ok(table.to_string().into())
    }

    fn row(&self, record: &Record, now: Timestamp) -> Result<Value, Status> {
        let object = self.resource.decode(record)?;
        let cells: Vec<Value> = self
            .columns
            .iter()
            .map(|column| column.cell(&object, now))
            .collect();
        let object = match self.object {
            TableObject::None => Value::Null,
            TableObject::Object => object,
            TableObject::Metadata => {
                serde_json::from_slice(&metadata_only(record)).map_err(Status::internal)?
            }
        };
        Ok(json!({"cells": cells, "object": object}))
    }
}

/// The columns of a resource; name and age if it has none of its own.
fn columns(resource: &Resource) -> Vec<Column> {
    if let Some(columns) = &resource.columns {
        return columns.clone();
    }
    let (group, plural) = (resource.api.group.as_ref(), resource.api.plural.as_ref());
    let own = workloads::columns(group, plural)
        .or_else(|| core::columns(group, plural))
        .or_else(|| network::columns(group, plural))
        .or_else(|| policy::columns(group, plural));
    own.unwrap_or_else(|| vec![column::name(), column::age()])
}
