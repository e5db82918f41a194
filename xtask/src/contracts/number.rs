//! A contract's name: the document it comes from, and its number there.

use std::fmt;

/// One numbered contract, `client-go W1` or `incident 7`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Contract {
    pub(super) document: String,
    /// Empty where the document numbers without letters.
    pub(super) letters: String,
    pub(super) digits: u32,
}

impl Contract {
    pub(super) fn new(document: &str, letters: &str, digits: u32) -> Self {
        Self {
            document: document.to_owned(),
            letters: letters.to_owned(),
            digits,
        }
    }

    /// Parses the form that [`fmt::Display`] prints.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (document, number) = text.rsplit_once(' ')?;
        let start = number.find(|c: char| c.is_ascii_digit())?;
        let (letters, digits) = number.split_at(start);
        if document.is_empty() || !letters.chars().all(|c| c.is_ascii_uppercase()) {
            return None;
        }
        Some(Self::new(document, letters, digits.parse().ok()?))
    }

    /// The number within its document.
    pub(super) fn number(&self) -> String {
        format!("{}{}", self.letters, self.digits)
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.document, self.letters, self.digits)
    }
}
