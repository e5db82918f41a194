//! Label and field selectors: parse, print, match.

mod field;
mod label;

pub use field::{FieldRequirement, FieldSelector};
pub use label::{LabelRequirement, LabelSelector, Operator};

/// A selector's text is not in the grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid selector {text:?}: {why}")]
pub struct ParseSelectorError {
    text: String,
    why: &'static str,
}

impl ParseSelectorError {
    fn new(text: &str, why: &'static str) -> Self {
        Self {
            text: text.into(),
            why,
        }
    }
}
