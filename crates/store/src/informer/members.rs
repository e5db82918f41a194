use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use evenkeel_meta::{Object, ObjectKey};
use evenkeel_observe::Counter;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio::time::Instant;

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
    list: Vec<Seat<K>>,
    tasks: JoinSet<()>,
    panics: Counter,
}

struct Seat<K> {
    link: Arc<Link>,
    told: Told<K>,
    resync: Option<Resync>,
}

#[derive(Clone, Copy)]
struct Resync {
    period: Duration,
    due: Instant,
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
        self.list.push(Seat {
            link,
            told,
            resync: None,
        });
    }

    /// Drops those who have left.
    pub(super) fn drop_removed(&mut self) {
        self.list.retain(|seat| !seat.link.is_removed());
    }

    /// When the next handler is to be told of everything again. Takes note of periods that were
    /// set or changed meanwhile.
    pub(super) fn next_resync(&mut self, now: Instant) -> Option<Instant> {
        for seat in &mut self.list {
            let period = seat.link.resync();
            if seat.resync.map(|resync| resync.period) != period {
                seat.resync = period.map(|period| Resync {
                    period,
                    due: now + period,
                });
            }
        }
        let resyncs = self.list.iter().filter_map(|seat| seat.resync);
        resyncs.map(|resync| resync.due).min()
    }

    /// Tells those whose time has come of every object, as it is. Those who still have their initial
    /// contents before them are left alone.
    pub(super) fn resync(&mut self, now: Instant, contents: Option<&Snapshot<K>>) {
        for seat in &mut self.list {
            let Some(resync) = seat.resync.as_mut().filter(|resync| resync.due <= now) else {
                continue;
            };
            resync.due = now + resync.period;
            let Some(contents) = contents.filter(|_| seat.link.has_synced()) else {
                continue;
            };
            for (key, object) in contents.iter() {
                let event = Event::Updated {
                    old: Arc::clone(object),
                    new: Arc::clone(object),
                };
                seat.tell(&self.panics, key, &event);
            }
            if let Told::Line(line) = &seat.told {
                line.wake();
            }
        }
    }

    pub(super) fn tell(&mut self, key: &ObjectKey, event: &Event<K>) {
        for seat in &mut self.list {
            seat.tell(&self.panics, key, event);
        }
    }

    pub(super) fn tell_set_aside(&mut self, key: &ObjectKey, object: &SetAside) {
        for seat in &mut self.list {
            if let Told::Inline(handler) = &mut seat.told {
                let call = || handler.set_aside(key, object);
                guard(&seat.link, &self.panics, key, call);
            }
        }
    }

    /// A batch is over.
    pub(super) fn wake(&self) {
        for seat in &self.list {
            if let Told::Line(line) = &seat.told {
                line.wake();
            }
        }
    }

    /// Everyone has been told of the first list.
    pub(super) fn end_initial(&self) {
        for seat in &self.list {
            match &seat.told {
                Told::Inline(_) => seat.link.mark_synced(),
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

impl<K: 'static> Seat<K> {
    fn tell(&mut self, panics: &Counter, key: &ObjectKey, event: &Event<K>) {
        match &mut self.told {
            Told::Inline(handler) => {
                guard(&self.link, panics, key, || handler.handle(key, event));
            }
            Told::Line(line) if !self.link.is_removed() => line.push(key, event.clone()),
            Told::Line(_) => {}
        }
    }
}

impl<K> Members<K> {
    fn end(&mut self) {
        for seat in self.list.drain(..) {
            match seat.told {
                Told::Inline(_) => seat.link.mark_ended(),
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
