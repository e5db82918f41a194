use evenkeel_meta::ResourceVersion;
use evenkeel_pace::Moment;

use super::{
    Action, Failure, FailureClass, ListRequest, Reflector, RelistCause, Report, State, Step, Then,
};

/// Page size where the server reads its database (R10, P1).
const PAGE_SIZE: u32 = 500;

/// A list under way.
#[derive(Debug)]
pub(super) struct Listing {
    /// What the first page was asked with.
    asked: ResourceVersion,
    limit: Option<u32>,
    /// The version of the first page, which is that of the whole list (P2).
    version: Option<ResourceVersion>,
    pages: u32,
    /// Whether this call began with "anything at hand", whatever was tried after it.
    began_at_hand: bool,
}

impl Reflector {
    /// Starts a list at `version`.
    pub(super) fn list<T>(&mut self, version: ResourceVersion, actions: &mut Vec<Action<T>>) {
        let limit = match std::mem::take(&mut self.outpaced) {
            true => None,
            false => self.page_size(&version),
        };
        self.start_list(version, limit, actions);
    }

    fn start_list<T>(
        &mut self,
        version: ResourceVersion,
        limit: Option<u32>,
        actions: &mut Vec<Action<T>>,
    ) {
        let began_at_hand = match &self.state {
            // This one takes the place of one that failed.
            State::Listing(failed) => failed.began_at_hand,
            _ => version.is_any(),
        };
        actions.push(Action::BeginReplace);
        actions.push(Action::List(ListRequest {
            resource_version: version.clone(),
            limit,
            continue_token: None,
        }));
        self.state = State::Listing(Listing {
            asked: version,
            limit,
            version: None,
            pages: 0,
            began_at_hand,
        });
    }

    fn page_size(&self, version: &ResourceVersion) -> Option<u32> {
        let reads_database = version.is_unset() || version.is_any() || self.pages_at_hand;
        self.options
            .page_size
            .or_else(|| reads_database.then_some(PAGE_SIZE))
    }

    pub(super) fn page_end<T>(
        &mut self,
        now: Moment,
        version: ResourceVersion,
        continue_token: Option<String>,
        actions: &mut Vec<Action<T>>,
    ) {
        let State::Listing(listing) = &mut self.state else {
            return;
        };
        listing.pages += 1;
        let version = listing.version.get_or_insert(version).clone();
        if let Some(token) = continue_token.filter(|token| !token.is_empty()) {
            actions.push(Action::List(ListRequest {
                resource_version: ResourceVersion::unset(),
                limit: listing.limit,
                continue_token: Some(token),
            }));
            return;
        }
        let in_pages = listing.pages > 1;
        if listing.began_at_hand && in_pages {
            self.pages_at_hand = true;
        }
        self.paged = in_pages.then(|| version.clone());
        self.synced(version, actions);
        actions.push(Action::Report(Report::Recovered(Step::List)));
        if let Some(failure) = self.suspect.take() {
            self.options.watch_list = false;
            actions.push(Action::Report(Report::NoWatchList { failure }));
        }
        self.watch(now, actions);
    }

    pub(super) fn list_failed<T>(
        &mut self,
        now: Moment,
        failure: Failure,
        actions: &mut Vec<Action<T>>,
    ) {
        let State::Listing(listing) = &self.state else {
            return;
        };
        let asked = listing.asked.clone();
        if failure.class == FailureClass::Expired && listing.pages > 0 {
            // P3, kube-rs D3: the token ran out on the way. One whole answer has no token.
            self.start_list(asked, None, actions);
            return;
        }
        if failure.is_unavailable_version() {
            self.unavailable = true;
            if !asked.is_unset() {
                // R8: at once, and R11 (ours): in pages.
                self.list(ResourceVersion::unset(), actions);
                return;
            }
        }
        // The list is no better than the watch-list was.
        self.suspect = None;
        actions.push(Action::AbortReplace);
        self.pause(now, Then::Pass(RelistCause::Retry), Some(&failure));
        actions.push(Action::Report(Report::Failed {
            step: Step::List,
            failure,
        }));
    }
}
