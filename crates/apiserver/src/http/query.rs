//! Query strings by the API server's conversion rules.

use std::borrow::Cow;

use evenkeel_meta::Status;

/// The parameters of one request. The first of several with one name counts.
#[derive(Debug, Default, Clone)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (
                        unescape(name, true).into_owned(),
                        unescape(value, true).into_owned(),
                    )
                })
                .collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// A parameter that counts as absent when empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Anything but `0` and `false` is true, also an empty value.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)
            .map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(value) = self.text(name) else {
            return Ok(None);
        };
        let number = value.parse().map_err(|_| {
            Status::bad_request(format!(
                "strconv.ParseInt: parsing \"{value}\": invalid syntax"
            ))
        })?;
        Ok(Some(number))
    }
}

/// Undoes percent-encoding, and `+` for a space where forms use it.
pub(crate) fn unescape(text: &str, form: bool) -> Cow<'_, str> {
    let escaped = text.contains('%') || (form && text.contains('+'));
    if !escaped {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push(high << 4 | low);
                at += 3;
                continue;
            }
            (b'+', ..) if form => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

fn hex(byte: Option<&u8>) -> Option<u8> {
    let digit = char::from(*byte?).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_unescaped() {
        let query = Query::parse(Some("labelSelector=app%3Dweb%2Cx+in+(a)&watch=1&limit=5&x"));
        assert_eq!(query.get("labelSelector"), Some("app=web,x in (a)"));
        assert_eq!(query.flag("watch"), Some(true));
        assert_eq!(query.flag("x"), Some(true));
        assert_eq!(query.flag("none"), None);
        assert_eq!(query.number("limit").unwrap(), Some(5));
        assert!(query.number("watch").unwrap().is_some());
        assert!(Query::parse(Some("limit=x")).number("limit").is_err());
    }

    #[test]
    fn broken_escapes_stay_as_they_are() {
        assert_eq!(unescape("100%", true), "100%");
        assert_eq!(unescape("%zz", true), "%zz");
        assert_eq!(unescape("a+b", false), "a+b");
    }
}
