//! Values that count how often they are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts its values, and their drops.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<AtomicUsize>);

/// One value.
#[derive(Debug)]
pub(crate) struct Counted(pub(crate) usize, Arc<AtomicUsize>);

impl Tally {
    pub(crate) fn value(&self, number: usize) -> Counted {
        Counted(number, self.0.clone())
    }

    /// Returns how many have been dropped.
    pub(crate) fn dropped(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Returns how many exist.
    pub(crate) fn alive(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}
