use std::fmt;

use evenkeel_meta::StatusCause;
use serde_json::Value;

/// Where in an object a fault is; put into words only when there is one.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    pub(super) fn root(name: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Field(name),
        }
    }

    pub(super) fn field(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Field(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Field(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// The faults of an object, in the real server's words.
#[derive(Default)]
pub(super) struct Report {
    causes: Vec<StatusCause>,
}

impl Report {
    pub(super) fn into_causes(self) -> Vec<StatusCause> {
        self.causes
    }

    pub(super) fn len(&self) -> usize {
        self.causes.len()
    }

    pub(super) fn required(&mut self, at: &Path<'_>, detail: &str) {
        self.add(at, "FieldValueRequired", join("Required value", detail));
    }

    pub(super) fn invalid(&mut self, at: &Path<'_>, value: impl Shown, detail: &str) {
        self.add(
            at,
            "FieldValueInvalid",
            join(&format!("Invalid value: {}", value.shown()), detail),
        );
    }

    pub(super) fn not_supported(&mut self, at: &Path<'_>, value: impl Shown, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let message = format!(
            "Unsupported value: {}: supported values: {}",
            value.shown(),
            supported.join(", ")
        );
        self.add(at, "FieldValueNotSupported", message);
    }

    pub(super) fn duplicate(&mut self, at: &Path<'_>, value: impl Shown) {
        self.add(
            at,
            "FieldValueDuplicate",
            format!("Duplicate value: {}", value.shown()),
        );
    }

    pub(super) fn forbidden(&mut self, at: &Path<'_>, detail: &str) {
        self.add(at, "FieldValueForbidden", join("Forbidden", detail));
    }

    pub(super) fn too_long(&mut self, at: &Path<'_>, limit: usize) {
        self.add(
            at,
            "FieldValueTooLong",
            format!("Too long: may not be more than {limit} bytes"),
        );
    }

    pub(super) fn too_many(&mut self, at: &Path<'_>, count: u64, limit: u64) {
        let message = format!("Too many: {count}: must have at most {limit} items");
        self.add(at, "FieldValueTooMany", message);
    }

    pub(super) fn wrong_type(&mut self, at: &Path<'_>, value: &str, detail: &str) {
        self.add(
            at,
            "FieldValueTypeInvalid",
            format!("Invalid value: {value:?}: {detail}"),
        );
    }

    pub(super) fn not_found(&mut self, at: &Path<'_>, value: impl Shown) {
        self.add(
            at,
            "FieldValueNotFound",
            format!("Not found: {}", value.shown()),
        );
    }

    fn add(&mut self, at: &Path<'_>, reason: &str, message: String) {
        self.causes.push(StatusCause {
            reason: reason.to_owned(),
            message,
            field: at.to_string(),
        });
    }

    /// One fault for each complaint about a value.
    pub(super) fn complaints(&mut self, at: &Path<'_>, value: &str, complaints: &[String]) {
        for complaint in complaints {
            self.invalid(at, value, complaint);
        }
    }

    pub(super) fn not_negative(&mut self, at: &Path<'_>, value: Option<i64>) {
        if let Some(number) = value.filter(|number| *number < 0) {
            self.invalid(at, number, "must be greater than or equal to 0");
        }
    }

    /// Refuses a text that is none of these; absent is allowed.
    pub(super) fn one_of(&mut self, at: &Path<'_>, value: Option<&str>, supported: &[&str]) {
        if let Some(text) = value.filter(|text| !supported.contains(text)) {
            self.not_supported(at, text, supported);
        }
    }
}

fn join(start: &str, detail: &str) -> String {
    if detail.is_empty() {
        start.to_owned()
    } else {
        format!("{start}: {detail}")
    }
}

/// A value as a fault shows it.
pub(super) trait Shown {
    fn shown(self) -> String;
}

impl Shown for &str {
    fn shown(self) -> String {
        format!("{self:?}")
    }
}

impl Shown for i64 {
    fn shown(self) -> String {
        self.to_string()
    }
}

impl Shown for &Value {
    fn shown(self) -> String {
        self.to_string()
    }
}

/// A value that the real server shows in a notation of its own.
pub(super) struct Raw(pub(super) String);

impl Shown for Raw {
    fn shown(self) -> String {
        self.0
    }
}
