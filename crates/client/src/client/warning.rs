use std::fmt;
use std::sync::Arc;

use http::HeaderMap;

/// A remark of the server about a request: a deprecated version, an unknown field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning<'a> {
    /// API servers use 299.
    pub code: u16,
    /// Who says it; `-` for nobody in particular.
    pub agent: &'a str,
    /// What it says.
    pub text: String,
}

/// Where warnings go. The default logs those that are meant for users.
#[derive(Clone)]
pub struct WarningHandler(Arc<dyn Fn(&Warning<'_>) + Send + Sync>);

impl WarningHandler {
    /// Calls `handle` for each warning of each answer, of watches too, whatever its code.
    ///
    /// It is called on the way of the answer, so it should be quick.
    pub fn new(handle: impl Fn(&Warning<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handle))
    }

    /// Drops them.
    #[must_use]
    pub fn ignore() -> Self {
        Self::new(|_| {})
    }

    /// Hands over the `Warning` headers of an answer (client-go RC12).
    pub(crate) fn report(&self, headers: &HeaderMap) {
        for value in headers.get_all(http::header::WARNING) {
            let Ok(text) = value.to_str() else { continue };
            for warning in parse(text) {
                (self.0)(&warning);
            }
        }
    }
}

impl Default for WarningHandler {
    /// Code 299 with a text is what API servers send to users.
    fn default() -> Self {
        Self::new(|warning| {
            if warning.code == 299 && !warning.text.is_empty() {
                tracing::warn!(agent = warning.agent, "{}", warning.text);
            }
        })
    }
}

impl fmt::Debug for WarningHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarningHandler").finish_non_exhaustive()
    }
}

/// `299 - "text" , 299 agent "text" "date"`; parsing ends at the first thing that is no warning.
fn parse(value: &str) -> Vec<Warning<'_>> {
    let mut warnings = Vec::new();
    let mut rest = value.trim_start();
    while let Some((warning, after)) = parse_one(rest) {
        warnings.push(warning);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => break,
        }
    }
    warnings
}

fn parse_one(text: &str) -> Option<(Warning<'_>, &str)> {
    let (code, rest) = text.split_once(' ')?;
    let code = code.parse().ok().filter(|_| code.len() == 3)?;
    let (agent, rest) = rest.trim_start().split_once(' ')?;
    let (text, rest) = quoted(rest.trim_start())?;
    // An optional quoted date follows.
    let after = rest.trim_start();
    let rest = quoted(after).map_or(rest, |(_, after_date)| after_date);
    Some((Warning { code, agent, text }, rest))
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut plain = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((plain, &inner[at + 1..])),
            '\\' => plain.push(chars.next()?.1),
            c => plain.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(agent: &'static str, text: &str) -> Warning<'static> {
        Warning {
            code: 299,
            agent,
            text: text.into(),
        }
    }

    #[test]
    fn rc12_several_per_header_unescaped() {
        assert_eq!(
            parse(
                r#"299 - "one" , 299 api "two \"q\"" "Mon, 01 Jan 2024 00:00:00 GMT", 299 - "three""#
            ),
            [
                warning("-", "one"),
                warning("api", "two \"q\""),
                warning("-", "three")
            ]
        );
    }

    #[test]
    fn rc12_what_is_no_warning_is_ignored() {
        assert_eq!(parse("nonsense"), []);
        assert_eq!(parse("299 - \"cut"), []);
        assert_eq!(parse("299 - \"ok\", 29"), [warning("-", "ok")]);
    }
}
