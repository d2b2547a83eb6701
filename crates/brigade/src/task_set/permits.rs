//! How the jobs of a set get permits in a bounded pool.
//!
//! **Waiting.** A set whose first job lacks only a permit waits among the semaphore's waiters. The decision to wait is made and
//! executed in one step under the lock of the waiter, from the current state of the board. A thread that changes the board so
//! that the set must wait makes this step afterwards. So if a set must wait and no thread is about to make this step, it is
//! among the waiters, and is woken for the next permit.

use std::sync::Arc;
use std::task::Waker;

use brigade_sync::Mutex;

use crate::handle::Handle;
use crate::registry::reach;
use crate::semaphore::{Permit, Semaphore, Waiter};

/// The right to submit one job: a permit, if the pool is bounded.
pub(super) type Leave = Option<Permit>;

/// The source of a set's permits.
pub(super) struct Permits {
    /// `None` if the pool is not bounded.
    semaphore: Option<Arc<Semaphore>>,
    /// The set's waiter, while it waits.
    waiter: Mutex<Option<Waiter>>,
}

impl Permits {
    pub(super) fn new(pool: Handle) -> Self {
        let semaphore = reach(pool.key, |at| at.core().and_then(|core| core.permits().cloned()));
        Self { semaphore, waiter: Mutex::default() }
    }

    /// Whether a job needs a permit.
    pub(super) fn are_needed(&self) -> bool {
        self.semaphore.is_some()
    }

    /// Takes the right to submit a job; `None` if the pool is full.
    pub(super) fn try_acquire(&self) -> Option<Leave> {
        match &self.semaphore {
            Some(semaphore) => semaphore.try_acquire().map(Some),
            None => Some(None),
        }
    }

    /// Like [`try_acquire`](Self::try_acquire), for a set that may be about to wait for a permit: if it is, and the pool is
    /// full, it waits from now on.
    pub(super) fn acquire_or_wait(
        &self,
        is_to_wait: impl Fn() -> bool,
        waker: impl FnOnce() -> Waker,
    ) -> Option<Leave> {
        if !is_to_wait() {
            // A permit that is taken and released again is missing in the meantime, and a job may be dropped for it.
            return None;
        }
        self.try_acquire().or_else(|| {
            let mut waiter = self.waiter.lock();
            if is_to_wait() {
                let semaphore = self.semaphore.as_ref()?;
                waiter.get_or_insert_with(|| Waiter::staying(semaphore.clone())).register(&waker());
            }
            drop(waiter);
            self.try_acquire()
        })
    }

    /// Stops waiting, unless the set must wait.
    pub(super) fn stop_waiting_unless(&self, is_to_wait: impl FnOnce() -> bool) {
        if !self.are_needed() {
            return;
        }
        let mut waiter = self.waiter.lock();
        let left = if is_to_wait() { None } else { waiter.take() };
        drop(waiter);
        // Last, as it may wake the next waiter, which is user code.
        drop(left);
    }
}
