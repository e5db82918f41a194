//! A request with its body read, and the options that its query carries.

use std::time::Duration;

use bytes::Bytes;
use evenkeel_meta::{FieldSelector, GroupVersionKind, LabelSelector, Reason, Status, StatusCause};
use http::header::USER_AGENT;
use http::{HeaderMap, Method};

use super::Query;

/// Who sends a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The user's name.
    pub user: String,
    /// The groups that the user belongs to.
    pub groups: Vec<String>,
}

impl Identity {
    /// The identity of in-process callers and of the generated token: it may do everything.
    #[must_use]
    pub fn admin() -> Self {
        Self {
            user: "kubernetes-admin".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
        }
    }
}

/// One request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) identity: Identity,
}

/// In bytes.
const LONGEST_MANAGER: usize = 128;

fn check_field_manager(manager: &str, options_kind: &str) -> Result<(), Status> {
    let (reason, message) = if manager.len() > LONGEST_MANAGER {
        let message = format!("Too long: may not be more than {LONGEST_MANAGER} bytes");
        ("FieldValueTooLong", message)
    } else if let Some((at, bad)) = manager.char_indices().find(|(_, c)| c.is_control()) {
        let message = format!(
            "Invalid value: {manager:?}: invalid character U+{:04X} (at position {at})",
            u32::from(bad)
        );
        ("FieldValueInvalid", message)
    } else {
        return Ok(());
    };
    let kind = GroupVersionKind::from_api_version("meta.k8s.io/v1", options_kind);
    let cause = StatusCause {
        reason: reason.into(),
        message,
        field: "fieldManager".into(),
    };
    Err(Status::invalid(&kind, "", vec![cause]))
}

impl Request {
    /// The name under which the fields that this request sets are recorded. `options_kind` is
    /// the kind of the options in the query, for the answer to bad ones.
    pub(crate) fn field_manager(&self, options_kind: &str) -> Result<String, Status> {
        if let Some(manager) = self.query.text("fieldManager") {
            check_field_manager(manager, options_kind)?;
            return Ok(manager.to_owned());
        }
        let agent = self
            .headers
            .get(USER_AGENT)
            .and_then(|value| value.to_str().ok());
        let name = agent
            .unwrap_or_default()
            .split('/')
            .next()
            .unwrap_or_default();
        let end = name
            .char_indices()
            .nth(LONGEST_MANAGER)
            .map_or(name.len(), |(at, _)| at);
        Ok(match &name[..end] {
            "" => "unknown".to_owned(),
            name => name.to_owned(),
        })
    }

    /// Whether to change nothing. Only `All` is known. `options_kind` is the kind of the
    /// options in the query, for the answer to bad ones.
    pub(crate) fn dry_run(&self, options_kind: &str) -> Result<bool, Status> {
        let values: Vec<&str> = self.query.all("dryRun").collect();
        if values.iter().all(|value| *value == "All") {
            return Ok(!values.is_empty());
        }
        let kind = GroupVersionKind::from_api_version("meta.k8s.io/v1", options_kind);
        let cause = StatusCause {
            reason: "FieldValueNotSupported".into(),
            message: format!(
                "Unsupported value: {}: supported values: \"All\"",
                serde_json::json!(values)
            ),
            field: "dryRun".into(),
        };
        Err(Status::invalid(&kind, "", vec![cause]))
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.query.flag("watch").unwrap_or(false)
    }
}

/// How a list's resource version is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// The query of a list or watch.
#[derive(Debug, Clone)]
pub(crate) struct ListOptions {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    pub(crate) limit: Option<usize>,
    pub(crate) continue_token: Option<String>,
    /// `None` when absent or empty: the most recent state.
    pub(crate) version: Option<u64>,
    pub(crate) version_match: Option<VersionMatch>,
    pub(crate) timeout: Option<Duration>,
}

/// What only a watch asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WatchOptions {
    pub(crate) bookmarks: bool,
    pub(crate) initial_events: Option<bool>,
}

