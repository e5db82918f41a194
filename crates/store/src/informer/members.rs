use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use evenkeel_meta::{Object, ObjectKey};
use evenkeel_observe::Counter;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use crate::event::Event;
use crate::handler::{Handler, Link};
use crate::index::panic_message;
use crate::set_aside::SetAside;
use crate::snapshot::Snapshot;
use crate::subscription::{Line, Subscription};

/// A handler that waits to be taken in.
pub(super) struct Join<K> {
    pub(super) link: Arc<Link>,
    pub(super) member: Member<K>,
}

/// The ways to be told.
pub(super) enum Member<K> {
    /// Called between batches.
    Inline(Box<dyn Handler<K>>),
    /// Put on a line that somebody else takes from.
    Line(Arc<Line<K>>),
    /// The same, and the taker is a task that the informer runs.
    Slow(Arc<Line<K>>, BoxFuture<'static, ()>),
}

impl<K: Object + Send + Sync + 'static> Member<K> {
    pub(super) fn slow<F, R>(line: Arc<Line<K>>, mut handler: F, panics: Counter) -> Self
    where
        F: FnMut(ObjectKey, Event<K>) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let mut subscription = Subscription::new(Arc::clone(&line));
        let link = Arc::clone(line.link());
        let work = async move {
            while let Some((key, event)) = subscription.next_until_closed().await {
                // The closure is called under the guard too: it may panic before it awaits.
                let call = async { handler(key.clone(), event).await };
                if let Err(panic) = AssertUnwindSafe(call).catch_unwind().await {
                    note_panic(&link, &panics, &key, &*panic);
                }
            }
        };
        Self::Slow(line, Box::pin(work))
    }
}

/// Everyone who is told, in the order in which they came.
pub(super) struct Members<K> {
    list: Vec<(Arc<Link>, Told<K>)>,
    tasks: JoinSet<()>,
    panics: Counter,
}

enum Told<K> {
    Inline(Box<dyn Handler<K>>),
    Line(Arc<Line<K>>),
}

impl<K: Object + Send + Sync + 'static> Members<K> {
    pub(super) fn new(panics: Counter) -> Self {
        Self {
            list: Vec::new(),
            tasks: JoinSet::new(),
            panics,
        }
    }

    /// Takes a handler in and tells it of what is there. `contents` is `None` before the first
    /// sync: then there is nothing to tell, and more to come.
    pub(super) fn take_in(&mut self, join: Join<K>, contents: Option<&Snapshot<K>>) {
        let Join { link, member } = join;
        let mut told = match member {
            Member::Inline(handler) => Told::Inline(handler),
            Member::Line(line) => Told::Line(line),
            Member::Slow(line, work) => {
                self.tasks.spawn(work);
                Told::Line(line)
            }
        };
        if let Some(contents) = contents {
            match &mut told {
                Told::Inline(handler) => {
                    for (key, object) in contents.iter() {
                        let object = Arc::clone(object);
                        let event = Event::Added {
                            object,
                            initial: true,
                        };
                        guard(&link, &self.panics, key, || handler.handle(key, &event));
                    }
                    for (key, object) in contents.set_aside() {
                        guard(&link, &self.panics, key, || handler.set_aside(key, object));
                    }
                    link.mark_synced();
                }
                Told::Line(line) => {
                    line.replay(contents.contents().objects.cursor());
                    line.end_initial();
                }
            }
        }
        self.list.push((link, told));
    }

    /// Drops those who have left.
    pub(super) fn drop_removed(&mut self) {
        self.list.retain(|(link, _)| !link.is_removed());
    }

    pub(super) fn tell(&mut self, key: &ObjectKey, event: &Event<K>) {
        for (link, told) in &mut self.list {
            match told {
                Told::Inline(handler) => {
                    guard(link, &self.panics, key, || handler.handle(key, event));
                }
                Told::Line(line) if !link.is_removed() => line.push(key, event.clone()),
                Told::Line(_) => {}
            }
        }
    }

    pub(super) fn tell_set_aside(&mut self, key: &ObjectKey, object: &SetAside) {
        for (link, told) in &mut self.list {
            if let Told::Inline(handler) = told {
                guard(link, &self.panics, key, || handler.set_aside(key, object));
            }
        }
    }

    /// A batch is over.
    pub(super) fn wake(&self) {
        for (_, told) in &self.list {
            if let Told::Line(line) = told {
                line.wake();
            }
        }
    }

    /// Everyone has been told of the first list.
    pub(super) fn end_initial(&self) {
        for (link, told) in &self.list {
            match told {
                Told::Inline(_) => link.mark_synced(),
                Told::Line(line) => line.end_initial(),
            }
        }
    }

    /// Waits for a handler's task to end; never, while there is none.
    pub(super) async fn task_ended(&mut self) {
        if self.tasks.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Nothing more comes. Ends when the calls that were under way have.
    pub(super) async fn close(mut self) {
        self.end();
        while self.tasks.join_next().await.is_some() {}
    }
}

impl<K> Members<K> {
    fn end(&mut self) {
        for (link, told) in self.list.drain(..) {
            match told {
                Told::Inline(_) => link.mark_ended(),
                Told::Line(line) => line.close(),
            }
        }
    }
}

impl<K> Drop for Members<K> {
    fn drop(&mut self) {
        self.end();
    }
}

/// One call of a handler: not if it has left, and not further than here if it panics.
fn guard(link: &Link, panics: &Counter, key: &ObjectKey, call: impl FnOnce()) {
    if link.is_removed() {
        return;
    }
    if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
        note_panic(link, panics, key, &*panic);
    }
}

fn note_panic(link: &Link, panics: &Counter, key: &ObjectKey, panic: &(dyn std::any::Any + Send)) {
    link.panics.fetch_add(1, Ordering::Relaxed);
    panics.inc();
    tracing::error!(%key, panic = panic_message(panic), "event handler panicked");
}
