//! Faults that the server injects into itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_meta::{Reason, Status, StatusDetails};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a collection.
    List,
    /// Follows a collection.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
}

/// Which requests a fault is for. An empty one is for all requests on resources.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct When {
    verb: Option<Verb>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    user_agent: Option<String>,
    skip: u64,
    times: Option<u64>,
}

/// What goes wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// The request is answered with this error and has no effect.
    Refuse(Box<Status>),
    /// The request waits first.
    Delay(Duration),
    /// The request takes effect, and its answer is lost: the body breaks off.
    LoseAnswer,
    /// The request is never answered, and has no effect.
    Hang,
    /// A watch sends nothing from the start on, and stays open (a half-open connection).
    SilentWatch,
    /// A watch sends no bookmarks. The marker behind the initial events is one too.
    NoBookmarks,
    /// A watch-list never sends its marker `k8s.io/initial-events-end`; other bookmarks come.
    NoInitialEventsEnd,
    /// Reads that allow any version (`resourceVersion=0`) see the state of this revision,
    /// as from a replica that lags behind.
    Stale(u64),
}

/// The injected faults of one server. All handles share them.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    rules: Mutex<Vec<Rule>>,
    next: AtomicU64,
    cuts: AtomicU64,
    cut: Notify,
}

#[derive(Debug)]
struct Rule {
    id: u64,
    when: When,
    fault: Fault,
}

/// One injected fault; [`Injected::lift`] ends it early. Dropping it changes nothing.
#[derive(Debug, Clone)]
pub struct Injected {
    id: u64,
    shared: Arc<Shared>,
}

/// What is known of a request before it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) verb: Verb,
    pub(crate) resource: &'a str,
    pub(crate) group: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) user_agent: &'a str,
}

/// The faults that hit one request.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) refusal: Option<Status>,
    pub(crate) delay: Duration,
    pub(crate) lose_answer: bool,
    pub(crate) hang: bool,
    pub(crate) silent_watch: bool,
    pub(crate) no_bookmarks: bool,
    pub(crate) no_initial_events_end: bool,
    pub(crate) stale: Option<u64>,
}

impl When {
    /// Every request on a resource.
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests of this verb.
    pub fn verb(verb: Verb) -> Self {
        Self {
            verb: Some(verb),
            ..Self::default()
        }
    }

    /// Only on this resource: its plural, `pods`, or with the group, `deployments.apps`.
    pub fn on(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Only on this subresource, such as `status`. Without it: any, and the object itself.
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Only in this namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only from clients whose User-Agent contains this.
    pub fn user_agent(mut self, part: impl Into<String>) -> Self {
        self.user_agent = Some(part.into());
        self
    }

    /// Lets the first `count` matching requests pass.
    pub fn after(mut self, count: u64) -> Self {
        self.skip = count;
        self
    }

    /// Ends after `count` requests were hit.
    pub fn times(mut self, count: u64) -> Self {
        self.times = Some(count);
        self
    }

    fn matches(&self, subject: &Subject<'_>) -> bool {
        self.verb.is_none_or(|verb| verb == subject.verb)
            && self
                .resource
                .as_deref()
                .is_none_or(|resource| match resource.split_once('.') {
                    Some((plural, group)) => plural == subject.resource && group == subject.group,
                    None => resource == subject.resource,
                })
            && self
                .subresource
                .as_deref()
                .is_none_or(|name| name == subject.subresource)
            && self
                .namespace
                .as_deref()
                .is_none_or(|name| Some(name) == subject.namespace)
            && self
                .user_agent
                .as_deref()
                .is_none_or(|part| subject.user_agent.contains(part))
    }
}

impl Fault {
    /// A refusal with this code, reason and message.
    #[must_use]
    pub fn refuse(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        Self::Refuse(Box::new(Status::failure(code, reason, message)))
    }

    /// 403.
    #[must_use]
    pub fn forbidden() -> Self {
        Self::refuse(403, Reason::Forbidden, "forbidden by an injected fault")
    }

    /// 429 with a `Retry-After` of whole seconds.
    #[must_use]
    pub fn too_many_requests(retry_after_seconds: u32) -> Self {
        let mut status = Status::failure(
            429,
            Reason::TooManyRequests,
            "the server has received too many requests and has asked us to try again later",
        );
        status.details = Some(StatusDetails {
            retry_after_seconds,
            ..StatusDetails::default()
        });
        Self::Refuse(Box::new(status))
    }

