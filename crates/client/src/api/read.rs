use evenkeel_meta::{MetaView, Object};
use http::Method;
use serde::de::DeserializeOwned;

use super::Api;
use crate::client::{Outgoing, Subject, idle_limited};
use crate::error::{DecodeError, Error, RequestError, Result};
use crate::list::{List, Page, PageStream, Pager};
use crate::options::{ListOptions, WatchOptions};
use crate::transport::Lane;
use crate::wait::{Verdict, WaitError, Waiter};
use crate::watch::{RetryWatch, WatchStream};

impl<K: Object + DeserializeOwned> Api<K> {
    /// One object.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] if it is not there.
    pub async fn get(&self, name: &str) -> Result<K> {
        let target = self.object(None, name, None)?;
        let request = self.write_request(Method::GET, target, self.subject("get", name));
        self.send_for_object(&request).await
    }

    /// One object, or `None` if it is not there.
    ///
    /// # Errors
    ///
    /// Everything but "not found".
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>> {
        match self.get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Everything that the options select: pages are fetched one after the other and joined.
    ///
    /// The result has the resource version of the first page; all pages show that state. If
    /// the continue token expires on the way, one unpaged list is made instead (client-go P2,
    /// P3). Objects that do not decode are reported in the result; they fail nothing.
    ///
    /// # Errors
    ///
    /// The first page that fails, fails the list.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops what was fetched.
    pub async fn list(&self, options: &ListOptions) -> Result<List<K>> {
        let mut pager = Pager::new(options);
        let mut list = List::default();
        loop {
            let page = match self.list_page(pager.request()).await {
                Ok(page) => page,
                Err(error) if pager.starts_anew(&error) => {
                    list = List::default();
                    continue;
                }
                Err(error) => return Err(error),
            };
            let more = pager.received(&page.info);
            list.join(page);
            if !more {
                list.paged = pager.was_paged();
                list.resource_version = pager.into_resource_version();
                return Ok(list);
            }
        }
    }

    /// One page. The next one starts at its
    /// [`continue_token`](crate::PageInfo::continue_token).
    ///
    /// # Errors
    ///
    /// As any request; objects that do not decode are reported in the page.
    pub async fn list_page(&self, options: &ListOptions) -> Result<Page<K>> {
        self.stream_page(options).await?.collect_page().await
    }

    /// One page, object by object as the bytes arrive, so that neither the text of the page
    /// nor a second copy of its objects is ever in memory.
    ///
    /// # Errors
    ///
    /// As any request. The stream itself fails if the body breaks off.
    pub async fn stream_page(&self, options: &ListOptions) -> Result<PageStream<K>> {
        let mut target = self.collection(None)?;
        options.write_to(&mut target);
        let subject = self.subject("list", "");
        let request = Outgoing::new(Lane::List, Method::GET, target.finish(), subject)
            .accept(self.view.accept_list());
        let response = self.client.open(&request).await?;
        let idle = self.client.options().timeouts.body_idle;
        Ok(PageStream::new(
            idle_limited(response.into_body(), idle),
            self.resource.clone(),
            self.adopt,
            self.reading,
        ))
    }

    /// Changes as they happen.
    ///
    /// The future resolves when the server has accepted the watch.
    ///
    /// # Errors
    ///
    /// [`Error::is_expired`] if the resource version is too old: list again.
    pub async fn watch(&self, options: &WatchOptions) -> Result<WatchStream<K>> {
        let mut target = self.collection(None)?;
        options.write_to(&mut target);
        let subject = self.subject("watch", "");
        let request = Outgoing::new(Lane::Watch, Method::GET, target.finish(), subject)
            .accept(self.view.accept());
        let response = self.client.open(&request).await?;
        let timeouts = &self.client.options().timeouts;
        // Servers that choose themselves take an hour at most.
        let lasting = options
            .timeout
            .unwrap_or(std::time::Duration::from_secs(3600));
        Ok(WatchStream::new(
            idle_limited(
                response.into_body(),
                lasting.saturating_add(timeouts.watch_grace),
            ),
            self.resource.clone(),
            self.adopt,
            self.client.options().largest_event,
            self.reading,
        ))
    }

    /// Changes from the options' version on, as one stream that outlives the watches that it is
    /// made of: see [`RetryWatch`].
    ///
    /// Bookmarks are asked for in any case; when to end the watch is left to the server.
    ///
    /// # Errors
    ///
    /// Without a resource version to begin at, which a list gives.
    pub fn retry_watch(&self, options: &WatchOptions) -> Result<RetryWatch<K>, RequestError>
    where
        K: 'static,
    {
        let version = &options.resource_version;
        if version.is_unset() || version.is_any() {
            return Err(RequestError::ResourceVersionRequired);
        }
        let mut options = options.clone();
        options.bookmarks = true;
        options.timeout = None;
        options.send_initial_events = false;
        Ok(RetryWatch::new(self.clone(), options))
    }

    /// Follows one object, so that several conditions can be waited for one after the other.
    ///
    /// # Errors
    ///
    /// If the name cannot be one, or a namespace is needed and not chosen.
    pub fn waiter(&self, name: &str) -> Result<Waiter<K>, RequestError>
    where
        K: 'static,
    {
        self.object(None, name, None)?;
        Ok(Waiter::new(self.clone(), name))
    }

    /// Waits until an object is as `condition` wants it, `None` standing for "not there", and
    /// answers with that state. Ready-made conditions are in [`wait`](crate::wait).
    ///
    /// It lists and watches with a field selector on the name, and waits outages out. There is
    /// no time limit: put `tokio::time::timeout` around it.
    ///
    /// ```
    /// # async fn example(client: &evenkeel_client::Client) -> Result<(), evenkeel_client::WaitError> {
    /// use evenkeel_client::wait::is_established;
    /// use evenkeel_meta::{ApiResource, Scope};
    ///
    /// let crds = ApiResource::new_static(
    ///     "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Scope::Cluster,
    /// );
    /// let crds = client.dynamic(crds, None);
    /// crds.wait_for("widgets.example.com", is_established()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// See [`WaitError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the wait; nothing else happens.
    pub async fn wait_for<V: Into<Verdict>>(
        &self,
        name: &str,
        condition: impl Fn(Option<&K>) -> V,
    ) -> Result<Option<K>, WaitError>
    where
        K: 'static,
    {
        let waiter = self.waiter(name);
        let mut waiter = waiter.map_err(|error| WaitError::Request(error.into()))?;
        waiter.until(condition).await?;
        Ok(waiter.into_state())
    }

    pub(super) async fn send_for_object(&self, request: &Outgoing) -> Result<K> {
        let answer = self.client.fetch(request).await?;
        let object: K = decode(answer.body(), &request.subject)?;
        // A type that asks for no field also decodes from a failure.
        if object.metadata().name().is_empty()
            && let Some(status) = crate::client::failure(answer.body())
        {
            return Err(status.into());
        }
        Ok(object)
    }
}

/// Decodes a whole body. An answer of 200 may still be a failure (client-go RC9).
pub(super) fn decode<T: DeserializeOwned>(body: &[u8], subject: &Subject) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| match crate::client::failure(body) {
        Some(status) => Error::from(status),
        None => DecodeError::new(format!("the answer to {subject}"), &error).into(),
    })
}
