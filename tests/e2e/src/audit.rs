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
