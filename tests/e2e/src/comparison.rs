//! Two servers' contents, compared field by field.

use std::fmt;

use serde_json::Value;

use crate::mirror::Contents;

/// A field whose value may differ, if both servers have one: of which resource (its plural), where,
/// and why.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The plural of the resource; `*` is every resource.
    pub plural: &'static str,
    /// A JSON pointer, in which `*` is any one step.
    pub field: &'static str,
    /// Why.
    pub why: &'static str,
}

/// A field that is not the same on both sides; `None` where it is absent.
struct Difference<'a> {
    field: String,
    left: Option<&'a Value>,
    right: Option<&'a Value>,
}

/// What `left` and `right` do not have in common, but for what is known, as lines to read.
#[must_use]
pub fn differences(left: &Contents, right: &Contents, known: &[Known]) -> Vec<String> {
    let mut lines = Vec::new();
    let only_right = right.keys().filter(|key| !left.contains_key(key));
    for entry in left.keys().chain(only_right) {
        let (resource, key) = entry;
        let plural = &*resource.plural;
        match (left.get(entry), right.get(entry)) {
            (Some(left), Some(right)) => {
                let mut found = Vec::new();
                compare(Some(left), Some(right), "", &mut found);
                found.retain(|one| !known.iter().any(|known| known.covers(plural, one)));
                lines.extend(found.iter().map(|one| format!("{plural} {key}{one}")));
            }
            (left, _) => {
                let side = if left.is_some() { "left" } else { "right" };
                lines.push(format!("{plural} {key}: only {side}"));
            }
        }
    }
    lines
}

impl Known {
    fn covers(&self, plural: &str, difference: &Difference<'_>) -> bool {
        let (left, right) = (difference.left, difference.right);
        let mut steps = difference.field.split('/');
        let mut wanted = self.field.split('/');
        (self.plural == "*" || self.plural == plural)
            && left.is_some_and(|left| !left.is_null())
            && right.is_some_and(|right| !right.is_null())
            && wanted.all(|wanted| {
                steps
                    .next()
                    .is_some_and(|step| wanted == "*" || wanted == step)
            })
            && steps.next().is_none()
    }
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
        let (left, right) = (show(self.left), show(self.right));
        write!(f, "{}: {left} and {right}", self.field)
    }
}

fn compare<'a>(
    left: Option<&'a Value>,
    right: Option<&'a Value>,
    field: &str,
    found: &mut Vec<Difference<'a>>,
) {
    match (left, right) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let more = right.keys().filter(|key| !left.contains_key(*key));
            for key in left.keys().chain(more) {
                let step = key.replace('~', "~0").replace('/', "~1");
                let field = format!("{field}/{step}");
                compare(left.get(key), right.get(key), &field, found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(Some(left), Some(right), &format!("{field}/{index}"), found);
            }
        }
        _ if left == right => {}
        _ => found.push(Difference {
            field: field.to_owned(),
            left,
            right,
        }),
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::ObjectKey;
    use serde_json::json;

    use super::*;
    use crate::manifest::PODS;

    fn contents(object: Value) -> Contents {
        Contents::from([((PODS, ObjectKey::namespaced("ns", "a")), object)])
    }

    #[test]
    fn every_difference_is_named_and_those_that_are_known_are_not() {
        let left = contents(json!({"a/b": {"c": [1, {"d": 2}]}, "e": 5}));
        let right = contents(json!({"a/b": {"c": [1, {"d": 3}]}, "f": null}));
        let lines = [
            "pods ns/a/a~1b/c/1/d: 2 and 3",
            "pods ns/a/e: 5 and nothing",
            "pods ns/a/f: nothing and null",
        ];
        assert_eq!(differences(&left, &right, &[]), lines);
        let known = |plural, field| Known {
            plural,
            field,
            why: "",
        };
        // It must be there on both sides.
        let covered = [known("pods", "/a~1b/c/*/d"), known("*", "/e")];
        assert_eq!(differences(&left, &right, &covered), lines[1..]);
        let others = [
            known("services", "/a~1b/c/1/d"),
            known("pods", "/a~1b/c/1/d/x"),
            known("pods", "/a~1b/c"),
        ];
        assert_eq!(differences(&left, &right, &others), lines);
        let nothing = Contents::new();
        assert_eq!(
            differences(&left, &nothing, &covered),
            ["pods ns/a: only left"]
        );
    }
}
