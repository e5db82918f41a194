use crate::credentials::Secret;

/// Shorter values would blank out half the text.
const SHORTEST_SECRET: usize = 6;
const MASK: &str = "[secret]";

/// What a plugin wrote to standard error, in one line, without what is secret or looks so: the
/// texts in `secrets`, anything that begins like a JSON web token, and what follows `Bearer`.
pub(super) fn masked(stderr: &[u8], secrets: &[&Secret]) -> String {
    let mut text = String::from_utf8_lossy(stderr).into_owned();
    for secret in secrets {
        if secret.expose().len() >= SHORTEST_SECRET {
            text = text.replace(secret.expose(), MASK);
        }
    }
    let mut line = String::with_capacity(text.len());
    let mut after_bearer = false;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        if after_bearer {
            line.push_str(MASK);
        } else if let Some(at) = word.find("eyJ") {
            line.push_str(&word[..at]);
            line.push_str(MASK);
        } else {
            line.extend(word.chars().filter(|c| !c.is_control()));
        }
        after_bearer = word.to_ascii_lowercase().ends_with("bearer");
    }
    line
}
