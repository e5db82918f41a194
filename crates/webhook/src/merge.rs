//! What a typed change means for the JSON that the client sent.

use serde_json::{Map, Value};

/// `sent` with the difference between `before` and `after` made in it.
///
/// `before` is `sent` as a type sees it: without the fields that the type does not know, and with
/// those that it always writes. Only what differs between `before` and `after` is changed, so that
/// neither shows in the result.
pub(crate) fn merge(sent: &Value, before: &Value, after: Value) -> Value {
    if *before == after {
        return sent.clone();
    }
    match (sent, before, after) {
        (Value::Object(sent), Value::Object(before), Value::Object(after)) => {
            Value::Object(objects(sent, before, after))
        }
        (Value::Array(sent), Value::Array(before), Value::Array(after))
            if sent.len() == before.len() =>
        {
            Value::Array(arrays(sent, before, after))
        }
        (_, _, after) => after,
    }
}

fn objects(
    sent: &Map<String, Value>,
    before: &Map<String, Value>,
    mut after: Map<String, Value>,
) -> Map<String, Value> {
    let mut merged = Map::new();
    for (key, sent) in sent {
        let value = match (before.get(key), after.remove(key)) {
            (Some(before), Some(after)) => merge(sent, before, after),
            // Taken away by the one who changed it.
            (Some(_), None) => continue,
            // Unknown to the type, or written by it only when there is something to write.
            (None, None) => sent.clone(),
            (None, Some(after)) => after,
        };
        merged.insert(key.clone(), value);
    }
    for (key, after) in after {
        // What the type writes of its own accord was not asked for.
        if before.get(&key) != Some(&after) {
            merged.insert(key, after);
        }
    }
    merged
}

/// Each item goes on from the item that it was: the same one, or else one of the same name, or
/// else, if none came or went, the one in its place.
fn arrays(sent: &[Value], before: &[Value], after: Vec<Value>) -> Vec<Value> {
    let mut is_taken = vec![false; before.len()];
    let in_place = before.len() == after.len();
    let mut origins: Vec<Option<usize>> = vec![None; after.len()];
    let mut assign = |is_it: &dyn Fn(usize, &Value, &Value) -> bool, near: bool| {
        for (at, item) in after.iter().enumerate() {
            if origins[at].is_some() {
                continue;
            }
            let candidates = if near {
                at..(at + 1).min(before.len())
            } else {
                0..before.len()
            };
            let found = candidates
                .into_iter()
                .find(|&from| !is_taken[from] && is_it(from, &before[from], item));
            if let Some(from) = found {
                is_taken[from] = true;
                origins[at] = Some(from);
            }
        }
    };
    // The item in the same place first: of equal ones, each keeps its own.
    assign(&|_, before, after| before == after, true);
    assign(&|_, before, after| before == after, false);
    assign(&|_, before, after| same_name(before, after), false);
    if in_place {
        assign(
            &|_, before, after| name(before).is_none() && name(after).is_none(),
            true,
        );
    }
    let items = after.into_iter().zip(origins);
    items
        .map(|(item, origin)| match origin {
            Some(from) => merge(&sent[from], &before[from], item),
            None => item,
        })
        .collect()
}

fn same_name(one: &Value, other: &Value) -> bool {
    name(one).is_some_and(|name_of_one| Some(name_of_one) == name(other))
}

/// What tells the items of a list apart in most of Kubernetes' types.
fn name(item: &Value) -> Option<&Value> {
    [
        "name",
        "key",
        "type",
        "mountPath",
        "containerPort",
        "port",
        "uid",
        "ip",
    ]
    .iter()
    .find_map(|key| item.get(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What is changed is changed, and nothing else, whatever the type knows.
    #[test]
    fn controller_runtime_t70_unknown_fields_stay_wherever_they_are() {
        let sent = json!({
            "spec": {"size": 1, "new": {"deep": true}, "items": [
                {"name": "a", "new": 1}, {"name": "b", "new": 2, "port": 1}, {"name": "c", "new": 3},
            ], "names": ["x", "y"]},
            "later": [1],
        });
        let before = json!({
            "spec": {"size": 1, "mode": "", "items": [{"name": "a"}, {"name": "b", "port": 1}, {"name": "c"}],
                "names": ["x", "y"]},
            "status": {},
        });
        let after = json!({
            "spec": {"size": 3, "mode": "", "items": [{"name": "b", "port": 2}, {"name": "c"}, {"name": "d"}],
                "names": ["y", "z"]},
            "status": {},
        });
        assert_eq!(
            merge(&sent, &before, after),
            json!({
                "spec": {"size": 3, "new": {"deep": true}, "items": [
                    {"name": "b", "new": 2, "port": 2}, {"name": "c", "new": 3}, {"name": "d"},
                ], "names": ["y", "z"]},
                "later": [1],
            })
        );
    }

    #[test]
    fn what_is_taken_away_goes_and_what_is_put_there_comes() {
        let sent = json!({"a": {"x": 1, "unknown": 2}, "b": null, "list": [{"v": 1, "u": 1}, {"v": 2, "u": 2}]});
        let before = json!({"a": {"x": 1}, "list": [{"v": 1}, {"v": 2}]});
        assert_eq!(
            merge(
                &sent,
                &before,
                json!({"b": 7, "list": [{"v": 1}, {"v": 3}]})
            ),
            json!({"b": 7, "list": [{"v": 1, "u": 1}, {"v": 3, "u": 2}]})
        );
        // Shorter, and without names: an item is only itself while it is the same.
        assert_eq!(
            merge(&sent, &before, json!({"a": {"x": 1}, "list": [{"v": 2}]})),
            json!({"a": {"x": 1, "unknown": 2}, "b": null, "list": [{"v": 2, "u": 2}]})
        );
    }

    #[test]
    fn of_two_equal_items_each_keeps_its_own() {
        let sent = json!([{"n": 1, "u": 1}, {"n": 1, "u": 2}]);
        let before = json!([{"n": 1}, {"n": 1}]);
        let after = json!([{"n": 1}, {"n": 1}, {"n": 2}]);
        assert_eq!(
            merge(&sent, &before, after),
            json!([{"n": 1, "u": 1}, {"n": 1, "u": 2}, {"n": 2}])
        );
    }
}
