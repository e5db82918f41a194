//! Which line of a document a field is on.

use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Options, Spanned};

/// As kubectl reads YAML, which is YAML 1.1: `0644` is octal, `yes` is true. A key that is
/// written twice is a fault.
///
/// A List of a hundred thousand objects is read. What aliases multiply stays bounded, and so does
/// the depth: each level is a call on the stack.
pub(super) fn options() -> Options {
    serde_saphyr::options! {
        legacy_octal_numbers: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_nodes: 10_000_000,
            max_events: 40_000_000,
            max_total_scalar_bytes: 512 << 20,
        },
    }
}

/// The line of the field `path`, such as `.spec.containers[0].image`, counted from 1; that of
/// the innermost field on the way that is there, or of the document.
///
/// The document is parsed again: lines are needed only for what went wrong.
pub(super) fn line_of(document: &str, path: &str) -> usize {
    let parsed = serde_saphyr::from_str_with_options::<Spanned<Node>>(document, options());
    let Ok(root) = parsed else {
        return 1;
    };
    let mut node = &root;
    let mut line = node.referenced.line();
    for step in steps(path) {
        let (found, at) = match (&node.value, step) {
            (Node::Map(fields), Step::Field(name)) => {
                match fields.iter().find(|(key, _)| key.value == name) {
                    Some((key, value)) => (value, key.referenced.line()),
                    None => break,
                }
            }
            (Node::Seq(items), Step::Index(index)) => match items.get(index) {
                Some(item) => (item, item.referenced.line()),
                None => break,
            },
            _ => break,
        };
        (node, line) = (found, at);
    }
    usize::try_from(line).unwrap_or(1).max(1)
}

#[derive(Debug, PartialEq, Eq)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
}

/// The steps of a path as API servers write them. A selection by key (`[name="a"]`) ends it.
fn steps(path: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let mut pieces = part.split('[');
        let name = pieces.next().unwrap_or_default();
        if !name.is_empty() {
            steps.push(Step::Field(name));
        }
        for piece in pieces {
            match piece.trim_end_matches(']').parse() {
                Ok(index) => steps.push(Step::Index(index)),
                Err(_) => return steps,
            }
        }
    }
    steps
}

/// A value of which only the shape is kept.
enum Node {
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
    Seq(Vec<Spanned<Node>>),
    Scalar,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Shape)
    }
}

struct Shape;

impl<'de> Visitor<'de> for Shape {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Node::Map(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::Seq(items))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: serde::Deserializer<'de>>(self, inner: D) -> Result<Node, D::Error> {
        IgnoredAny::deserialize(inner).map(|_| Node::Scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "\
# a comment
apiVersion: v1
spec:
  containers:
  - name: a
    image: b
  - name: c
    ports: [{containerPort: 80}]
";

    #[test]
    fn fields_are_found_by_their_paths() {
        for (path, line) in [
            ("", 2),
            ("apiVersion", 2),
            (".spec", 3),
            ("spec.containers[0].image", 6),
            (".spec.containers[1].ports[0].containerPort", 8),
            // What is not there: the innermost that is.
            ("spec.containers[1].image", 7),
            ("spec.containers[7]", 4),
            (".spec.containers[name=\"c\"].image", 4),
            ("status", 2),
        ] {
            assert_eq!(line_of(POD, path), line, "{path}");
        }
        assert_eq!(line_of("a: [", "a"), 1);
        assert_eq!(line_of("{\"a\":\n  {\"b\": 1}}", "a.b"), 2);
    }
}
