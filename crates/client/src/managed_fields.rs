//! Cuts `metadata.managedFields` out of an object's JSON text before it is decoded.

use std::ops::Range;

use crate::identity::Fields;

/// What becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ManagedFields {
    Kept,
    Cut,
}

impl ManagedFields {
    /// Cuts them out of the object that begins at `object`. What stands before them moves up to what stands
    /// behind them; answers where the text begins now. Text of an unusual form is left alone.
    pub(crate) fn cut(self, text: &mut [u8], object: usize) -> usize {
        if self == Self::Kept {
            return 0;
        }
        let Some(Range { start, end }) = find(&text[object..]) else {
            return 0;
        };
        let (start, end) = (object + start, object + end);
        text.copy_within(..start, end - start);
        end - start
    }
}

/// Where they are, with one of the commas around them.
fn find(object: &[u8]) -> Option<Range<usize>> {
    let mut fields = Fields::open(object)?;
    while fields.next_name()? != b"metadata" {
        fields.value()?;
    }
    let mut metadata = Fields::open(fields.rest)?;
    let mut is_first = true;
    loop {
        let start = object.len() - metadata.rest.len();
        let name = metadata.next_name()?;
        metadata.value()?;
        if name == b"managedFields" {
            let rest = match metadata.rest.trim_ascii_start() {
                [b',', rest @ ..] if is_first => rest,
                rest @ [b',' | b'}', ..] => rest,
                // Which comma goes with them is not known yet.
                _ => return None,
            };
            return Some(start..object.len() - rest.len());
        }
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, object: usize) -> String {
        let mut bytes = text.as_bytes().to_vec();
        let start = ManagedFields::Cut.cut(&mut bytes, object);
        String::from_utf8(bytes[start..].to_vec()).unwrap()
    }

    #[test]
    fn they_go_wherever_they_stand_and_nothing_else_does() {
        let managed = r#""managedFields":[{"manager":"k]}","fieldsV1":{"f:a":{}}}]"#;
        for (text, expected) in [
            (
                r#"{"metadata":{"name":"a",M,"uid":"u"},"spec":{}}"#,
                r#"{"metadata":{"name":"a","uid":"u"},"spec":{}}"#,
            ),
            (
                r#"{"metadata":{M,"name":"a"}}"#,
                r#"{"metadata":{"name":"a"}}"#,
            ),
            (
                r#"{"metadata":{"name":"a", M }}"#,
                r#"{"metadata":{"name":"a"}}"#,
            ),
            (
                r#"{"spec":{"metadata":{M}},"metadata":{M}}"#,
                r#"{"spec":{"metadata":{M}},"metadata":{}}"#,
            ),
            (
                r#"{"metadata":{"labels":{M}}}"#,
                r#"{"metadata":{"labels":{M}}}"#,
            ),
            (r#"{"metadata":null}"#, r#"{"metadata":null}"#),
            (
                r#"{"metadata":{"name":"a","managedFields":[{"#,
                r#"{"metadata":{"name":"a","managedFields":[{"#,
            ),
            // The comma that follows has not arrived.
            (r#"{"metadata":{M "#, r#"{"metadata":{M "#),
            (
                r#"{"metadata":{"name":"a",M"#,
                r#"{"metadata":{"name":"a",M"#,
            ),
        ] {
            let fill = |text: &str| text.replace('M', managed);
            assert_eq!(cut(&fill(text), 0), fill(expected));
        }
        let event = r#"{"type":"ADDED","object":{"metadata":{"managedFields":[],"name":"a"}}}"#;
        let without = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
        assert_eq!(cut(event, 25), without);
        assert_eq!(
            ManagedFields::Kept.cut(&mut event.as_bytes().to_vec(), 25),
            0
        );
    }
}
