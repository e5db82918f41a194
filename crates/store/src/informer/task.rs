use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::{Api, RetryPolicy};
use evenkeel_meta::{MetaView, Object, ObjectKey};
use evenkeel_pace::Moment;
use futures_util::FutureExt;
use serde::de::DeserializeOwned;
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::io::{Io, Selection};
use super::members::Members;
use super::{Shared, Start};
use crate::event::{Deletion, Event};
use crate::pending::is_same_object;
use crate::reflector::{Action, ChangeKind, Input, Reflector, Report, Step};
use crate::set_aside::SetAside;
use crate::snapshot::Snapshot;
use crate::status::SyncPhase;
use crate::transform::{Ingress, Item, Unfit};
use crate::watch_lists::WatchListSupport;
use crate::writer::{Refused, Replaced, Writer};

/// Events that are applied in one step at most (contract client-go Q8).
const BATCH: usize = 1000;

/// A list that takes longer is told of (contract client-go R14).
const SLOW_LIST: Duration = Duration::from_secs(10);

/// Carries out what the [`Reflector`] decides, and tells the handlers.
pub(crate) struct Task<K> {
    shared: Arc<Shared<K>>,
    api: Api<K>,
    selection: Selection,
    watch_lists: Arc<WatchListSupport>,
    machine: Reflector,
    writer: Writer<K>,
    members: Members<K>,
    io: Io<K>,
    ingress: Ingress<K>,
    origin: Instant,
    actions: Vec<Action<Item<K>>>,
    batch: Batch<K>,
    replacing: bool,
    synced: bool,
    /// When the contents that are under way were first asked for.
    pass: Option<Instant>,
    watch: Option<OpenWatch>,
    ended: Ended<K>,
}

/// A watch that runs, and how much it has brought.
struct OpenWatch {
    since: Instant,
    events: usize,
}

/// Writes that readers do not see yet, and handlers have not been told of.
struct Batch<K> {
    news: Vec<(ObjectKey, News<K>)>,
    written: bool,
}

enum News<K> {
    Event(Event<K>),
    SetAside(Arc<SetAside>),
}

