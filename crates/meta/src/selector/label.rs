use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ParseSelectorError;

/// A label selector: all of its requirements must hold.
///
/// Two forms on the wire, both read and written here: the query text
/// (`app=web,tier in (a,b),!old`) by [`FromStr`] and [`Display`](fmt::Display), and the
/// object of `spec.selector` (`matchLabels`, `matchExpressions`) by serde. Requirements are
/// kept in key order, so equal selectors print alike.
///
/// ```
/// use evenkeel_meta::LabelSelector;
/// let selector: LabelSelector = "app=web,tier notin (db),!old".parse()?;
/// assert!(selector.matches([("app", "web"), ("tier", "front")]));
/// assert!(!selector.matches([("app", "web"), ("old", "")]));
/// # Ok::<(), evenkeel_meta::ParseSelectorError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct LabelSelector {
    requirements: Vec<LabelRequirement>,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LabelRequirement {
    /// The label's key.
    pub key: String,
    /// How its value is tested.
    pub operator: Operator,
    /// What it is tested against; sorted, empty for the existence operators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// How a label's value is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operator {
    /// The label is there and has one of the values.
    In,
    /// The label has none of the values, or is not there.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
    /// The label is an integer greater than the value. Query text only.
    Gt,
    /// The label is an integer less than the value. Query text only.
    Lt,
}

impl LabelSelector {
    /// A selector of these requirements.
    #[must_use]
    pub fn new(requirements: impl IntoIterator<Item = LabelRequirement>) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        for requirement in &mut requirements {
            requirement.values.sort_unstable();
            requirement.values.dedup();
        }
        requirements.sort_unstable();
        Self { requirements }
    }

    /// The selector of objects that have all of these labels.
    pub fn from_labels<K: Into<String>, V: Into<String>>(
        labels: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self::new(labels.into_iter().map(|(key, value)| LabelRequirement {
            key: key.into(),
            operator: Operator::In,
            values: vec![value.into()],
        }))
    }

    /// Whether there is no requirement, so that everything matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The requirements in key order.
    #[must_use]
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// Whether an object with these labels is selected. Allocates nothing.
    pub fn matches<'a, L>(&self, labels: L) -> bool
    where
        L: IntoIterator<Item = (&'a str, &'a str)>,
        L::IntoIter: Clone,
    {
        let labels = labels.into_iter();
        self.requirements.iter().all(|requirement| {
            let value = labels
                .clone()
                .find(|(key, _)| *key == requirement.key)
                .map(|(_, value)| value);
            requirement.holds(value)
        })
    }

    /// Whether an object is selected whose labels are asked by key.
    pub fn matches_by<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.holds(label(&requirement.key)))
    }
}

impl LabelRequirement {
    /// Whether the requirement holds for a label of this value, or for its absence.
    #[must_use]
    pub fn holds(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().any(|v| v == value);
        match self.operator {
            Operator::In => value.is_some_and(listed),
            Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => self.compare(value).is_some_and(std::cmp::Ordering::is_gt),
            Operator::Lt => self.compare(value).is_some_and(std::cmp::Ordering::is_lt),
        }
    }

    fn compare(&self, value: Option<&str>) -> Option<std::cmp::Ordering> {
        let bound: i64 = self.values.first()?.parse().ok()?;
        Some(value?.parse::<i64>().ok()?.cmp(&bound))
    }
}

impl FromStr for LabelSelector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |why| ParseSelectorError::new(text, why);
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let requirements: Result<Vec<_>, _> = split_outside_parentheses(text)
            .ok_or_else(|| error("unbalanced parentheses"))?
            .into_iter()
            .map(|term| parse_term(term.trim()).map_err(error))
            .collect();
        Ok(Self::new(requirements?))
    }
}

fn split_outside_parentheses(text: &str) -> Option<Vec<&str>> {
    let mut terms = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '(' if inside => return None,
            '(' => inside = true,
            ')' if !inside => return None,
            ')' => inside = false,
            ',' if !inside => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    (!inside).then_some(terms)
}

fn parse_term(term: &str) -> Result<LabelRequirement, &'static str> {
    let requirement = |key: &str, operator, values: Vec<String>| {
        let key = key.trim();
        if !is_label_key(key) {
            return Err("a key is missing or malformed");
        }
        if !values.iter().all(|value| is_label_value(value)) {
            return Err("a value is malformed");
        }
        Ok(LabelRequirement {
            key: key.into(),
            operator,
            values,
        })
    };
    if let Some(key) = term.strip_prefix('!') {
        return requirement(key, Operator::DoesNotExist, Vec::new());
    }
    if let Some((head, values)) = term.split_once('(') {
        let values = values.strip_suffix(')').ok_or("text after a parenthesis")?;
        let values = values.split(',').map(|v| v.trim().to_owned()).collect();
        let (key, operator) = head
            .trim()
            .rsplit_once(char::is_whitespace)
            .ok_or("an operator is missing")?;
        return match operator {
            "in" => requirement(key, Operator::In, values),
            "notin" => requirement(key, Operator::NotIn, values),
            _ => Err("only `in` and `notin` take a set"),
        };
    }
    let one = |value: &str| vec![value.trim().to_owned()];
    let integer = |value: &str| match value.trim().parse::<i64>() {
        Ok(_) => Ok(one(value)),
        Err(_) => Err("`>` and `<` take an integer"),
    };
    if let Some((key, value)) = term.split_once("!=") {
        return requirement(key, Operator::NotIn, one(value));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return requirement(key, Operator::In, one(value));
    }
    if let Some((key, value)) = term.split_once('>') {
        return requirement(key, Operator::Gt, integer(value)?);
    }
    if let Some((key, value)) = term.split_once('<') {
        return requirement(key, Operator::Lt, integer(value)?);
    }
    requirement(term, Operator::Exists, Vec::new())
}

