//! `metadata.managedFields`: who owns what.

use serde_json::{Map, Value};

use super::codec;
use super::set::FieldSet;

/// The real server keeps apart no more managers that do not apply.
const MAX_UPDATE_MANAGERS: usize = 10;
/// Under this name it keeps the oldest together.
const ANCIENT: &str = "ancient-changes";

/// `managedFields` that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ManagersError {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    ApiVersion,
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    #[error("invalid fieldsType \"{fields_type}\" in managed fields entry {index}")]
    FieldsType { fields_type: String, index: usize },
    #[error(transparent)]
    Fields(#[from] codec::CodecError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// One manager's fields.
#[derive(Clone, Debug)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<String>,
    fields: Fields,
}

/// Most managers of an object have nothing to do with a write: their sets stay as they are.
#[derive(Clone, Debug)]
enum Fields {
    Encoded(Value),
    Decoded(FieldSet),
}

impl Manager {
    pub(super) fn new(
        name: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
    ) -> Self {
        Self {
            name: if name.is_empty() {
                "unknown".to_owned()
            } else {
                name.to_owned()
            },
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
            time: None,
            fields: Fields::Decoded(FieldSet::default()),
        }
    }

    pub(super) fn fields(&self) -> Result<FieldSet, ManagersError> {
        match &self.fields {
            Fields::Encoded(value) => Ok(codec::decode(value)?),
            Fields::Decoded(set) => Ok(set.clone()),
        }
    }

    pub(super) fn set_fields(&mut self, set: FieldSet) {
        self.fields = Fields::Decoded(set);
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.operation == other.operation
            && self.subresource == other.subresource
            // Who applies in another version goes on being the same applier.
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    fn owns_any_of(&self, set: &FieldSet) -> bool {
        match &self.fields {
            Fields::Encoded(value) => meets(value, set),
            Fields::Decoded(own) => own.meets(set),
        }
    }

    fn decode(index: usize, entry: &Value) -> Result<Self, ManagersError> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(ManagersError::Operation),
        };
        if text("apiVersion").is_empty() {
            return Err(ManagersError::ApiVersion);
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(ManagersError::NoFieldsType(index)),
            other => {
                return Err(ManagersError::FieldsType {
                    fields_type: other.to_owned(),
                    index,
                });
            }
        }
        Ok(Self {
            name: text("manager").to_owned(),
            operation,
            api_version: text("apiVersion").to_owned(),
            subresource: text("subresource").to_owned(),
            time: entry.get("time").and_then(Value::as_str).map(str::to_owned),
            fields: Fields::Encoded(entry.get("fieldsV1").cloned().unwrap_or(Value::Null)),
        })
    }

    fn encode(self) -> Value {
        let mut entry = Map::new();
        entry.insert("manager".to_owned(), Value::String(self.name));
        entry.insert(
            "operation".to_owned(),
            Value::String(self.operation.as_str().to_owned()),
        );
        entry.insert("apiVersion".to_owned(), Value::String(self.api_version));
        if let Some(time) = self.time {
            entry.insert("time".to_owned(), Value::String(time));
        }
        entry.insert(
            "fieldsType".to_owned(),
            Value::String("FieldsV1".to_owned()),
        );
        let fields = match self.fields {
            Fields::Encoded(value) => value,
            Fields::Decoded(set) => codec::encode(&set),
        };
        entry.insert("fieldsV1".to_owned(), fields);
        if !self.subresource.is_empty() {
            entry.insert("subresource".to_owned(), Value::String(self.subresource));
        }
        Value::Object(entry)
    }
}

/// Whether an encoded set and a set have a path in common; cheaper than decoding.
fn meets(encoded: &Value, set: &FieldSet) -> bool {
    let Value::Object(map) = encoded else {
        return false;
    };
    set.entries().iter().any(|entry| {
        let Some(inner) = map.get(&codec::encode_element(&entry.element)) else {
            return false;
        };
        let is_leaf = inner.as_object().is_none_or(Map::is_empty);
        let member = is_leaf || inner.get(".").is_some();
        (entry.member && member) || meets(inner, &entry.children)
    })
}

/// All managers of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Managers(Vec<Manager>);

impl Managers {
    /// Reads `metadata.managedFields` of an object.
    pub(super) fn of(object: &Value) -> Result<Self, ManagersError> {
        match object
            .pointer("/metadata/managedFields")
            .and_then(Value::as_array)
        {
            Some(entries) => Self::decode(entries),
            None => Ok(Self::default()),
        }
    }

