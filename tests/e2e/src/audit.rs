//! The real server's audit log: who asked for what, when, and how it ended.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

/// One request that was answered.
#[derive(Clone, Debug)]
pub struct Request {
    /// `create`, `update`, `patch`, `delete`, `list`, `watch` ...
    pub verb: String,
    /// The path and query.
    pub uri: String,
    /// Who asked, as the server knows the user.
    pub user: String,
    /// Who asked, as the program called itself.
    pub user_agent: String,
    /// The plural of the kind.
    pub resource: String,
    /// When the server received it: RFC 3339 with microseconds, so that text
    /// order is time order.
    pub received: String,
    /// The HTTP status.
    pub code: u64,
}

impl Request {
    /// Whether it asked for a change.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        )
    }

    /// Whether a line of a manager's log is about a request of this method and path.
    #[must_use]
    pub fn is_told_by(&self, line: &str) -> bool {
        let method = match self.verb.as_str() {
            "create" => "POST",
            "update" => "PUT",
            "patch" => "PATCH",
            _ => "DELETE",
        };
        let said = |field: String| line.split(' ').any(|word| word.trim() == field);
        said(format!("method={method}")) && said(format!("path={:?}", self.path()))
    }

    /// Whether another request asked for the same of the same path.
    #[must_use]
    pub fn is_same_call(&self, other: &Self) -> bool {
        self.verb == other.verb && self.path() == other.path()
    }

    fn path(&self) -> &str {
        self.uri.split('?').next().unwrap_or_default()
    }
}

/// Reads the log. The last line may still be in the making; it is left out.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> anyhow::Result<Vec<Request>> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|event| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            Request {
                verb: text(&event["verb"]),
                uri: text(&event["requestURI"]),
                user: text(&event["user"]["username"]),
                user_agent: text(&event["userAgent"]),
                resource: text(&event["objectRef"]["resource"]),
                received: text(&event["requestReceivedTimestamp"]),
                code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            }
        })
        .collect())
}

/// This moment as the log writes it, and as our programs' logs do. All share the machine's clock.
#[must_use]
pub fn now() -> String {
    written(jiff::Timestamp::now())
}

/// The moment `after` this one.
#[must_use]
pub fn soon(after: Duration) -> String {
    written(jiff::Timestamp::now() + after)
}

fn written(moment: jiff::Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_of_by_its_method_and_path() {
        let request = Request {
            verb: "update".into(),
            uri: "/api/v1/namespaces/a/pods/b/status?x=y".into(),
            user: String::new(),
            user_agent: String::new(),
            resource: "pods".into(),
            received: String::new(),
            code: 200,
        };
        let line = |method: &str, path: &str| {
            format!("2026 DEBUG t: a leader's write starts method={method} path=\"{path}\"")
        };
        assert!(request.is_told_by(&line("PUT", "/api/v1/namespaces/a/pods/b/status")));
        assert!(!request.is_told_by(&line("POST", "/api/v1/namespaces/a/pods/b/status")));
        assert!(!request.is_told_by(&line("PUT", "/api/v1/namespaces/a/pods/b")));
    }
}
