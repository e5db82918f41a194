use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

/// Names an object of one resource: its namespace, if it has one, and its name.
///
/// The text form is client-go's cache key: `namespace/name`, or `name` alone for
/// cluster-scoped objects (contract client-go S1). A key is one shared string, so a
/// clone costs a reference count, and hashing it reads one run of bytes.
#[derive(Clone)]
pub struct ObjectKey {
    text: Arc<str>,
    /// Bytes before the slash; 0 when there is no namespace. Namespaces are at most
    /// 63 bytes long, but nothing breaks when a server is more generous.
    namespace_len: u32,
}

/// A key's text had more than one `/`, or an empty part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unexpected object key {text:?}: want \"namespace/name\" or \"name\"")]
pub struct ParseKeyError {
    text: String,
}

impl ObjectKey {
    /// The key of `name` in `namespace`; an empty namespace is no namespace.
    #[must_use]
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) if !namespace.is_empty() => Self::namespaced(namespace, name),
            _ => Self::cluster(name),
        }
    }

    /// The key of a namespaced object.
    #[must_use]
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        let mut text = String::with_capacity(namespace.len() + 1 + name.len());
        text.push_str(namespace);
        text.push('/');
        text.push_str(name);
        Self {
            text: text.into(),
            namespace_len: u32::try_from(namespace.len()).unwrap_or(u32::MAX),
        }
    }

    /// The key of a cluster-scoped object.
    #[must_use]
    pub fn cluster(name: &str) -> Self {
        Self {
            text: name.into(),
            namespace_len: 0,
        }
    }

    /// The namespace, `None` for cluster-scoped objects.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self.namespace_len {
            0 => None,
            len => self.text.get(..len as usize),
        }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.namespace_len {
            0 => &self.text,
            len => self.text.get(len as usize + 1..).unwrap_or_default(),
        }
    }

    /// The text form, `namespace/name` or `name`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseKeyError { text: text.into() };
        let key = match text.split_once('/') {
            None => Self::cluster(text),
            Some((namespace, name)) if !namespace.is_empty() && !name.contains('/') => {
                Self::namespaced(namespace, name)
            }
            Some(_) => return Err(error()),
        };
        if key.name().is_empty() {
            return Err(error());
        }
        Ok(key)
    }
}

impl PartialEq for ObjectKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text) || self.text == other.text
    }
}

impl Eq for ObjectKey {}

impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

/// Maps keyed by `ObjectKey` can be asked with the text form.
impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_go_s1_key_is_namespace_slash_name() {
        assert_eq!(ObjectKey::namespaced("ns", "a").to_string(), "ns/a");
        assert_eq!(ObjectKey::new(Some(""), "a").to_string(), "a");
        let key: ObjectKey = "ns/a".parse().unwrap();
        assert_eq!((key.namespace(), key.name()), (Some("ns"), "a"));
        let key: ObjectKey = "a".parse().unwrap();
        assert_eq!((key.namespace(), key.name()), (None, "a"));
        for bad in ["a/b/c", "/a", "a/", ""] {
            assert!(bad.parse::<ObjectKey>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_map_of_keys_is_asked_with_text() {
        let map = std::collections::HashMap::from([(ObjectKey::namespaced("ns", "a"), 1)]);
        assert_eq!(map.get("ns/a"), Some(&1));
    }
}
