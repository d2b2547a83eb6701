//! The limit of a bounded pool, and the permits of its queue. It must not know jobs.

pub(crate) mod semaphore;

use std::sync::Arc;

use semaphore::Semaphore;

/// The limit of a bounded pool.
///
/// `close` is an address, so that only a program that bounds a pool contains the code of the semaphore's waiters.
pub(crate) struct Bound {
    pub(super) permits: Arc<Semaphore>,
    close: fn(&Semaphore),
}

impl Bound {
    /// Limits a pool to that many queued jobs.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { permits: Semaphore::new(capacity), close: Semaphore::wake_all }
    }

    /// Wakes the submitters that wait from outside, as the pool is closed.
    pub(super) fn close(&self) {
        (self.close)(&self.permits);
    }
}