impl ListOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, Status> {
        let labels = parse_selector(query, "labelSelector")?;
        let fields = parse_selector(query, "fieldSelector")?;
        let limit = query.number("limit")?.unwrap_or(0);
        let version = match query.text("resourceVersion") {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| bad_version(text, query))?),
        };
        let version_match = match query.text("resourceVersionMatch") {
            None => None,
            Some("Exact") => Some(VersionMatch::Exact),
            Some("NotOlderThan") => Some(VersionMatch::NotOlderThan),
            Some(other) => {
                return Err(refuse(
                    "resourceVersionMatch",
                    "FieldValueNotSupported",
                    &format!(
                        "Unsupported value: \"{other}\": supported values: \"Exact\", \"NotOlderThan\", \"\""
                    ),
                ));
            }
        };
        let options = Self {
            labels,
            fields,
            limit: usize::try_from(limit).ok().filter(|&limit| limit > 0),
            continue_token: query.text("continue").map(str::to_owned),
            version,
            version_match,
            timeout: query
                .number("timeoutSeconds")?
                .and_then(|seconds| u64::try_from(seconds).ok())
                .filter(|&seconds| seconds > 0)
                .map(Duration::from_secs),
        };
        Ok(options)
    }

    /// The rules for a plain list.
    pub(crate) fn check_list(&self, query: &Query) -> Result<(), Status> {
        if query.get("sendInitialEvents").is_some() {
            return Err(forbid(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        let Some(version_match) = self.version_match else {
            return Ok(());
        };
        if self.continue_token.is_some() {
            return Err(forbid(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        match (version_match, self.version) {
            (_, None) => Err(forbid(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            )),
            (VersionMatch::Exact, Some(0)) => Err(forbid(
                "resourceVersionMatch",
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            )),
            _ => Ok(()),
        }
    }
}

impl WatchOptions {
    pub(crate) fn parse(query: &Query, list: &ListOptions) -> Result<Self, Status> {
        let options = Self {
            bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            initial_events: query.flag("sendInitialEvents"),
        };
        match (options.initial_events, list.version_match) {
            (None, Some(_)) => Err(forbid(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )),
            (Some(_), None) => Err(forbid(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )),
            (Some(_), Some(VersionMatch::Exact)) => Err(refuse_all(vec![
                cause(
                    "resourceVersionMatch",
                    "FieldValueForbidden",
                    "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ),
                cause(
                    "resourceVersionMatch",
                    "FieldValueNotSupported",
                    "Unsupported value: \"Exact\": supported values: \"NotOlderThan\"",
                ),
            ])),
            _ => Ok(options),
        }
    }
}

fn parse_selector<S: std::str::FromStr<Err: std::fmt::Display> + Default>(
    query: &Query,
    name: &str,
) -> Result<S, Status> {
    match query.text(name) {
        None => Ok(S::default()),
        Some(text) => text
            .parse()
            .map_err(|error| Status::bad_request(format!("{name}: {error}"))),
    }
}

/// Lists and watches differ in whose fault it is.
fn bad_version(text: &str, query: &Query) -> Status {
    let why = format!(
        "resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
    );
    match query.flag("watch") {
        Some(true) => Status::failure(500, Reason::Unknown, why),
        _ => Status::bad_request(format!("invalid resource version: {why}")),
    }
}

fn forbid(field: &str, why: &str) -> Status {
    refuse(field, "FieldValueForbidden", &format!("Forbidden: {why}"))
}

fn refuse(field: &str, reason: &str, message: &str) -> Status {
    refuse_all(vec![cause(field, reason, message)])
}

fn refuse_all(causes: Vec<StatusCause>) -> Status {
    let kind = GroupVersionKind::from_api_version("meta.k8s.io/v1", "ListOptions");
    Status::invalid(&kind, "", causes)
}

fn cause(field: &str, reason: &str, message: &str) -> StatusCause {
    StatusCause {
        reason: reason.into(),
        message: message.into(),
        field: field.into(),
    }
}
