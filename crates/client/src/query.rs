use std::fmt::{Display, Write};

/// A path with a query string, built from the left to the right.
pub(crate) struct Query {
    text: String,
    separator: char,
}

impl Query {
    pub(crate) fn new(path: String) -> Self {
        Self {
            text: path,
            separator: '?',
        }
    }

    pub(crate) fn add(&mut self, key: &str, value: impl Display) {
        self.text.push(self.separator);
        self.separator = '&';
        self.text.push_str(key);
        self.text.push('=');
        let mut escaped = Escaped(&mut self.text);
        // Writing into a String cannot fail.
        let _ = write!(escaped, "{value}");
    }

    pub(crate) fn some(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    pub(crate) fn text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.add(key, value);
        }
    }

    pub(crate) fn flag(&mut self, key: &str, set: bool) {
        if set {
            self.add(key, "true");
        }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Percent-encodes everything but the unreserved characters.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        escape_into(self.0, text, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
        });
        Ok(())
    }
}

/// Appends `text`, percent-encoding the bytes that are not `plain`.
pub(crate) fn escape_into(out: &mut String, text: &str, plain: impl Fn(u8) -> bool) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_and_absent_ones_left_out() {
        let mut query = Query::new("/api/v1/pods".into());
        query.text("labelSelector", "app in (a,b),x=ü");
        query.text("fieldSelector", "");
        query.some("limit", None::<u32>);
        query.flag("watch", true);
        assert_eq!(
            query.finish(),
            "/api/v1/pods?labelSelector=app%20in%20%28a%2Cb%29%2Cx%3D%C3%BC&watch=true"
        );
    }
}