    /// 500.
    #[must_use]
    pub fn internal_error() -> Self {
        Self::Refuse(Box::new(Status::internal("injected fault")))
    }

    /// 410.
    #[must_use]
    pub fn expired() -> Self {
        Self::Refuse(Box::new(Status::expired(
            "too old resource version: injected fault",
        )))
    }
}

impl Faults {
    /// Injects `fault` into the requests that `when` selects. Several faults on one request
    /// add up: delays first, then the first refusal.
    pub fn inject(&self, when: When, fault: Fault) -> Injected {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        self.shared.rules.lock().push(Rule { id, when, fault });
        Injected {
            id,
            shared: Arc::clone(&self.shared),
        }
    }

    /// Lifts every fault.
    pub fn clear(&self) {
        self.shared.rules.lock().clear();
    }

    /// Cuts every open watch in the middle of its stream, as a broken connection does.
    pub fn cut_watches(&self) {
        self.shared.cuts.fetch_add(1, Ordering::Release);
        self.shared.cut.notify_waiters();
    }

    /// Which faults hit this request; counts it.
    pub(crate) fn hit(&self, subject: &Subject<'_>) -> Hits {
        let mut hits = Hits::default();
        let mut rules = self.shared.rules.lock();
        rules.retain_mut(|rule| {
            if !rule.when.matches(subject) {
                return true;
            }
            if rule.when.skip > 0 {
                rule.when.skip -= 1;
                return true;
            }
            hits.add(&rule.fault);
            match &mut rule.when.times {
                Some(left) => {
                    *left = left.saturating_sub(1);
                    *left > 0
                }
                None => true,
            }
        });
        hits
    }

    /// How many times watches were cut so far.
    pub(crate) fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::Acquire)
    }

    /// Completes when watches are cut beyond `seen`. Cancel safe.
    pub(crate) async fn cut_after(&self, seen: u64) {
        loop {
            let cut = self.shared.cut.notified();
            tokio::pin!(cut);
            cut.as_mut().enable();
            if self.cuts() > seen {
                return;
            }
            cut.await;
        }
    }
}

impl Hits {
    fn add(&mut self, fault: &Fault) {
        match fault {
            Fault::Refuse(status) => {
                self.refusal.get_or_insert_with(|| (**status).clone());
            }
            Fault::Delay(delay) => self.delay += *delay,
            Fault::LoseAnswer => self.lose_answer = true,
            Fault::Hang => self.hang = true,
            Fault::SilentWatch => self.silent_watch = true,
            Fault::NoBookmarks => self.no_bookmarks = true,
            Fault::NoInitialEventsEnd => self.no_initial_events_end = true,
            Fault::Stale(revision) => self.stale = Some(*revision),
        }
    }
}

impl Injected {
    /// Ends the fault.
    pub fn lift(&self) {
        self.shared.rules.lock().retain(|rule| rule.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(resource: &'static str) -> Subject<'static> {
        Subject {
            verb: Verb::List,
            resource,
            group: "",
            subresource: "",
            namespace: Some("n"),
            user_agent: "agent/1",
        }
    }

    #[test]
    fn a_rule_skips_hits_and_ends() {
        let faults = Faults::default();
        faults.inject(
            When::verb(Verb::List).on("pods").after(1).times(2),
            Fault::forbidden(),
        );
        assert!(faults.hit(&list("services")).refusal.is_none());
        let hits: Vec<bool> = (0..5)
            .map(|_| faults.hit(&list("pods")).refusal.is_some())
            .collect();
        assert_eq!(hits, [false, true, true, false, false]);
    }

    #[test]
    fn a_lifted_fault_hits_no_more() {
        let faults = Faults::default();
        let delay = faults.inject(When::any(), Fault::Delay(Duration::from_secs(1)));
        faults.inject(When::any().user_agent("agent"), Fault::LoseAnswer);
        let hits = faults.hit(&list("pods"));
        assert!(hits.lose_answer && hits.delay == Duration::from_secs(1));
        delay.lift();
        assert_eq!(faults.hit(&list("pods")).delay, Duration::ZERO);
        faults.clear();
        assert!(!faults.hit(&list("pods")).lose_answer);
    }
}