impl<K: Object + DeserializeOwned + Send + Sync + 'static> Task<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>, start: Start<K>) -> Self {
        // The machine decides about every wait; a client that retries on its own would hide from
        // it what it has to know (contract client-go R8).
        let client = start.api.client().with_retry(RetryPolicy::never());
        Self {
            members: Members::new(shared.metrics.panics.clone()),
            api: start.api.with_client(client),
            selection: Selection {
                labels: start.labels,
                fields: start.fields,
            },
            watch_lists: start.watch_lists,
            machine: Reflector::new(start.options, start.rng),
            writer: start.writer,
            io: Io::Idle,
            ingress: start.ingress,
            origin: Instant::now(),
            actions: Vec::new(),
            batch: Batch {
                news: Vec::new(),
                written: false,
            },
            replacing: false,
            synced: false,
            pass: None,
            watch: None,
            ended: Ended(Arc::clone(&shared)),
            shared,
        }
    }

    pub(crate) async fn run(mut self, stop: CancellationToken) {
        self.shared.status.enter(SyncPhase::Syncing);
        self.consult_watch_lists();
        self.feed(Input::Start);
        loop {
            self.flush();
            self.take_in_members();
            let due = self.machine.deadline().map(|due| self.instant(due));
            let resync = self.members.next_resync(Instant::now());
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.shared.stop.cancelled() => break,
                () = self.shared.wake.notified() => {}
                () = self.members.task_ended() => {}
                input = self.io.next(&mut self.ingress) => {
                    if self.feed_batch(input) {
                        // There is more already: let others have a turn.
                        self.flush();
                        tokio::task::yield_now().await;
                    }
                }
                () = until(due) => {
                    self.consult_watch_lists();
                    self.feed(Input::Elapsed);
                }
                () = until(resync) => {
                    let contents = self.contents();
                    self.members.resync(Instant::now(), contents.as_ref());
                }
            }
        }
        self.close().await;
    }

    /// Takes this input, and those that are there already, so that a burst is published once.
    /// Says whether it stopped only because the batch is full.
    fn feed_batch(&mut self, first: Input<Item<K>>) -> bool {
        self.feed(first);
        let mut taken = 1;
        while taken < BATCH
            // The batch has a bound of its own: tokio's, which is lower, would only publish more often.
            && let Some(input) = unconstrained(self.io.next(&mut self.ingress)).now_or_never()
        {
            self.feed(input);
            taken += 1;
        }
        // A stream that always has something must not hide a deadline.
        self.feed(Input::Elapsed);
        taken == BATCH
    }

    fn feed(&mut self, input: Input<Item<K>>) {
        let mut actions = std::mem::take(&mut self.actions);
        self.machine.handle(self.now(), input, &mut actions);
        for action in actions.drain(..) {
            self.carry_out(action);
        }
        self.actions = actions;
    }

    fn carry_out(&mut self, action: Action<Item<K>>) {
        match action {
            Action::List(request) => {
                self.end_watch();
                self.io = Io::list(&self.api, &self.selection, request);
            }
            Action::Watch(request) => {
                self.end_watch();
                self.shared.metrics.watches.inc();
                self.io = Io::watch(&self.api, &self.selection, request);
            }
            Action::HangUp => {
                self.end_watch();
                self.io = Io::Idle;
            }
            Action::BeginReplace => {
                self.writer.begin_replace();
                self.replacing = true;
            }
            Action::Item(item) => self.put(item),
            Action::Change {
                kind,
                item,
                resource_version,
            } => {
                self.shared.metrics.events.inc();
                if let Some(watch) = &mut self.watch {
                    watch.events += 1;
                }
                match kind {
                    ChangeKind::Added | ChangeKind::Modified => self.put(item),
                    ChangeKind::Deleted => self.delete(item),
                }
                if let Some(version) = resource_version {
                    self.writer.set_resource_version(version);
                }
                self.batch.written |= !self.replacing;
            }
            Action::EndReplace {
                resource_version,
                rewound,
            } => {
                // What is told must not come after what replaces it, and nobody who was there
                // before may find the informer synced and not have been told.
                self.flush();
                self.take_in_members();
                self.replacing = false;
                let replaced = self.writer.end_replace(resource_version, rewound);
                self.tell_replaced(&replaced);
            }
            Action::AbortReplace => {
                self.writer.abort_replace();
                self.replacing = false;
            }
            Action::Advance(version) => {
                self.shared.status.bookmark();
                self.writer.set_resource_version(version);
                self.batch.written = true;
            }
            Action::Report(report) => self.report(&report),
        }
    }

    fn put(&mut self, item: Item<K>) {
        let object = match item {
            Item::Object(object) => object,
            Item::Unfit(unfit) => return self.set_aside(*unfit),
        };
        match self.writer.put(Arc::clone(&object)) {
            Ok(_) if self.replacing => {}
            Ok(put) => self.batch.put(put.key, put.old, object),
            Err(refused) => self.refused(refused),
        }
    }

    fn delete(&mut self, item: Item<K>) {
        let (key, last) = match item {
            Item::Object(object) => (object.metadata().key(), Some(object)),
            Item::Unfit(unfit) if unfit.metadata.name.is_empty() => return self.leave_out(&unfit),
            Item::Unfit(unfit) => (unfit.metadata.key(), None),
        };
        let old = self.writer.remove(&key);
        if self.replacing {
            return;
        }
        let deletion = match last {
            Some(last) => Deletion::Final(last),
            None => Deletion::Unknown { last_known: old },
        };
        self.batch.push(key, Event::Deleted(deletion));
    }

    fn set_aside(&mut self, unfit: Unfit) {
        if unfit.metadata.name.is_empty() {
            return self.leave_out(&unfit);
        }
        let Unfit { metadata, reason } = unfit;
        let refused = self.writer.set_aside(metadata, reason);
        self.refused(refused);
    }

    /// Nobody can tell which object it is.
    fn leave_out(&self, unfit: &Unfit) {
        self.shared.metrics.set_aside.inc();
        let (resource, reason) = (&self.shared.resource, &unfit.reason);
        tracing::error!(%resource, %reason, "an object without a readable name is left out");
    }

    fn refused(&mut self, refused: Refused<K>) {
        let Refused {
            key,
            set_aside,
            again,
            gone,
        } = refused;
        self.shared.metrics.set_aside.inc();
        // A list that brings the same state again is no news.
        if !again {
            let (resource, reason) = (&self.shared.resource, &set_aside.reason);
            tracing::error!(%resource, %key, %reason, "object set aside");
        }
        if self.replacing {
            return;
        }
        if gone.is_some() {
            let deletion = Deletion::Unknown { last_known: gone };
            self.batch.push(key.clone(), Event::Deleted(deletion));
        }
        self.batch.news.push((key, News::SetAside(set_aside)));
    }

    /// Tells of a new list: deletions first, then what is new or changed (contract client-go Q4).
    fn tell_replaced(&mut self, replaced: &Replaced<K>) {
        let initial = !self.synced;
        let members = &mut self.members;
        let gone = |last_known| Event::Deleted(Deletion::Unknown { last_known });
        replaced.for_each_removed(|key, old| members.tell(key, &gone(old.map(Arc::clone))));
        replaced.for_each_put(|key, old, new| {
            if let Some(old) = old.filter(|old| !is_same_object(&***old, &**new)) {
                members.tell(key, &gone(Some(Arc::clone(old))));
            }
        });
        replaced.for_each_put(|key, old, new| {
            let new = Arc::clone(new);
            let event = match old.filter(|old| is_same_object(&***old, &*new)) {
                Some(old) => Event::Updated {
                    old: Arc::clone(old),
                    new,
                },
                None => Event::Added {
                    object: new,
                    initial,
                },
            };
            members.tell(key, &event);
        });
        replaced.for_each_set_aside(|key, object| members.tell_set_aside(key, object));
        members.wake();
        if let Some(asked) = self.pass.take() {
            let (took, objects) = (asked.elapsed(), self.shared.store.len());
            self.shared.metrics.list(took, objects);
            if took > SLOW_LIST {
                let (resource, seconds) = (&self.shared.resource, took.as_secs());
                tracing::warn!(%resource, seconds, objects, "a slow list");
            }
        }
        self.shared.status.changed();
        if initial {
            self.synced = true;
            members.end_initial();
            self.shared.status.enter(SyncPhase::Synced);
        }
    }

    /// Shows readers what was written, then tells the handlers.
    fn flush(&mut self) {
        if !self.batch.written {
            return;
        }
        self.batch.written = false;
        let started = self.shared.metrics.is_enabled().then(Instant::now);
        self.writer.publish();
        if !self.batch.news.is_empty() {
            self.shared.status.changed();
            for (key, news) in self.batch.news.drain(..) {
                match news {
                    News::Event(event) => self.members.tell(&key, &event),
                    News::SetAside(object) => self.members.tell_set_aside(&key, &object),
                }
            }
            self.members.wake();
        }
        if let Some(started) = started {
            self.shared
                .metrics
                .latency
                .observe_duration(started.elapsed());
        }
    }

    fn take_in_members(&mut self) {
        self.members.drop_removed();
        let joining = std::mem::take(&mut self.shared.joining.lock().waiting);
        if joining.is_empty() {
            return;
        }
        let contents = self.contents();
        for join in joining {
            self.members.take_in(join, contents.as_ref());
        }
    }

    /// What readers see, once there has been a whole list.
    fn contents(&self) -> Option<Snapshot<K>> {
        self.synced.then(|| self.shared.store.snapshot())
    }

    fn consult_watch_lists(&mut self) {
        if !self.watch_lists.is_assumed() {
            self.machine.avoid_watch_list();
        }
    }

    fn report(&mut self, report: &Report) {
        let resource = &self.shared.resource.clone();
        match report {
            Report::Pass(cause) => {
                self.end_watch();
                self.pass.get_or_insert_with(Instant::now);
                self.shared.metrics.pass(*cause);
                tracing::debug!(%resource, cause = cause.as_str(), "fetching the collection");
            }
            Report::Failed { step, failure } => {
                self.shared.metrics.failure(*step);
                tracing::warn!(%resource, verb = step.as_str(), error = %failure, "request failed");
            }
            Report::NoWatchList { failure } => {
                if self.watch_lists.rule_out() {
                    tracing::warn!(%resource, error = %failure, "no watch-lists here: using lists");
                }
            }
            Report::Rewound { from, to } => {
                tracing::error!(%resource, %from, %to, "the server's resource versions went backwards");
            }
            Report::StreamFailed(failure) | Report::StreamLost(Some(failure)) => {
                tracing::debug!(%resource, error = %failure, "watch ended");
                self.end_watch();
            }
            Report::StreamLost(None) => self.end_watch(),
            Report::Recovered(Step::Watch) => {
                let since = Instant::now();
                self.watch = Some(OpenWatch { since, events: 0 });
            }
            Report::Recovered(Step::List) => {}
        }
        self.shared.status.report(report);
    }

    fn end_watch(&mut self) {
        if let Some(OpenWatch { since, events }) = self.watch.take() {
            self.shared.metrics.watch(since.elapsed(), events);
        }
    }

    /// Ends the requests at once, and tells everyone; then waits for handlers' calls to return.
    async fn close(self) {
        let Self {
            members,
            io,
            writer,
            ended,
            ..
        } = self;
        drop((io, writer, ended));
        members.close().await;
    }

    fn now(&self) -> Moment {
        Moment::from(self.origin.elapsed())
    }

    fn instant(&self, at: Moment) -> Instant {
        self.origin + at.since_origin()
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

impl<K: Object> Batch<K> {
    fn put(&mut self, key: ObjectKey, old: Option<Arc<K>>, new: Arc<K>) {
        match old {
            Some(old) if is_same_object(&*old, &*new) => {
                self.push(key, Event::Updated { old, new });
            }
            old => {
                if old.is_some() {
                    let deletion = Deletion::Unknown { last_known: old };
                    self.push(key.clone(), Event::Deleted(deletion));
                }
                let added = Event::Added {
                    object: new,
                    initial: false,
                };
                self.push(key, added);
            }
        }
    }

    fn push(&mut self, key: ObjectKey, event: Event<K>) {
        self.news.push((key, News::Event(event)));
    }
}

/// Tells those who wait, whether the task was told to stop or dropped.
struct Ended<K>(Arc<Shared<K>>);

impl<K> Drop for Ended<K> {
    fn drop(&mut self) {
        self.0.close();
    }
}
