use std::pin::Pin;
use std::task::{Context, Poll, ready};

use evenkeel_meta::{Object, ResourceVersion};
use evenkeel_pace::Moment;
use futures_core::Stream;
use futures_core::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, Sleep, sleep_until};

use super::resume::{Resume, Step};
use super::{WatchEvent, WatchStream};
use crate::api::Api;
use crate::error::{DecodeError, Error, Result, WatchError};
use crate::options::WatchOptions;

/// A watch that goes on where it ended, for as long as the server has the changes in between:
/// client-go's RetryWatcher (TW1, TW2).
///
/// It never lists. Bookmarks are used and not passed on; a server that ends the watch, breaks
/// it or is away for a while is not seen, except as a delay. Watches begin at least a second
/// apart, and later where the server asks for that.
///
/// It ends, after its last item says why:
/// - when the version is no longer served: [`WatchEvent::Error`] with 410, in the stream or on
///   opening. List, and watch from there;
/// - when the caller may not watch: [`WatchEvent::Error`] with 401 or 403;
/// - when an event cannot be read or has no resource version, since what is lost then could
///   not be told: a [`WatchError`].
///
/// # Cancel safety
///
/// Nothing is lost between two polls. Dropping the stream ends the watch on the server.
#[must_use = "streams do nothing unless polled"]
pub struct RetryWatch<K> {
    api: Api<K>,
    options: WatchOptions,
    resume: Resume,
    phase: Phase<K>,
    origin: Instant,
}

enum Phase<K> {
    Waiting(Pin<Box<Sleep>>),
    Opening(BoxFuture<'static, Result<WatchStream<K>>>),
    Watching(WatchStream<K>),
    Done,
}

type Item<K> = Result<WatchEvent<K>, WatchError>;

impl<K: Object + DeserializeOwned + 'static> RetryWatch<K> {
    pub(crate) fn new(api: Api<K>, options: WatchOptions) -> Self {
        let resume = Resume::new(options.resource_version.clone());
        let origin = Instant::now();
        Self {
            api,
            options,
            resume,
            phase: Phase::Waiting(Box::pin(sleep_until(origin))),
            origin,
        }
    }

    /// The version up to which everything was told.
    #[must_use]
    pub fn position(&self) -> &ResourceVersion {
        self.resume.position()
    }

    fn now(&self) -> Moment {
        Moment::from(self.origin.elapsed())
    }

    fn wait(&mut self) {
        let start = self.resume.next_start(self.now()).since_origin();
        self.phase = Phase::Waiting(Box::pin(sleep_until(self.origin + start)));
    }

    fn open(&mut self) {
        self.resume.started(self.now());
        self.options.resource_version = self.resume.position().clone();
        let (api, options) = (self.api.clone(), self.options.clone());
        self.phase = Phase::Opening(Box::pin(async move { api.watch(&options).await }));
    }

    /// The last item, if the refusal is final.
    fn refused(&mut self, error: Error) -> Option<Item<K>> {
        if self.resume.survives_refusal(&error) {
            tracing::debug!(%error, "watching again");
            self.wait();
            return None;
        }
        self.phase = Phase::Done;
        Some(match error {
            Error::Api(status) => Ok(WatchEvent::Error(status)),
            error => Err(WatchError::Refused {
                resource: self.api.resource().to_string().into(),
                error,
            }),
        })
    }

    /// What the caller gets of an item of the stream, if anything.
    fn item(&mut self, item: Option<Item<K>>) -> Option<Item<K>> {
        match item {
            None => {
                self.wait();
                None
            }
            Some(Err(error)) if Resume::survives(&error) => {
                tracing::debug!(%error, "watching again");
                self.wait();
                None
            }
            Some(Err(error)) => {
                self.phase = Phase::Done;
                Some(Err(error))
            }
            Some(Ok(event)) => match self.resume.event(&event) {
                Step::Pass => Some(Ok(event)),
                Step::Skip => None,
                Step::Again => {
                    self.wait();
                    None
                }
                Step::Last => {
                    self.phase = Phase::Done;
                    Some(Ok(event))
                }
                Step::Lost => {
                    self.phase = Phase::Done;
                    let resource = self.api.resource().to_string();
                    let error = DecodeError::new("a watch event", "it has no resource version");
                    Some(Err(WatchError::Frame {
                        resource: resource.into(),
                        error,
                    }))
                }
            },
        }
    }
}

impl<K: Object + DeserializeOwned + 'static> Stream for RetryWatch<K> {
    type Item = Item<K>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let item = match &mut this.phase {
                Phase::Waiting(sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    this.open();
                    None
                }
                Phase::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                    Ok(stream) => {
                        this.phase = Phase::Watching(stream);
                        None
                    }
                    Err(error) => this.refused(error),
                },
                Phase::Watching(stream) => {
                    let item = ready!(Pin::new(stream).poll_next(cx));
                    this.item(item)
                }
                Phase::Done => return Poll::Ready(None),
            };
            if item.is_some() {
                return Poll::Ready(item);
            }
        }
    }
}

impl<K> std::fmt::Debug for RetryWatch<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RetryWatch")
            .field("api", &self.api)
            .field("position", self.resume.position())
            .finish_non_exhaustive()
    }
}
