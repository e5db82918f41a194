//! Finds where JSON values end in bytes that arrive in pieces, without decoding them.

use memchr::memchr2;

/// Follows one JSON value over any number of pieces.
///
/// It tracks only strings and nesting: what it delimits may still be malformed, which the
/// decoder then says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueEnd {
    depth: usize,
    within: Within,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    /// Nothing but white space so far.
    #[default]
    Nothing,
    /// Between the tokens of an object or array.
    Structure,
    String,
    /// In a string, after a backslash.
    Escape,
    /// A number, `true`, `false` or `null` that is the whole value.
    Literal,
}

impl ValueEnd {
    /// Takes the next bytes. Answers how many of them belong to the value once it is complete;
    /// a number ends only at the byte that follows it.
    pub(crate) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.within {
                Within::Escape => self.within = Within::String,
                Within::String => {
                    at += memchr2(b'"', b'\\', &bytes[at..])?;
                    if bytes[at] == b'\\' {
                        self.within = Within::Escape;
                    } else if self.depth == 0 {
                        return Some(at + 1);
                    } else {
                        self.within = Within::Structure;
                    }
                }
                Within::Literal if is_delimiter(byte) => return Some(at),
                Within::Literal => {}
                Within::Nothing | Within::Structure => match byte {
                    b'"' => self.within = Within::String,
                    b'{' | b'[' => {
                        self.depth += 1;
                        self.within = Within::Structure;
                    }
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ if self.within == Within::Nothing && !byte.is_ascii_whitespace() => {
                        self.within = Within::Literal;
                    }
                    _ => {}
                },
            }
            at += 1;
        }
        None
    }
}

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b',' | b'}' | b']')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value's length when the bytes come in one piece, and in pieces cut at `cut`.
    fn ends(text: &str, cut: usize) -> (Option<usize>, Option<usize>) {
        let bytes = text.as_bytes();
        let whole = ValueEnd::default().find(bytes);
        let mut pieces = ValueEnd::default();
        let first = pieces.find(&bytes[..cut]);
        let split = first.or_else(|| pieces.find(&bytes[cut..]).map(|end| cut + end));
        (whole, split)
    }

    #[test]
    fn values_end_where_they_do_wherever_they_are_cut() {
        for (value, rest) in [
            (r#"{"a":[1,{"b":"}]"}],"c":"\"\\"}"#, r#"{"next":1}"#),
            (r#"[[],"[",[{}]]"#, ","),
            (r#""text \u0022 \" ü""#, "}"),
            ("-12.5e3", "]"),
            ("null", " "),
            ("  \n{}", "\n"),
        ] {
            let text = format!("{value}{rest}");
            for cut in 0..=text.len() {
                let expected = Some(value.len());
                assert_eq!(ends(&text, cut), (expected, expected), "{text} at {cut}");
            }
        }
    }

    #[test]
    fn an_incomplete_value_has_no_end() {
        for text in [r#"{"a":"b"#, r#"["#, r#""a\""#, "12", "   "] {
            assert_eq!(ValueEnd::default().find(text.as_bytes()), None, "{text}");
        }
    }
}
