use evenkeel_meta::{Object, ResourceVersion};
use futures_util::future::try_join;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, mpsc};

use super::Api;
use crate::error::Error;
use crate::list::{Page, Pager};
use crate::options::ListOptions;

impl<K: Object + DeserializeOwned> Api<K> {
    /// Hands the pages of a list over one by one, while up to `ahead` further ones (one at the
    /// least) are fetched: never more of the list is in memory than `ahead` pages, the one
    /// that is being handled and the one that is waiting (client-go P1, P4).
    ///
    /// Answers with the resource version of the first page, which all pages show. A continue
    /// token that expires on the way is an error: what was handed over cannot be taken back
    /// (client-go P3).
    ///
    /// ```
    /// # async fn example(
    /// #     pods: &evenkeel_client::Api<evenkeel_meta::Metadata>,
    /// # ) -> Result<(), evenkeel_client::Error> {
    /// use evenkeel_client::ListOptions;
    ///
    /// let mut count = 0;
    /// pods.each_page(&ListOptions::default(), 2, |page| {
    ///     count += page.items.len();
    ///     async { Ok::<(), evenkeel_client::Error>(()) }
    /// })
    /// .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The first error of `handle` ends everything at once. One of a page comes after the
    /// pages before it have been handled.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the page that is being handled and those that were fetched.
    pub async fn each_page<E, F>(
        &self,
        options: &ListOptions,
        ahead: usize,
        mut handle: impl FnMut(Page<K>) -> F,
    ) -> Result<ResourceVersion, E>
    where
        E: From<Error>,
        F: Future<Output = Result<(), E>>,
    {
        let (fetched, mut pages) = mpsc::channel(ahead.clamp(1, Semaphore::MAX_PERMITS));
        let fetch = async move { Ok::<_, E>(self.fetch_pages(options, fetched).await) };
        let consume = async move {
            while let Some(page) = pages.recv().await {
                handle(page).await?;
            }
            Ok::<_, E>(())
        };
        let (version, ()) = try_join(fetch, consume).await?;
        version.map_err(E::from)
    }

    async fn fetch_pages(
        &self,
        options: &ListOptions,
        fetched: mpsc::Sender<Page<K>>,
    ) -> Result<ResourceVersion, Error> {
        let mut pager = Pager::new(options);
        loop {
            let page = self.list_page(pager.request()).await?;
            let more = pager.received(&page.info);
            // The other end is dropped only together with this future.
            let _ = fetched.send(page).await;
            if !more {
                return Ok(pager.into_resource_version());
            }
        }
    }
}
