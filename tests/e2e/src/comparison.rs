//! Two servers' contents, compared field by field.

use serde_json::Value;

use crate::mirror::Contents;

/// A field that may differ: of which resource (its plural), where, and why.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The plural of the resource; `*` is every resource.
    pub plural: &'static str,
    /// A JSON pointer, in which `*` is any one step; what is below it may differ too.
    pub field: &'static str,
    /// Why.
    pub why: &'static str,
}

/// What `left` and `right` do not have in common, but for what is known; at most a few of each
/// resource, as lines to read.
#[must_use]
pub fn differences(left: &Contents, right: &Contents, known: &[Known]) -> Vec<String> {
    let mut found = Vec::new();
    let keys = left
        .keys()
        .chain(right.keys().filter(|key| !left.contains_key(key)));
    for entry in keys {
        let (resource, key) = entry;
        let plural = &*resource.plural;
        match (left.get(entry), right.get(entry)) {
            (Some(left), Some(right)) => {
                let mut fields = Vec::new();
                compare(left, right, "", &mut fields);
                fields.retain(|(field, _)| !known.iter().any(|known| known.covers(plural, field)));
                let lines = fields.into_iter();
                found.extend(lines.map(|(field, how)| format!("{plural} {key}{field}: {how}")));
            }
            (left, _) => {
                let side = if left.is_some() { "left" } else { "right" };
                found.push(format!("{plural} {key}: only {side}"));
            }
        }
    }
    found
}

impl Known {
    fn covers(&self, plural: &str, field: &str) -> bool {
        let mut steps = field.split('/');
        (self.plural == "*" || self.plural == plural)
            && self.field.split('/').all(|wanted| {
                steps
                    .next()
                    .is_some_and(|step| wanted == "*" || wanted == step)
            })
    }
}

fn compare(left: &Value, right: &Value, field: &str, found: &mut Vec<(String, String)>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let more = right.keys().filter(|key| !left.contains_key(*key));
            for key in left.keys().chain(more) {
                let step = key.replace('~', "~0").replace('/', "~1");
                let absent = &Value::Null;
                let (left, right) = (left.get(key), right.get(key));
                let (left, right) = (left.unwrap_or(absent), right.unwrap_or(absent));
                compare(left, right, &format!("{field}/{step}"), found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(left, right, &format!("{field}/{index}"), found);
            }
        }
        _ if left == right => {}
        _ => found.push((field.to_owned(), format!("{left} and {right}"))),
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
        let lines = ["pods ns/a/a~1b/c/1/d: 2 and 3", "pods ns/a/e: 5 and null"];
        assert_eq!(differences(&left, &right, &[]), lines);
        let known = |plural, field| Known {
            plural,
            field,
            why: "",
        };
        let covered = [known("pods", "/a~1b/c/*/d"), known("*", "/e")];
        assert!(differences(&left, &right, &covered).is_empty());
        let others = [known("services", "/e"), known("pods", "/a~1b/c/1/d/x")];
        assert_eq!(differences(&left, &right, &others), lines);
        assert_eq!(
            differences(&left, &Contents::new(), &covered),
            ["pods ns/a: only left"]
        );
    }
}
