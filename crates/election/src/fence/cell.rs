use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;

use super::{Fence, FenceExpired, Term};

/// The fence of whatever term this process is in, or of none.
///
/// A client lives longer than a term: give it a cell, and put each term's fence into the
/// cell when it begins. While the cell is empty, nothing may be written. Cloning is cheap;
/// clones share the content.
#[derive(Clone, Default)]
pub struct FenceCell(Arc<ArcSwapOption<Term>>);

impl FenceCell {
    /// An empty cell: not leading.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A term has begun.
    pub fn open(&self, fence: &Fence) {
        self.0.store(Some(Arc::clone(&fence.0)));
    }

    /// The term is over. Its fence is not sealed by this.
    pub fn close(&self) {
        self.0.store(None);
    }

    /// How long the term is still sure to last; see [`Fence::check`].
    ///
    /// # Errors
    /// When there is no term, or it has ended, or was not renewed in time.
    pub fn check(&self) -> Result<Duration, FenceExpired> {
        self.current().ok_or(FenceExpired::NoTerm)?.check()
    }

    /// The fence of the current term.
    ///
    /// Work that was begun in one term and must not go on in the next one keeps this and
    /// checks it, not the cell.
    #[must_use]
    pub fn current(&self) -> Option<Fence> {
        self.0.load_full().map(Fence)
    }
}

impl From<Fence> for FenceCell {
    fn from(fence: Fence) -> Self {
        let cell = Self::new();
        cell.open(&fence);
        cell
    }
}

impl fmt::Debug for FenceCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FenceCell").field(&self.check()).finish()
    }
}
