//! Names as RFC 1123 has them, by which the API server names most things.
//!
//! ```
//! use evenkeel_meta::dns;
//!
//! assert!(dns::is_label("kube-system") && !dns::is_label("kube.system"));
//! assert!(!["", "-", "-a", "a-", "A", "a_b"].into_iter().any(dns::is_label));
//! assert!(dns::is_subdomain("leases.example.com") && !dns::is_subdomain("a/b"));
//! assert!(dns::has_label_form(&"a".repeat(64)) && !dns::is_label(&"a".repeat(64)));
//! ```

/// The longest label, in bytes.
pub const LABEL_LENGTH: usize = 63;
/// The longest subdomain, in bytes.
pub const SUBDOMAIN_LENGTH: usize = 253;

/// Whether a namespace, or something else that is named by a label, can have this name.
#[must_use]
pub fn is_label(name: &str) -> bool {
    name.len() <= LABEL_LENGTH && has_label_form(name)
}

/// Whether an object of most kinds can have this name.
#[must_use]
pub fn is_subdomain(name: &str) -> bool {
    name.len() <= SUBDOMAIN_LENGTH && has_subdomain_form(name)
}

/// Lower case letters, digits and `-`, which is neither first nor last, however long.
#[must_use]
pub fn has_label_form(name: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    bytes.first().is_some_and(inner)
        && bytes.last().is_some_and(inner)
        && bytes.iter().all(|byte| inner(byte) || *byte == b'-')
}

/// Parts of that form between dots, however long.
#[must_use]
pub fn has_subdomain_form(name: &str) -> bool {
    name.split('.').all(has_label_form)
}
