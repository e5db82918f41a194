//! The forms of names. Each check answers with its complaints.

use evenkeel_meta::dns::{self, LABEL_LENGTH, SUBDOMAIN_LENGTH};

const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY_RULE: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// Complaints about a name; none is the rule.
pub(super) type Complaints = Vec<String>;

pub(super) fn dns_label(name: &str) -> Complaints {
    let mut complaints = Vec::new();
    if name.len() > LABEL_LENGTH {
        complaints.push(longer_than(LABEL_LENGTH));
    }
    if !dns::has_label_form(name) {
        let dots = name.contains('.') && dns::has_subdomain_form(name);
        complaints.push(if dots {
            "must not contain dots".to_owned()
        } else {
            LABEL_RULE.to_owned()
        });
    }
    complaints
}

pub(super) fn dns_subdomain(name: &str) -> Complaints {
    let mut complaints = Vec::new();
    if name.len() > SUBDOMAIN_LENGTH {
        complaints.push(longer_than(SUBDOMAIN_LENGTH));
    }
    if !dns::has_subdomain_form(name) {
        complaints.push(SUBDOMAIN_RULE.to_owned());
    }
    complaints
}

pub(super) fn path_segment(name: &str) -> Complaints {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    let found = ["/", "%"]
        .into_iter()
        .filter(|character| name.contains(character));
    found
        .map(|character| format!("may not contain '{character}'"))
        .collect()
}

/// A name with an optional domain before a slash.
pub(crate) fn qualified(name: &str) -> Complaints {
    let mut complaints = Vec::new();
    let parts: Vec<&str> = name.split('/').collect();
    let last = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                complaints.push("prefix part must be non-empty".to_owned());
            } else {
                complaints.extend(
                    dns_subdomain(prefix)
                        .into_iter()
                        .map(|why| format!("prefix part {why}")),
                );
            }
            name
        }
        _ => {
            let form = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {QUALIFIED_RULE} {form}")];
        }
    };
    if last.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    } else if last.len() > LABEL_LENGTH {
        complaints.push(format!("name part {}", longer_than_bytes(LABEL_LENGTH)));
    }
    if !is_label_word(last) {
        complaints.push(format!("name part {QUALIFIED_RULE}"));
    }
    complaints
}

pub(super) fn label_value(value: &str) -> Complaints {
    let mut complaints = Vec::new();
    if value.len() > LABEL_LENGTH {
        complaints.push(longer_than_bytes(LABEL_LENGTH));
    }
    if !value.is_empty() && !is_label_word(value) {
        complaints.push(LABEL_VALUE_RULE.to_owned());
    }
    complaints
}

/// A key of a ConfigMap or Secret.
pub(super) fn config_key(key: &str) -> Complaints {
    let mut complaints = Vec::new();
    if key.len() > SUBDOMAIN_LENGTH {
        complaints.push(longer_than(SUBDOMAIN_LENGTH));
    }
    if key.is_empty()
        || !key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    {
        complaints.push(CONFIG_KEY_RULE.to_owned());
    } else if key == "." {
        complaints.push("must not be '.'".to_owned());
    } else if key == ".." {
        complaints.push("must not be '..'".to_owned());
    } else if key.starts_with("..") {
        complaints.push("must not start with '..'".to_owned());
    }
    complaints
}

/// A name of a port: an IANA service name.
pub(super) fn port_name(name: &str) -> Complaints {
    let mut complaints = Vec::new();
    if name.len() > 15 {
        complaints.push(longer_than(15));
    }
    if !name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    {
        complaints.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        complaints.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        complaints.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        complaints.push("must not begin or end with a hyphen".to_owned());
    }
    complaints
}

pub(super) fn environment_variable(name: &str) -> Complaints {
    if name
        .bytes()
        .all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=')
    {
        return Vec::new();
    }
    vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()]
}

/// With what a name that is generated ends in, as far as it is known before.
pub(super) fn generated(prefix: &str, check: fn(&str) -> Complaints) -> Complaints {
    match prefix.strip_suffix('-') {
        Some(start) => check(&format!("{start}a")),
        None => check(prefix),
    }
}

pub(super) fn longer_than(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

fn longer_than_bytes(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

fn is_label_word(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}
