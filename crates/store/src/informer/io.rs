use std::future::pending;

use evenkeel_client::{
    Api, Change, DecodeError, ListOptions, PageItem, PageStream, Result, WatchEvent, WatchOptions,
    WatchStream,
};
use evenkeel_meta::{MetaView, Metadata, Object};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::reflector::{ChangeKind, Failure, FailureClass, Input, ListRequest, WatchRequest};
use crate::set_aside::SetAsideReason;
use crate::transform::{Ingress, Item, Unfit};

/// The one request that is under way.
pub(super) enum Io<K> {
    Idle,
    OpeningPage(BoxFuture<'static, Result<PageStream<K>>>),
    Page(Box<PageStream<K>>),
    OpeningWatch(BoxFuture<'static, Result<WatchStream<K>>>),
    Watch(Box<WatchStream<K>>),
}

/// What all requests of an informer have in common.
pub(super) struct Selection {
    pub(super) labels: String,
    pub(super) fields: String,
}

impl<K: Object + DeserializeOwned + Send + Sync + 'static> Io<K> {
    pub(super) fn list(api: &Api<K>, selection: &Selection, request: ListRequest) -> Self {
        let mut options = ListOptions::default()
            .labels(&selection.labels)
            .fields(&selection.fields)
            .at(request.resource_version);
        options.limit = request.limit;
        options.continue_token = request.continue_token;
        let api = api.clone();
        Self::OpeningPage(Box::pin(async move { api.stream_page(&options).await }))
    }

    pub(super) fn watch(api: &Api<K>, selection: &Selection, request: WatchRequest) -> Self {
        let options = if request.initial_events {
            WatchOptions::initial_events(request.resource_version)
        } else {
            WatchOptions::from(request.resource_version)
        };
        let options = options
            .labels(&selection.labels)
            .fields(&selection.fields)
            .timeout(request.timeout);
        let api = api.clone();
        Self::OpeningWatch(Box::pin(async move {
            // What it brings at first may be all there is.
            Ok(api.watch(&options).await?.decode_ahead())
        }))
    }

    /// What comes next. Never, when nothing is under way.
    ///
    /// Cancel safe: what is under way stays in `self`.
    pub(super) async fn next(&mut self, ingress: &mut Ingress<K>) -> Input<Item<K>> {
        loop {
            match self {
                Self::Idle => return pending().await,
                Self::OpeningPage(opening) => match opening.await {
                    Ok(page) => *self = Self::Page(Box::new(page)),
                    Err(error) => return self.end(Input::ListFailed(error.into())),
                },
                Self::Page(page) => {
                    let item = page.next().await;
                    return self.page_item(item, ingress);
                }
                Self::OpeningWatch(opening) => match opening.await {
                    Ok(stream) => {
                        *self = Self::Watch(Box::new(stream));
                        return Input::Opened;
                    }
                    Err(error) => return self.end(Input::WatchFailed(error.into())),
                },
                Self::Watch(stream) => match stream.next().await {
                    Some(Ok(event)) => return watch_event(event, ingress),
                    Some(Err(error)) => return self.end(Input::Broken(error.into())),
                    None => return self.end(Input::Closed),
                },
            }
        }
    }

    fn page_item(
        &mut self,
        item: Option<Result<PageItem<K>>>,
        ingress: &mut Ingress<K>,
    ) -> Input<Item<K>> {
        match item {
            Some(Ok(PageItem::Object(object))) => Input::Item(ingress.admit(object)),
            Some(Ok(PageItem::Undecodable(object))) => {
                Input::Item(undecodable(&object.metadata, &object.error))
            }
            Some(Ok(PageItem::End(info))) => self.end(Input::PageEnd {
                resource_version: info.resource_version,
                continue_token: Some(info.continue_token).filter(|token| !token.is_empty()),
            }),
            Some(Err(error)) => self.end(Input::ListFailed(error.into())),
            None => {
                let failure = Failure::new(FailureClass::Lost, "the list broke off");
                self.end(Input::ListFailed(failure))
            }
        }
    }

    fn end(&mut self, last: Input<Item<K>>) -> Input<Item<K>> {
        *self = Self::Idle;
        last
    }
}

fn undecodable<K>(metadata: &Metadata, error: &DecodeError) -> Item<K> {
    let message = error.to_string();
    Item::Unfit(Box::new(Unfit {
        metadata: metadata.metadata.to_meta(),
        reason: SetAsideReason::Undecodable { message },
    }))
}

fn watch_event<K: Object>(event: WatchEvent<K>, ingress: &mut Ingress<K>) -> Input<Item<K>> {
    let mut changed = |kind, object: K| Input::Changed {
        kind,
        resource_version: object.metadata().resource_version(),
        item: ingress.admit(object),
    };
    match event {
        WatchEvent::Added(object) => changed(ChangeKind::Added, object),
        WatchEvent::Modified(object) => changed(ChangeKind::Modified, object),
        WatchEvent::Deleted(object) => changed(ChangeKind::Deleted, object),
        WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
        } => Input::Bookmark {
            resource_version,
            initial_events_end,
        },
        WatchEvent::Error(status) => Input::ErrorEvent((*status).into()),
        WatchEvent::Undecodable {
            change,
            metadata,
            error,
        } => Input::Changed {
            kind: match change {
                Change::Added => ChangeKind::Added,
                Change::Modified => ChangeKind::Modified,
                Change::Deleted => ChangeKind::Deleted,
            },
            resource_version: metadata.metadata.resource_version(),
            item: undecodable(&metadata, &error),
        },
    }
}