/// `[prefix/]name`: a DNS name of up to 253 bytes, and a name of up to 63.
fn is_label_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let dns = |text: &str| {
        !text.is_empty()
            && text.len() <= 253
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
    };
    prefix.is_none_or(dns) && !name.is_empty() && is_label_value(name)
}

/// Empty, or up to 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_label_value(value: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let ends = |b: Option<&u8>| b.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    bytes.len() <= 63
        && bytes.iter().all(|b| inner(*b))
        && ends(bytes.first())
        && ends(bytes.last())
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            fmt::Display::fmt(requirement, f)?;
        }
        Ok(())
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match (self.operator, self.values.len()) {
            (Operator::In, 1) => write!(f, "{key}={values}"),
            (Operator::NotIn, 1) => write!(f, "{key}!={values}"),
            (Operator::In, _) => write!(f, "{key} in ({values})"),
            (Operator::NotIn, _) => write!(f, "{key} notin ({values})"),
            (Operator::Exists, _) => f.write_str(key),
            (Operator::DoesNotExist, _) => write!(f, "!{key}"),
            (Operator::Gt, _) => write!(f, "{key}>{values}"),
            (Operator::Lt, _) => write!(f, "{key}<{values}"),
        }
    }
}

/// The form of `spec.selector`.
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Wire {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    match_labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    match_expressions: Vec<LabelRequirement>,
}

impl<'de> Deserialize<'de> for LabelSelector {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let Self { mut requirements } = Self::from_labels(wire.match_labels);
        requirements.extend(wire.match_expressions);
        Ok(Self::new(requirements))
    }
}

impl Serialize for LabelSelector {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wire = Wire::default();
        for requirement in &self.requirements {
            match (requirement.operator, requirement.values.as_slice()) {
                (Operator::In, [value]) if !wire.match_labels.contains_key(&requirement.key) => {
                    wire.match_labels
                        .insert(requirement.key.clone(), value.clone());
                }
                _ => wire.match_expressions.push(requirement.clone()),
            }
        }
        wire.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_parsed_and_printed() {
        for (text, printed) in [
            ("", ""),
            ("a=b", "a=b"),
            ("a==b", "a=b"),
            ("a = b , c", "a=b,c"),
            ("a!=b", "a!=b"),
            ("x in (c, a,b)", "x in (a,b,c)"),
            ("x notin (a)", "x!=a"),
            ("!x,example.com/y", "example.com/y,!x"),
            ("x>5,y<6", "x>5,y<6"),
            ("a=", "a="),
        ] {
            let selector: LabelSelector = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(selector.to_string(), printed, "{text}");
            assert_eq!(printed.parse::<LabelSelector>().unwrap(), selector);
        }
    }

    #[test]
    fn what_is_not_in_the_grammar_is_refused() {
        for text in [
            "a in (b",
            "a b",
            "=b",
            "a in b",
            ",",
            "a,,b",
            "a=b=c",
            "x>y",
            "!",
            "a in (b)c",
            "-a",
            "a=$",
        ] {
            assert!(text.parse::<LabelSelector>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn operators_treat_absence_as_kubernetes_does() {
        let holds = |text: &str, labels: &[(&'static str, &'static str)]| {
            let selector: LabelSelector = text.parse().unwrap();
            let matched = selector.matches(labels.iter().copied());
            let by_key = |key: &str| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
            assert_eq!(matched, selector.matches_by(by_key), "{text}");
            matched
        };
        assert!(holds("", &[]));
        assert!(holds("a!=b", &[]));
        assert!(!holds("a=b", &[]));
        assert!(holds("a notin (b,c)", &[("a", "d")]));
        assert!(holds("a,!b", &[("a", "")]));
        assert!(holds("n>5", &[("n", "6")]) && !holds("n>5", &[("n", "x")]) && !holds("n<5", &[]));
    }

    #[test]
    fn the_object_form_is_read_and_written() {
        let json = serde_json::json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]},
                                 {"key": "old", "operator": "DoesNotExist"}]
        });
        let selector: LabelSelector = serde_json::from_value(json).unwrap();
        assert_eq!(selector.to_string(), "app=web,!old,tier in (a,b)");
        let again: LabelSelector =
            serde_json::from_value(serde_json::to_value(&selector).unwrap()).unwrap();
        assert_eq!(again, selector);
    }
}
