use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use evenkeel_meta::ApiResource;
use futures_core::Stream;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

use super::decoder::{Decoder, Step};
use super::tail::Tail;
use super::{Page, PageInfo, Undecodable};
use crate::client::{IdleLimited, failure};
use crate::error::{DecodeError, Error, Result};
use crate::identity::Identity;
use crate::reading::Reading;
use crate::transport::{TransportError, TransportErrorKind};

/// The objects of one page, each decoded when its last byte has arrived.
///
/// The last item is [`PageItem::End`]; the stream that ends without it failed before.
///
/// # Cancel safety
///
/// Nothing is lost between two calls of `next`. Dropping the stream gives the request up.
pub struct PageStream<K> {
    body: Option<IdleLimited>,
    /// The list is complete; this is handed out when the answer has ended too.
    end: Option<(PageInfo, Tail)>,
    decoder: Decoder,
    resource: Arc<ApiResource>,
    adopt: fn(&mut K, &ApiResource),
    keep: Option<Box<Keep>>,
    reading: Reading,
}

type Keep = dyn FnMut(&Identity<'_>) -> bool + Send;

/// What a page consists of.
#[derive(Clone, Debug)]
pub enum PageItem<K> {
    /// An object.
    Object(K),
    /// An object that does not decode.
    Undecodable(Undecodable),
    /// The end of the page, and what the server says about it. Some servers say it after the objects.
    End(PageInfo),
}

impl<K: DeserializeOwned> PageStream<K> {
    pub(crate) fn new(
        body: IdleLimited,
        resource: Arc<ApiResource>,
        adopt: fn(&mut K, &ApiResource),
        reading: Reading,
    ) -> Self {
        Self {
            body: Some(body),
            end: None,
            decoder: Decoder::new(),
            resource,
            adopt,
            keep: None,
            reading,
        }
    }

    /// Asks `keep` about each object before it is decoded, and leaves out those that it does
    /// not want. Objects whose identity cannot be read ahead are kept.
    ///
    /// A relist can so pass over what has not changed at a small part of the price.
    #[must_use]
    pub fn keep_if(mut self, keep: impl FnMut(&Identity<'_>) -> bool + Send + 'static) -> Self {
        self.keep = Some(Box::new(keep));
        self
    }

    /// Reads the rest of the page.
    ///
    /// # Errors
    ///
    /// If the body breaks off or is no list.
    pub async fn collect_page(mut self) -> Result<Page<K>> {
        let mut page = Page {
            items: Vec::new(),
            undecodable: Vec::new(),
            info: PageInfo::default(),
        };
        while let Some(item) = self.next().await.transpose()? {
            match item {
                PageItem::Object(object) => page.items.push(object),
                PageItem::Undecodable(object) => page.undecodable.push(object),
                PageItem::End(info) => page.info = info,
            }
        }
        Ok(page)
    }

    /// `None` for an object that is not wanted.
    fn decode(&mut self, end: usize) -> Option<PageItem<K>> {
        let bytes = &self.decoder.bytes()[..end];
        if let Some(keep) = &mut self.keep
            && let Some(identity) = Identity::read(bytes)
            && !keep(&identity)
        {
            self.decoder.consume(end);
            return None;
        }
        let text = &mut self.decoder.bytes_mut()[..end];
        let start = self.reading.managed_fields.cut(text, 0);
        let bytes = &text[start..];
        let item = match self.reading.decode_bytes::<K>(bytes) {
            Ok(mut object) => {
                (self.adopt)(&mut object, &self.resource);
                PageItem::Object(object)
            }
            Err(error) => PageItem::Undecodable(Undecodable::new(bytes, &self.resource, &error)),
        };
        self.decoder.consume(end);
        Some(item)
    }

    /// Leaves only the end to hand out.
    fn finish(&mut self) -> Result<()> {
        let body = self.body.take();
        let decoder = std::mem::replace(&mut self.decoder, Decoder::new());
        if decoder.has_items() {
            self.end = body.map(|body| (decoder.into_info(), Tail::new(body)));
            return Ok(());
        }
        Err(match failure(decoder.prefix()) {
            Some(status) => status.into(),
            None => {
                let found = match decoder.kind() {
                    "" => "no list",
                    kind => kind,
                };
                let reason = format!("expected a list, got {found}");
                DecodeError::new(format!("the answer to list {}", self.resource), &reason).into()
            }
        })
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<PageItem<K>>>> {
        self.body = None;
        Poll::Ready(Some(Err(error)))
    }
}

impl<K: DeserializeOwned> Stream for PageStream<K> {
    type Item = Result<PageItem<K>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        // Decoding is work: the task's other duties get their turn between objects.
        let turn = ready!(tokio::task::coop::poll_proceed(cx));
        loop {
            if let Some((_, tail)) = &mut this.end {
                ready!(tail.poll_end(cx));
                let info = this.end.take().map(|(info, _)| info);
                return Poll::Ready(info.map(|info| Ok(PageItem::End(info))));
            }
            if this.body.is_none() {
                return Poll::Ready(None);
            }
            match this.decoder.step() {
                Ok(Step::Item(end)) => match this.decode(end) {
                    Some(item) => {
                        turn.made_progress();
                        return Poll::Ready(Some(Ok(item)));
                    }
                    None => continue,
                },
                Ok(Step::End) => match this.finish() {
                    Ok(()) => continue,
                    Err(error) => return this.fail(error),
                },
                Ok(Step::NeedMore) => {}
                Err(error) => return this.fail(error.into()),
            }
            let Some(body) = &mut this.body else {
                return Poll::Ready(None);
            };
            let request = || format!("list {}", this.resource);
            match ready!(Pin::new(body).poll_next(cx)) {
                Some(Ok(chunk)) => this.decoder.push(&chunk),
                Some(Err(error)) => {
                    let error = error.during(&request());
                    return this.fail(error.into());
                }
                None => {
                    let kind = TransportErrorKind::Closed;
                    let error = TransportError::with_detail(kind, "the list broke off");
                    let error = error.during(&request());
                    return this.fail(error.into());
                }
            }
        }
    }
}

impl<K> std::fmt::Debug for PageStream<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageStream")
            .field("resource", &format_args!("{}", self.resource))
            .finish_non_exhaustive()
    }
}
