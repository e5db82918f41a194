use std::time::Duration;

use evenkeel_meta::ResourceVersion;

use crate::client::ClientOptions;
use crate::query::Query;

/// How many objects a page holds unless the caller says otherwise.
pub const DEFAULT_PAGE_SIZE: u32 = 500;

/// How many seconds a watch is asked to last at most: thirty years.
const LONGEST_TIMEOUT: u64 = 30 * 365 * 24 * 3600;

/// Which state a LIST may be answered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VersionMatch {
    /// The given resource version or a later one.
    NotOlderThan,
    /// Exactly the given resource version.
    Exact,
}

impl VersionMatch {
    fn as_str(self) -> &'static str {
        match self {
            Self::NotOlderThan => "NotOlderThan",
            Self::Exact => "Exact",
        }
    }
}

/// What to list.
///
/// The default is every object, the most recent state, in pages of [`DEFAULT_PAGE_SIZE`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListOptions {
    /// Label selector in its text form; empty selects everything.
    pub label_selector: String,
    /// Field selector in its text form; empty selects everything.
    pub field_selector: String,
    /// Objects per page; `None` asks for everything in one answer, which lets the server
    /// answer from its watch cache.
    pub limit: Option<u32>,
    /// Where the page before ended. [`Api::list`](crate::Api::list) sets it itself.
    pub continue_token: Option<String>,
    /// Which state; unset asks for the most recent one.
    pub resource_version: ResourceVersion,
    /// How `resource_version` is meant; the server's default is "not older than".
    pub version_match: Option<VersionMatch>,
    /// Whether a list whose continue token expires on the way starts anew as one unpaged
    /// list. Only [`Api::list`](crate::Api::list) looks at it.
    pub full_list_if_expired: bool,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self {
            label_selector: String::new(),
            field_selector: String::new(),
            limit: Some(DEFAULT_PAGE_SIZE),
            continue_token: None,
            resource_version: ResourceVersion::unset(),
            version_match: None,
            full_list_if_expired: true,
        }
    }
}

impl ListOptions {
    /// Only objects whose labels match; takes a `LabelSelector` or its text.
    #[must_use]
    pub fn labels(mut self, selector: &(impl ToString + ?Sized)) -> Self {
        self.label_selector = selector.to_string();
        self
    }

    /// Only objects whose fields match; takes a `FieldSelector` or its text.
    #[must_use]
    pub fn fields(mut self, selector: &(impl ToString + ?Sized)) -> Self {
        self.field_selector = selector.to_string();
        self
    }

    /// In pages of this many objects.
    #[must_use]
    pub fn page_size(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Everything in one answer.
    #[must_use]
    pub fn unpaged(mut self) -> Self {
        self.limit = None;
        self
    }

    /// The page that follows the one whose token this is.
    #[must_use]
    pub fn continue_from(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// From this resource version, or a later one; `ResourceVersion::any()` takes whatever
    /// the server has at hand.
    #[must_use]
    pub fn at(mut self, version: ResourceVersion) -> Self {
        self.resource_version = version;
        self
    }

    /// How the resource version is meant.
    #[must_use]
    pub fn matching(mut self, version_match: VersionMatch) -> Self {
        self.version_match = Some(version_match);
        self
    }

    pub(crate) fn write_to(&self, query: &mut Query) {
        query.text("labelSelector", &self.label_selector);
        query.text("fieldSelector", &self.field_selector);
        query.some("limit", self.limit);
        query.some("continue", self.continue_token.as_deref());
        if !self.resource_version.is_unset() {
            query.add("resourceVersion", &self.resource_version);
            query.some(
                "resourceVersionMatch",
                self.version_match.map(VersionMatch::as_str),
            );
        }
    }
}

/// What to watch.
///
/// The default is every object from "now" (the server begins with the present state as
/// added objects, in no order), with bookmarks, for five minutes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchOptions {
    /// Label selector in its text form; empty selects everything.
    pub label_selector: String,
    /// Field selector in its text form; empty selects everything.
    pub field_selector: String,
    /// Changes after this version.
    pub resource_version: ResourceVersion,
    /// Whether the server may send bookmarks.
    pub bookmarks: bool,
    /// When the server shall end the watch, in whole seconds, one at the least. A stream that is silent for
    /// longer than this and a grace period is given up as dead. `None` leaves it to the
    /// server, which takes half an hour to an hour.
    pub timeout: Option<Duration>,
    /// Whether the server first sends the present state, then a bookmark with
    /// `initial_events_end`, then changes (a watch-list).
    pub send_initial_events: bool,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            label_selector: String::new(),
            field_selector: String::new(),
            resource_version: ResourceVersion::unset(),
            bookmarks: true,
            timeout: Some(Duration::from_secs(300)),
            send_initial_events: false,
        }
    }
}

