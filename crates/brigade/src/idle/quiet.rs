//! Waiting until a pool is idle.
//!
//! A pool is *quiet* at a moment if every worker is parked, or has not looked for work since its thread was started, and
//! nothing is queued. Workers change all of that under the crew's lock. So looking at one queue after the other under it gives
//! a consistent view: nothing is taken from a queue during the look, and what is pushed during the look came after the moment.
//!
//! Each such moment that is found while a thread waits has a number. A waiter notes the number beforehand, and returns when it
//! has changed, whatever is submitted later.

use brigade_sync::atomic::Ordering;

use super::crew::Crew;
use super::{Idle, Snapshot};

/// What a thread that begins to wait must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wait {
    /// Nothing: the pool is quiet, or has terminated.
    Over,
    /// Wait until the number of quiet moments is no longer this.
    Since(u64),
}

impl Idle {
    /// Begins to wait, unless the pool is quiet; `is_empty` looks at the queues. Each wait must be
    /// [ended](Self::end_wait).
    pub(crate) fn begin_wait(&self, is_empty: impl FnOnce() -> bool) -> Wait {
        let mut crew = self.crew.lock();
        if crew.terminated || (crew.is_still() && is_empty()) {
            return Wait::Over;
        }
        crew.waiting += 1;
        self.change(&mut crew, 0);
        Wait::Since(crew.quiets)
    }

    /// Ends the wait of a thread.
    pub(crate) fn end_wait(&self) {
        let mut crew = self.crew.lock();
        crew.waiting -= 1;
        self.change(&mut crew, 0);
    }

    /// Whether the pool has been quiet since that moment, or has terminated.
    pub(crate) fn was_quiet(&self, since: u64) -> bool {
        let crew = self.crew.lock();
        crew.terminated || crew.quiets != since
    }

    /// Whether the pool is quiet now, or has terminated.
    pub(crate) fn is_quiet(&self, is_empty: impl FnOnce() -> bool) -> bool {
        let crew = self.crew.lock();
        crew.terminated || (crew.is_still() && is_empty())
    }

    /// How many workers neither park nor search, not counting those that have not looked for work yet.
    pub(crate) fn busy(&self) -> usize {
        let crew = self.crew.lock();
        self.snapshot().running().saturating_sub(crew.starts.len())
    }

    /// Notes a quiet moment if there is one; returns whether there is, and then the caller must wake the threads that wait.
    ///
    /// Called after everything that may have made the pool quiet: a worker that parks or leaves, a start that fails, work that
    /// ends off the pool.
    #[must_use]
    pub(crate) fn find_quiet(&self, is_empty: impl FnOnce() -> bool) -> bool {
        // Ordering: SeqCst, as every change of the state: a wait that began before the caller's change is seen.
        if !Snapshot(self.state.load(Ordering::SeqCst)).quiet_awaited() {
            return false;
        }
        let mut crew = self.crew.lock();
        let found = crew.is_still() && is_empty();
        crew.quiets += u64::from(found);
        found
    }
}

impl Crew {
    /// Whether no worker runs or looks for work. A worker whose thread is being started has no work, and takes the lock before
    /// it looks for any.
    fn is_still(&self) -> bool {
        self.parked_waits == 0 && self.sleepers.len() + self.starts.len() == self.count.live()
    }
}
