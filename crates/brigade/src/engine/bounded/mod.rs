//! The limit of a bounded pool, and the permits of the queue. It must not know jobs.

pub(crate) mod semaphore;

use std::sync::Arc;

use semaphore::Semaphore;

/// The limit of a bounded pool.
///
/// `close` is a function pointer, so that only programs with a bounded pool contain the code of the semaphore's
/// waiters.
pub(crate) struct Bound {
    pub(super) permits: Arc<Semaphore>,
    close: fn(&Semaphore),
}

impl Bound {
    /// Limits a pool to `capacity` queued jobs.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { permits: Semaphore::new(capacity), close: Semaphore::wake_all }
    }

    /// Wakes submitters that wait outside the pool, because the pool is closed.
    pub(super) fn close(&self) {
        (self.close)(&self.permits);
    }
}