impl WatchOptions {
    /// Changes after this version.
    #[must_use]
    pub fn from(version: ResourceVersion) -> Self {
        Self {
            resource_version: version,
            ..Self::default()
        }
    }

    /// The present state, not older than `version`, then changes.
    #[must_use]
    pub fn initial_events(version: ResourceVersion) -> Self {
        Self {
            resource_version: version,
            send_initial_events: true,
            ..Self::default()
        }
    }

    /// Only objects whose labels match; takes a `LabelSelector` or its text.
    #[must_use]
    pub fn labels(mut self, selector: &(impl ToString + ?Sized)) -> Self {
        self.label_selector = selector.to_string();
        self
    }

    /// Only objects whose fields match; takes a `FieldSelector` or its text.
    #[must_use]
    pub fn fields(mut self, selector: &(impl ToString + ?Sized)) -> Self {
        self.field_selector = selector.to_string();
        self
    }

    /// When the server shall end the watch.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn write_to(&self, query: &mut Query) {
        query.add("watch", "true");
        query.text("labelSelector", &self.label_selector);
        query.text("fieldSelector", &self.field_selector);
        query.flag("allowWatchBookmarks", self.bookmarks);
        if !self.resource_version.is_unset() {
            query.add("resourceVersion", &self.resource_version);
        }
        if self.send_initial_events {
            query.add("sendInitialEvents", "true");
            query.add("resourceVersionMatch", VersionMatch::NotOlderThan.as_str());
        }
        // 0 is the server's choice, and what does not fit into Go's nanoseconds comes out as anything.
        let seconds = |limit: Duration| limit.as_secs().clamp(1, LONGEST_TIMEOUT);
        query.some("timeoutSeconds", self.timeout.map(seconds));
    }
}

/// What the server does with fields that it does not know, or finds twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldValidation {
    /// Drops them silently.
    Ignore,
    /// Drops them and warns: the server's default.
    Warn,
    /// Refuses the request.
    Strict,
}

impl FieldValidation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Warn => "Warn",
            Self::Strict => "Strict",
        }
    }
}

/// How to create or update.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Who the fields belong to; the client's field manager when unset.
    pub field_manager: Option<String>,
    /// What to do with unknown fields; what the client says when unset, else the server's default.
    pub field_validation: Option<FieldValidation>,
    /// Run everything but the storing.
    pub dry_run: bool,
}

impl WriteOptions {
    /// The fields belong to `manager`.
    #[must_use]
    pub fn field_manager(mut self, manager: impl Into<String>) -> Self {
        self.field_manager = Some(manager.into());
        self
    }

    /// What to do with unknown fields.
    #[must_use]
    pub fn field_validation(mut self, validation: FieldValidation) -> Self {
        self.field_validation = Some(validation);
        self
    }

    /// Run everything but the storing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// What is not said here is said by the client's options.
    pub(crate) fn write_to(&self, client: &ClientOptions, query: &mut Query) {
        if self.dry_run {
            query.add("dryRun", "All");
        }
        query.some(
            "fieldManager",
            self.field_manager
                .as_ref()
                .or(client.field_manager.as_ref()),
        );
        query.some(
            "fieldValidation",
            self.field_validation
                .or(client.field_validation)
                .map(FieldValidation::as_str),
        );
    }
}

/// How to patch.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PatchOptions {
    /// What patching shares with every other write.
    pub write: WriteOptions,
    /// Server-side apply only: take fields over from other managers.
    pub force: bool,
}

impl PatchOptions {
    /// The fields belong to `manager`.
    #[must_use]
    pub fn field_manager(mut self, manager: impl Into<String>) -> Self {
        self.write = self.write.field_manager(manager);
        self
    }

    /// What to do with unknown fields.
    #[must_use]
    pub fn field_validation(mut self, validation: FieldValidation) -> Self {
        self.write = self.write.field_validation(validation);
        self
    }

    /// Run everything but the storing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.write = self.write.dry_run();
        self
    }

    /// Server-side apply: take fields over from other managers instead of failing with a conflict.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }

    pub(crate) fn write_to(&self, client: &ClientOptions, query: &mut Query) {
        self.write.write_to(client, query);
        query.flag("force", self.force);
    }
}
