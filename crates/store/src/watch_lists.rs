use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a resource does watch-lists, as far as anybody in the process has found out (contract
/// client-go WL8, ours; kube-rs D2). Shared by all informers of the resource.
#[derive(Debug)]
pub(crate) struct WatchListSupport(AtomicBool);

impl Default for WatchListSupport {
    fn default() -> Self {
        Self(AtomicBool::new(true))
    }
}

impl WatchListSupport {
    pub(crate) fn is_assumed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Says whether this is news.
    pub(crate) fn rule_out(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}
