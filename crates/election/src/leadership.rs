use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evenkeel_pace::Moment;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::Fence;
use crate::driver::{Driver, Turn};
use crate::elector::{Campaigning, Settings};
use crate::machine::{Failure, LossCause, Resignation};

/// What the work of a term needs to know. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Term {
    fence: Fence,
    stop: CancellationToken,
    transitions: i32,
    identity: Arc<str>,
}

impl Term {
    /// Whether a write may start; closes with the term.
    #[must_use]
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Cancelled when the work must stop: the term was lost, or shall be given up.
    ///
    /// When it is to be given up, the fence stays open and the Lease is renewed until the
    /// work has ended, so that it can finish what it has begun.
    #[must_use]
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// How often the Lease had gone from one holder to another when the term began.
    #[must_use]
    pub fn transitions(&self) -> i32 {
        self.transitions
    }

    /// This candidate's identity.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

/// The lead, for as long as it lasts.
///
/// A task of its own renews the Lease, so that work that keeps its thread busy cannot
/// starve the renewals. It belongs to this handle.
///
/// Dropping the handle ends the term at once: the fence is sealed, the renewals stop, and
/// the Lease is left to run out. [`release`](Self::release) gives it back instead, so that
/// the next candidate need not wait.
#[must_use = "dropping it ends the term"]
pub struct Leadership {
    term: Term,
    reign: Arc<Reign>,
    lost: watch::Receiver<Option<LossCause>>,
    resign: Option<oneshot::Sender<()>>,
    task: JoinHandle<Resignation>,
}

impl Leadership {
    pub(crate) fn begin(
        driver: Box<Driver>,
        settings: &Arc<Settings>,
        campaigning: Campaigning,
        until: Moment,
        transitions: i32,
    ) -> Self {
        let term = Term {
            fence: Fence::until(until, settings.clock.clone()),
            stop: CancellationToken::new(),
            transitions,
            identity: Arc::clone(&settings.candidate.identity),
        };
        let reign = Arc::new(Reign::begin(settings, &term, campaigning));
        let (cause, lost) = watch::channel(None);
        let (resign, resigned) = oneshot::channel();
        let ending = EndOnDrop(Arc::clone(&reign));
        Self {
            term,
            reign,
            lost,
            resign: Some(resign),
            task: tokio::spawn(hold(driver, ending, cause, resigned)),
        }
    }

    /// What to hand to the work.
    #[must_use]
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// Whether a write may start; closes with the term.
    #[must_use]
    pub fn fence(&self) -> &Fence {
        &self.term.fence
    }

    /// Waits until the term is lost. By then the fence is closed and
    /// [`Term::stop`] cancelled; end the work, then call [`release`](Self::release), for the
    /// Lease may still name this candidate.
    ///
    /// # Cancel safety
    /// May be dropped and called again; the cause is kept.
    pub fn lost(&self) -> impl Future<Output = LossCause> + Send + use<> {
        let mut lost = self.lost.clone();
        async move {
            match lost.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(cause)) => cause.clone(),
                // The runtime is shutting down.
                _ => LossCause::Abandoned,
            }
        }
    }

    /// Ends the term and gives the Lease back. Call it when the work has been joined: the
    /// next leader may begin at once.
    ///
    /// The fence is sealed first. The Lease is written only if a fresh reading says that
    /// this candidate still holds it (client-go L13, L14). Takes the renew deadline at most.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the Lease to run out, unless it was given back already.
    pub async fn release(mut self) -> Resignation {
        self.reign.end(None);
        if let Some(resign) = self.resign.take() {
            // The task is gone only if the runtime is, and then the next line says so.
            let _ = resign.send(());
        }
        (&mut self.task)
            .await
            .unwrap_or(Resignation::Failed(Failure::Unanswered))
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        // Here and not only where the task ends, which may be a moment later.
        self.reign.end(None);
        self.reign.allow_next_campaign();
        self.task.abort();
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("term", &self.term)
            .field("lost", &*self.lost.borrow())
            .finish_non_exhaustive()
    }
}

/// Renews until the term is lost or given up, then gives the Lease back when told to.
async fn hold(
    mut driver: Box<Driver>,
    ending: EndOnDrop,
    cause: watch::Sender<Option<LossCause>>,
    mut resigned: oneshot::Receiver<()>,
) -> Resignation {
    let reign = &ending.0;
    let mut resigning = false;
    loop {
        tokio::select! {
            turn = driver.next() => match turn {
                Turn::Renewed { fence } => reign.renewed(fence),
                Turn::Lost(why) => {
                    reign.end(Some(&why));
                    cause.send_replace(Some(why));
                }
                Turn::Finished(how) => return how,
                Turn::Elected { .. } => {}
            },
            told = &mut resigned, if !resigning => {
                resigning = true;
                // An error means that the handle is gone, and this task about to be.
                if told.is_ok() {
                    driver.resign();
                }
            }
        }
    }
}

/// Everything that says "leading" while a term lasts, and stops saying so once it has ended.
struct Reign {
    settings: Arc<Settings>,
    term: Term,
    ended: AtomicBool,
    campaigning: Mutex<Option<Campaigning>>,
}

/// However the task ends, the term does too.
struct EndOnDrop(Arc<Reign>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

impl Reign {
    fn begin(settings: &Arc<Settings>, term: &Term, campaigning: Campaigning) -> Self {
        settings.status.set_leading(settings.clock.now());
        settings.meters.leading.set(1.0);
        settings.fence.open(&term.fence);
        settings.announce("became leader");
        tracing::info!(
            namespace = settings.candidate.namespace,
            name = settings.candidate.name,
            identity = &*term.identity,
            transitions = term.transitions,
            "became leader"
        );
        Self {
            settings: Arc::clone(settings),
            term: term.clone(),
            ended: AtomicBool::new(false),
            campaigning: Mutex::new(Some(campaigning)),
        }
    }

    fn renewed(&self, until: Moment) {
        self.term.fence.extend(until);
        self.settings.status.set_renewed(self.settings.clock.now());
    }

    fn end(&self, cause: Option<&LossCause>) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        self.term.fence.seal();
        self.settings.fence.close();
        self.term.stop.cancel();
        self.settings.status.set_not_leading();
        self.settings.meters.leading.set(0.0);
        self.settings.announce("stopped leading");
        let namespace = &self.settings.candidate.namespace;
        let name = &self.settings.candidate.name;
        match cause {
            Some(cause) => {
                self.settings.status.set_loss(cause);
                self.settings.meters.lost(cause);
                tracing::error!(namespace, name, %cause, "lost the lead");
            }
            None => tracing::info!(namespace, name, "gave up the lead"),
        }
    }

    fn allow_next_campaign(&self) {
        self.campaigning.lock().take();
    }
}
