use evenkeel_meta::ResourceVersion;

use super::PageInfo;
use crate::error::Error;
use crate::options::ListOptions;

/// Which page to ask for next (client-go P2, P3). Knows no network.
pub(crate) struct Pager {
    original: ListOptions,
    request: ListOptions,
    /// Of the first page; it is the list's.
    resource_version: Option<ResourceVersion>,
    pages: u32,
    full: bool,
}

impl Pager {
    pub(crate) fn new(options: &ListOptions) -> Self {
        Self {
            original: options.clone(),
            request: options.clone(),
            resource_version: None,
            pages: 0,
            full: false,
        }
    }

    /// What to ask for now.
    pub(crate) fn request(&self) -> &ListOptions {
        &self.request
    }

    /// Takes a page in; whether there is another one.
    ///
    /// A request with a continue token must not name a resource version: the token does.
    pub(crate) fn received(&mut self, page: &PageInfo) -> bool {
        self.pages += 1;
        self.resource_version
            .get_or_insert_with(|| page.resource_version.clone());
        if page.continue_token.is_empty() {
            return false;
        }
        self.request.continue_token = Some(page.continue_token.clone());
        self.request.resource_version = ResourceVersion::unset();
        self.request.version_match = None;
        true
    }

    /// Whether a failed page is answered by one unpaged list, in the state that was asked for
    /// at first. What was received so far is void.
    pub(crate) fn starts_anew(&mut self, error: &Error) -> bool {
        let on_the_way = self.pages > 0 && !self.full;
        if !on_the_way || !self.original.full_list_if_expired || !error.is_expired() {
            return false;
        }
        self.full = true;
        self.pages = 0;
        self.resource_version = None;
        self.request = self.original.clone().unpaged();
        self.request.continue_token = None;
        true
    }

    /// Whether the server split the list.
    pub(crate) fn was_paged(&self) -> bool {
        self.full || self.pages > 1
    }

    /// The list's resource version.
    pub(crate) fn into_resource_version(self) -> ResourceVersion {
        self.resource_version.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::Status;

    use super::*;
    use crate::options::VersionMatch;

    fn page(version: u64, token: &str) -> PageInfo {
        PageInfo {
            resource_version: version.into(),
            continue_token: token.into(),
            remaining_item_count: None,
        }
    }

    fn asked() -> ListOptions {
        ListOptions::default()
            .labels("a=b")
            .page_size(2)
            .at(7.into())
            .matching(VersionMatch::NotOlderThan)
    }

    #[test]
    fn p2_later_pages_name_no_version_and_the_first_one_counts() {
        let mut pager = Pager::new(&asked());
        assert!(pager.received(&page(9, "t1")));
        let next = pager.request();
        assert_eq!(next.continue_token.as_deref(), Some("t1"));
        assert!(next.resource_version.is_unset() && next.version_match.is_none());
        assert_eq!((next.limit, next.label_selector.as_str()), (Some(2), "a=b"));
        assert!(!pager.received(&page(10, "")));
        assert!(pager.was_paged());
        assert_eq!(pager.into_resource_version(), 9.into());
    }

    #[test]
    fn p2_a_single_page_was_not_paged() {
        let mut pager = Pager::new(&asked());
        assert!(!pager.received(&page(9, "")));
        assert!(!pager.was_paged());
    }

    #[test]
    fn p3_an_expired_token_falls_back_to_one_full_list_as_first_asked() {
        let expired = Error::from(Status::expired("gone"));
        let mut pager = Pager::new(&asked());
        assert!(!pager.starts_anew(&expired), "not on the first page");
        assert!(pager.received(&page(9, "t1")));
        assert!(!pager.starts_anew(&Error::from(Status::internal("no"))));
        assert!(pager.starts_anew(&expired));
        assert_eq!(*pager.request(), asked().unpaged());
        assert!(!pager.starts_anew(&expired), "only once");
        assert!(!pager.received(&page(12, "")));
        assert!(pager.was_paged());
        assert_eq!(pager.into_resource_version(), 12.into());
    }

    #[test]
    fn p3_the_fallback_can_be_turned_off() {
        let mut options = asked();
        options.full_list_if_expired = false;
        let mut pager = Pager::new(&options);
        assert!(pager.received(&page(9, "t1")));
        assert!(!pager.starts_anew(&Error::from(Status::expired("gone"))));
    }
}
