//! Waiting until nothing is queued and nothing runs.
//!
//! A pool is *quiet* at a moment if every worker is parked, or has a thread that has not looked for work yet, and nothing is
//! queued. Workers change all of that under the crew's lock, so under it a look at one queue after the other sees what was
//! true at once: nothing is taken from a queue meanwhile, and what is pushed meanwhile came after.
//!
//! Each moment that is found while somebody waits has a number. A waiter notes the number before, and returns when it has
//! changed: whatever comes later is not its business, and later work that keeps the pool busy keeps it waiting.

use brigade_sync::atomic::Ordering;

use super::crew::Crew;
use super::{Idle, Snapshot};

/// What a caller of `wait_idle` is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wait {
    /// The pool is quiet, or has terminated.
    Over,
    /// It is not: until the number of quiet moments is another than this.
    Since(u64),
}

impl Idle {
    /// Begins to wait, unless the pool is quiet; `is_empty` looks at the queues. Each wait is [ended](Self::end_wait) once.
    pub(crate) fn begin_wait(&self, is_empty: impl FnOnce() -> bool) -> Wait {
        let mut crew = self.crew.lock();
        if crew.terminated || (crew.is_still() && is_empty()) {
            return Wait::Over;
        }
        crew.waiting += 1;
        self.change(&mut crew, 0);
        Wait::Since(crew.quiets)
    }

    /// One who waited does so no more.
    pub(crate) fn end_wait(&self) {
        let mut crew = self.crew.lock();
        crew.waiting -= 1;
        self.change(&mut crew, 0);
    }

    /// Whether the pool has been quiet since then, or has terminated.
    pub(crate) fn was_quiet(&self, since: u64) -> bool {
        let crew = self.crew.lock();
        crew.terminated || crew.quiets != since
    }

    /// Whether the pool is quiet now.
    pub(crate) fn is_quiet(&self, is_empty: impl FnOnce() -> bool) -> bool {
        let crew = self.crew.lock();
        crew.terminated || (crew.is_still() && is_empty())
    }

    /// Notes a quiet moment if there is one; `true` if so, and the caller tells those who wait.
    ///
    /// Called after everything that may have made it so: a worker that parks or leaves, a start that fails.
    #[must_use]
    pub(crate) fn find_quiet(&self, is_empty: impl FnOnce() -> bool) -> bool {
        // Ordering: as `Snapshot` everywhere: who has just parked sees a wait that began before, or the wait sees it parked.
        if !Snapshot(self.word.load(Ordering::SeqCst)).quiet_wanted() {
            return false;
        }
        let mut crew = self.crew.lock();
        let found = crew.waiting > 0 && crew.is_still() && is_empty();
        crew.quiets += u64::from(found);
        found
    }
}

impl Crew {
    /// Whether nobody runs or looks for work. Whose thread is just being started has none in hand, and comes to the lock
    /// before it looks for any.
    fn is_still(&self) -> bool {
        self.order.len() + self.starting() == self.live
    }
}