    pub(super) fn decode(entries: &[Value]) -> Result<Self, ManagersError> {
        let mut managers = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            let manager = Manager::decode(index, entry)?;
            managers.replace(manager);
        }
        Ok(managers)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Manager> {
        self.0.iter()
    }

    pub(super) fn find(&self, like: &Manager) -> Option<&Manager> {
        self.0.iter().find(|manager| manager.is_same(like))
    }

    /// Puts a manager in the place of the one that is the same, or adds it.
    pub(super) fn replace(&mut self, manager: Manager) {
        match self.0.iter_mut().find(|other| other.is_same(&manager)) {
            Some(place) => *place = manager,
            None => self.0.push(manager),
        }
    }

    pub(super) fn remove(&mut self, like: &Manager) {
        self.0.retain(|manager| !manager.is_same(like));
    }

    /// The managers but `writer` that own some of these fields, and which.
    pub(super) fn owners(
        &self,
        writer: &Manager,
        fields: &FieldSet,
    ) -> Result<Vec<(&Manager, FieldSet)>, ManagersError> {
        let others = self.0.iter().filter(|manager| !manager.is_same(writer));
        let mut owners = Vec::new();
        for manager in others.filter(|manager| manager.owns_any_of(fields)) {
            owners.push((manager, manager.fields()?.intersection(fields)));
        }
        Ok(owners)
    }

    /// Takes these fields from all managers but `writer`; who is left with nothing goes.
    pub(super) fn take_from_others(
        &mut self,
        writer: Option<&Manager>,
        fields: &[&FieldSet],
    ) -> Result<(), ManagersError> {
        let mut left = Vec::with_capacity(self.0.len());
        for mut manager in std::mem::take(&mut self.0) {
            let other = writer.is_none_or(|writer| !manager.is_same(writer));
            if other && fields.iter().any(|fields| manager.owns_any_of(fields)) {
                let mut kept = manager.fields()?;
                for fields in fields {
                    kept = kept.difference(fields);
                }
                let fields = kept;
                if fields.is_empty() {
                    continue;
                }
                manager.set_fields(fields);
            }
            left.push(manager);
        }
        self.0 = left;
        Ok(())
    }

    /// Keeps the number of managers that do not apply within bounds.
    pub(super) fn cap(&mut self) -> Result<(), ManagersError> {
        let mut updaters: Vec<Manager> = self
            .0
            .iter()
            .filter(|manager| manager.operation == Operation::Update)
            .cloned()
            .collect();
        if updaters.len() <= MAX_UPDATE_MANAGERS {
            return Ok(());
        }
        updaters.sort_by(|left, right| (&left.time, &left.name).cmp(&(&right.time, &right.name)));
        let mut excess = updaters.len() - MAX_UPDATE_MANAGERS;
        // The oldest of each version gives up its name when the second joins it.
        let mut first_of: Vec<Manager> = Vec::new();
        for manager in updaters {
            if excess == 0 {
                break;
            }
            let Some(first) = first_of
                .iter()
                .find(|first| first.api_version == manager.api_version)
            else {
                first_of.push(manager);
                continue;
            };
            let mut ancient = Manager::new(ANCIENT, Operation::Update, &manager.api_version, "");
            let so_far = self.find(&ancient).unwrap_or(first).fields()?;
            ancient.set_fields(so_far.union(manager.fields()?));
            ancient.time.clone_from(&manager.time);
            let first = first.clone();
            self.remove(&first);
            self.remove(&manager);
            self.replace(ancient);
            excess -= 1;
        }
        Ok(())
    }

    /// Writes `metadata.managedFields` of an object.
    pub(super) fn store(mut self, object: &mut Value) {
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
            return;
        };
        if self.0.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        self.0.sort_by(|left, right| {
            let key =
                |manager: &Manager| (manager.operation, manager.time.clone().unwrap_or_default());
            let names = |manager: &'_ Manager| {
                (
                    manager.name.clone(),
                    manager.api_version.clone(),
                    manager.subresource.clone(),
                )
            };
            key(left)
                .cmp(&key(right))
                .then_with(|| names(left).cmp(&names(right)))
        });
        let entries = self.0.into_iter().map(Manager::encode);
        metadata.insert("managedFields".to_owned(), Value::Array(entries.collect()));
    }
}
