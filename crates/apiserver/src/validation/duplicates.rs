//! Keys that a JSON object has twice: a parsed value no longer shows them.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The paths of repeated keys, in the order of the text. `parsed` is what `text` parsed to.
///
/// Nearly no document has any, so that is found out first: the text has as many keys as the value.
pub(crate) fn duplicate_fields(text: &[u8], parsed: &Value) -> Vec<String> {
    if keys_in_text(text) == keys_in_value(parsed) {
        return Vec::new();
    }
    let mut search = Search::default();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // The text has been parsed before: it is JSON.
    let _ = Seed(&mut search).deserialize(&mut deserializer);
    search.found
}

/// Colons outside strings.
fn keys_in_text(text: &[u8]) -> usize {
    let (mut keys, mut in_string, mut escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b':' if !in_string => keys += 1,
            _ => {}
        }
    }
    keys
}

fn keys_in_value(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(keys_in_value).sum::<usize>(),
        Value::Array(items) => items.iter().map(keys_in_value).sum(),
        _ => 0,
    }
}

#[derive(Default)]
struct Search {
    path: String,
    found: Vec<String>,
}

impl Search {
    /// Runs `inside` with `step` added to the path.
    fn at<R>(&mut self, step: &str, inside: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.path.len();
        if length > 0 && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        let result = inside(self);
        self.path.truncate(length);
        result
    }
}

struct Seed<'a>(&'a mut Search);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let search = self.0;
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            search.at(&key, |search| {
                if seen.contains(&key) && !search.found.contains(&search.path) {
                    search.found.push(search.path.clone());
                }
                map.next_value_seed(Seed(search))
            })?;
            seen.insert(key);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let search = self.0;
        for index in 0.. {
            let next = search.at(&format!("[{index}]"), |search| {
                items.next_element_seed(Seed(search))
            })?;
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
