//! Lists: pages, their decoding as the bytes arrive, and how pages are joined.

mod decoder;
mod page_stream;
mod pager;
mod tail;
#[cfg(test)]
mod tests;

pub use self::page_stream::{PageItem, PageStream};
pub(crate) use self::pager::Pager;

use std::sync::Arc;

use evenkeel_meta::{ApiResource, MetaView, Metadata, ResourceVersion};
use serde::Deserialize;

use crate::error::DecodeError;
use crate::identity::Identity;

/// All objects of a list, whatever number of pages it took.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct List<K> {
    /// The objects, in the server's order.
    pub items: Vec<K>,
    /// Objects that are there but do not decode.
    pub undecodable: Vec<Undecodable>,
    /// The state that the list shows: watch from here.
    pub resource_version: ResourceVersion,
    /// Whether the server sent it in pages, which it does not when it answers from its watch cache.
    pub paged: bool,
}

/// One page of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<K> {
    /// The objects, in the server's order.
    pub items: Vec<K>,
    /// Objects that are there but do not decode.
    pub undecodable: Vec<Undecodable>,
    /// What the server says about the page.
    pub info: PageInfo,
}

/// What the server says about a page.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PageInfo {
    /// The state that the page shows. It is the same for all pages of a list.
    pub resource_version: ResourceVersion,
    /// Where the next page begins; empty after the last one.
    #[serde(rename = "continue")]
    pub continue_token: String,
    /// How many objects are left, if the server knows.
    pub remaining_item_count: Option<u64>,
}

/// An object that the server sent and that does not decode. It never holds up the others.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Undecodable {
    /// As much of its metadata as could be read: at the least the name, unless even that was missing.
    pub metadata: Arc<Metadata>,
    /// What is wrong with it.
    pub error: DecodeError,
}

impl Undecodable {
    /// Describes an object that failed to decode with `error`.
    pub(crate) fn new(object: &[u8], resource: &ApiResource, error: &serde_json::Error) -> Self {
        let metadata: Metadata = serde_json::from_slice(object).unwrap_or_else(|_| {
            let identity = Identity::read(object).unwrap_or_default();
            Metadata::from(identity.to_meta())
        });
        let what = format!("{resource} {:?}", metadata.metadata.key().to_string());
        Self {
            metadata: Arc::new(metadata),
            error: DecodeError::new(what, error),
        }
    }
}

impl<K> Default for List<K> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            undecodable: Vec::new(),
            resource_version: ResourceVersion::unset(),
            paged: false,
        }
    }
}

impl<K> List<K> {
    pub(crate) fn join(&mut self, page: Page<K>) {
        if self.items.is_empty() {
            self.items = page.items;
        } else {
            self.items.extend(page.items);
        }
        self.undecodable.extend(page.undecodable);
    }
}

impl<K> IntoIterator for List<K> {
    type Item = K;
    type IntoIter = std::vec::IntoIter<K>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, K> IntoIterator for &'a List<K> {
    type Item = &'a K;
    type IntoIter = std::slice::Iter<'a, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}
