//! The difference of two documents as a JSON patch (RFC 6902).

use serde::Serialize;
use serde_json::{Map, Value};

/// One step of a JSON patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum Step {
    Add { path: String, value: Value },
    Remove { path: String },
    Replace { path: String, value: Value },
}

/// The steps from one document to the other; none if they are equal.
pub(crate) fn difference(from: &Value, to: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    compare(&mut String::new(), from, to, &mut steps);
    steps
}

fn compare(path: &mut String, from: &Value, to: &Value, steps: &mut Vec<Step>) {
    if from == to {
        return;
    }
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => objects(path, from, to, steps),
        (Value::Array(from), Value::Array(to)) => arrays(path, from, to, steps),
        _ => steps.push(Step::Replace {
            path: path.clone(),
            value: to.clone(),
        }),
    }
}

fn objects(
    path: &mut String,
    from: &Map<String, Value>,
    to: &Map<String, Value>,
    steps: &mut Vec<Step>,
) {
    for (key, old) in from {
        below(path, key, |path| match to.get(key) {
            Some(new) => compare(path, old, new, steps),
            None => steps.push(Step::Remove { path: path.clone() }),
        });
    }
    for (key, new) in to {
        if !from.contains_key(key) {
            below(path, key, |path| {
                steps.push(Step::Add {
                    path: path.clone(),
                    value: new.clone(),
                });
            });
        }
    }
}

/// Equal beginnings and ends stay; what is between is compared in place, and the rest of the longer
/// one comes or goes, from the end, so that the places before it keep their numbers.
fn arrays(path: &mut String, from: &[Value], to: &[Value], steps: &mut Vec<Step>) {
    let pairs = from.iter().zip(to);
    let start = pairs.take_while(|(old, new)| old == new).count();
    let pairs = from[start..].iter().rev().zip(to[start..].iter().rev());
    let end = pairs.take_while(|(old, new)| old == new).count();
    let (old, new) = (&from[start..from.len() - end], &to[start..to.len() - end]);
    let common = old.len().min(new.len());
    for (at, (old, new)) in old.iter().zip(new).enumerate() {
        below(path, &(start + at).to_string(), |path| {
            compare(path, old, new, steps);
        });
    }
    for at in (common..old.len()).rev() {
        below(path, &(start + at).to_string(), |path| {
            steps.push(Step::Remove { path: path.clone() });
        });
    }
    for (at, value) in new.iter().enumerate().skip(common) {
        below(path, &(start + at).to_string(), |path| {
            steps.push(Step::Add {
                path: path.clone(),
                value: value.clone(),
            });
        });
    }
}

fn below(path: &mut String, key: &str, work: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    // The order matters: the second makes tildes of its own.
    path.push_str(&key.replace('~', "~0").replace('/', "~1"));
    work(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn apply(document: &mut Value, steps: &[Step]) {
        for step in steps {
            let (Step::Add { path, .. } | Step::Remove { path } | Step::Replace { path, .. }) =
                step;
            let value = match step {
                Step::Add { value, .. } | Step::Replace { value, .. } => Some(value.clone()),
                Step::Remove { .. } => None,
            };
            if path.is_empty() {
                *document = value.unwrap();
                continue;
            }
            let (parent, key) = path.rsplit_once('/').unwrap();
            let key = key.replace("~1", "/").replace("~0", "~");
            match (document.pointer_mut(parent).unwrap(), step) {
                (Value::Object(map), Step::Remove { .. }) => assert!(map.remove(&key).is_some()),
                (Value::Object(map), Step::Add { .. }) => {
                    assert!(map.insert(key, value.unwrap()).is_none());
                }
                (Value::Object(map), _) => assert!(map.insert(key, value.unwrap()).is_some()),
                (Value::Array(list), Step::Remove { .. }) => {
                    drop(list.remove(key.parse().unwrap()));
                }
                (Value::Array(list), Step::Add { .. }) => {
                    list.insert(key.parse().unwrap(), value.unwrap());
                }
                (Value::Array(list), _) => list[key.parse::<usize>().unwrap()] = value.unwrap(),
                (other, _) => panic!("{other}"),
            }
        }
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3).prop_map(Value::from),
            "[a/~]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[ab/~]{1,2}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_steps_lead_from_one_to_the_other(from in documents(), to in documents()) {
            let mut document = from.clone();
            let steps = difference(&from, &to);
            apply(&mut document, &steps);
            prop_assert_eq!(document, to);
        }
    }

    #[test]
    fn steps_are_small() {
        let from = json!({"a/b": {"c~d": 1, "e": [1, 2, 3]}});
        let to = json!({"a/b": {"c~d": 2, "e": [1, 3]}, "f": {}});
        assert_eq!(
            serde_json::to_value(difference(&from, &to)).unwrap(),
            json!([
                {"op": "replace", "path": "/a~1b/c~0d", "value": 2},
                {"op": "remove", "path": "/a~1b/e/1"},
                {"op": "add", "path": "/f", "value": {}},
            ])
        );
    }
}
