use std::fmt::Write;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::error::RequestError;

/// Whom to act as: the server checks that the client's own user may do so, and then what the
/// other one may do (client-go TR8).
///
/// ```
/// use evenkeel_client::{Config, Impersonation};
///
/// let config = Config::new("https://127.0.0.1:6443")?
///     .token("mine")
///     .impersonate(Impersonation::user("jane").group("developers"));
/// # Ok::<(), evenkeel_client::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonation {
    pub(crate) user: String,
    pub(crate) uid: Option<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: Vec<(String, String)>,
}

impl Impersonation {
    /// Acts as this user, without any group.
    pub fn user(name: impl Into<String>) -> Self {
        Self {
            user: name.into(),
            uid: None,
            groups: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// With this UID.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    /// With one more group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// With one more value of an extra attribute. Keys are not case-sensitive.
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.push((key.into(), value.into()));
        self
    }

    /// Adds the headers, unless the request says itself whom to act as.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap) -> Result<(), RequestError> {
        const USER: HeaderName = HeaderName::from_static("impersonate-user");
        const UID: HeaderName = HeaderName::from_static("impersonate-uid");
        const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
        if headers.contains_key(USER) {
            return Ok(());
        }
        headers.insert(USER, value("user", &self.user)?);
        if let Some(uid) = &self.uid {
            headers.insert(UID, value("UID", uid)?);
        }
        for group in &self.groups {
            headers.append(GROUP, value("group", group)?);
        }
        for (key, text) in &self.extra {
            let name = format!("impersonate-extra-{}", escaped(key));
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| RequestError::Malformed(format!("cannot impersonate: key {key:?}")))?;
            headers.append(name, value("extra attribute", text)?);
        }
        Ok(())
    }
}

fn value(what: &str, text: &str) -> Result<HeaderValue, RequestError> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
        RequestError::Malformed(format!(
            "cannot impersonate: the {what} {text:?} has characters that an HTTP header cannot carry"
        ))
    })
}

/// A key as a part of a header's name: what a name cannot carry, and `%`, as `%` and two digits.
fn escaped(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            name.push(byte.to_ascii_lowercase().into());
        } else {
            // Writing to a text does not fail.
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tr8_headers_of_impersonation() {
        let whom = Impersonation::user("jane")
            .uid("7")
            .group("a")
            .group("b")
            .extra("Scopes", "view")
            .extra("scopes", "edit")
            .extra("example.com/50%", "ü");
        let mut headers = HeaderMap::new();
        whom.add_to(&mut headers).unwrap();
        let all = |name: &str| -> Vec<_> {
            let values = headers.get_all(name).iter();
            values
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                .collect()
        };
        assert_eq!(all("impersonate-user"), ["jane"]);
        assert_eq!(all("impersonate-uid"), ["7"]);
        assert_eq!(all("impersonate-group"), ["a", "b"]);
        assert_eq!(all("impersonate-extra-scopes"), ["view", "edit"]);
        assert_eq!(all("impersonate-extra-example.com%2f50%25"), ["ü"]);
    }

    #[test]
    fn tr8_a_request_may_name_somebody_itself() {
        let mut headers = HeaderMap::new();
        headers.insert("impersonate-user", HeaderValue::from_static("own"));
        let whom = Impersonation::user("jane").group("a");
        whom.add_to(&mut headers).unwrap();
        assert_eq!(headers["impersonate-user"], "own");
        assert!(!headers.contains_key("impersonate-group"));
    }

    #[test]
    fn what_a_header_cannot_carry_is_an_error() {
        let whom = Impersonation::user("jane\r\nx: y");
        let error = whom.add_to(&mut HeaderMap::new()).unwrap_err();
        assert!(error.to_string().contains("cannot impersonate: the user"));
    }
}
