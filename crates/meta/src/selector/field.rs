use std::fmt;
use std::str::FromStr;

use super::ParseSelectorError;

/// A field selector: `metadata.name=a,status.phase!=Running`.
///
/// Which fields may be selected by is the server's business; the grammar knows equality
/// and inequality only. In values, `\`, `,` and `=` are written with a backslash before them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    /// The field's path, such as `metadata.name`.
    pub field: String,
    /// The value to compare with.
    pub value: String,
    /// Whether the field must equal the value, or must not.
    pub equal: bool,
}

impl FieldSelector {
    /// The selector of objects whose `field` is `value`.
    #[must_use]
    pub fn equal(field: &str, value: &str) -> Self {
        Self {
            requirements: vec![FieldRequirement {
                field: field.into(),
                value: value.into(),
                equal: true,
            }],
        }
    }

    /// Whether there is no requirement, so that everything matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The requirements as they were written.
    #[must_use]
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Whether an object is selected whose fields are asked by path. An absent field is empty.
    pub fn matches_by<'a>(&self, field: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = field(&requirement.field).unwrap_or_default();
            (value == requirement.value) == requirement.equal
        })
    }

    /// The value that `field` must have, if the selector pins it.
    #[must_use]
    pub fn pinned(&self, field: &str) -> Option<&str> {
        self.requirements
            .iter()
            .find(|requirement| requirement.equal && requirement.field == field)
            .map(|requirement| requirement.value.as_str())
    }
}

impl FromStr for FieldSelector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let requirements: Result<Vec<_>, _> = split_unescaped(text, ',')
            .into_iter()
            .filter(|term| !term.trim().is_empty())
            .map(|term| parse_term(term).map_err(|why| ParseSelectorError::new(text, why)))
            .collect();
        Ok(Self {
            requirements: requirements?,
        })
    }
}

fn split_unescaped(text: &str, separator: char) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == separator {
            terms.push(&text[start..at]);
            start = at + separator.len_utf8();
        }
    }
    terms.push(&text[start..]);
    terms
}

fn parse_term(term: &str) -> Result<FieldRequirement, &'static str> {
    let at = term.find('=').ok_or("want field=value or field!=value")?;
    let (field, equal) = match term[..at].strip_suffix('!') {
        Some(field) => (field, false),
        None => (&term[..at], true),
    };
    let value = term[at + 1..].strip_prefix('=').unwrap_or(&term[at + 1..]);
    let field = field.trim();
    if field.is_empty() {
        return Err("a field is missing");
    }
    // Printed, it would turn the operator into its opposite.
    if field.ends_with('!') {
        return Err("`!` and `=` of `!=` belong together");
    }
    Ok(FieldRequirement {
        field: field.into(),
        value: unescape(value.trim())?,
        equal,
    })
}

fn unescape(value: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                _ => return Err("only `\\`, `,` and `=` can be escaped"),
            },
            '=' => return Err("`=` in a value is written `\\=`"),
            c => out.push(c),
        }
    }
    Ok(out)
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            f.write_str(&requirement.field)?;
            f.write_str(if requirement.equal { "=" } else { "!=" })?;
            for c in requirement.value.chars() {
                if matches!(c, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_parsed_matched_and_printed() {
        let selector: FieldSelector = "metadata.name=a,status.phase!=Running".parse().unwrap();
        assert_eq!(
            selector.to_string(),
            "metadata.name=a,status.phase!=Running"
        );
        assert_eq!(selector.pinned("metadata.name"), Some("a"));
        assert_eq!(selector.pinned("status.phase"), None);
        let phase = |phase: &'static str| {
            selector.matches_by(|field| Some(if field == "metadata.name" { "a" } else { phase }))
        };
        assert!(phase("Pending") && !phase("Running"));
        assert!(FieldSelector::equal("spec.nodeName", "").matches_by(|_| None));
    }

    #[test]
    fn special_characters_survive_a_round_trip() {
        let selector = FieldSelector::equal("metadata.name", r"a,b=c\d");
        assert_eq!(
            selector.to_string().parse::<FieldSelector>().unwrap(),
            selector
        );
        for bad in ["a", "=b", "a=b=c", r"a=\x", "a! =b", "a!!=b"] {
            assert!(bad.parse::<FieldSelector>().is_err(), "{bad:?}");
        }
        assert!("".parse::<FieldSelector>().unwrap().is_empty());
    }
}
