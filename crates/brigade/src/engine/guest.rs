//! Guests: threads that are no workers, and fork for a pool during a call of their own. A guest has a deque of forks and jobs of
//! scopes, which workers steal from, and runs and waits like a worker, but only for its own call: `engine/fork/FORKS.md` has the rules.

use std::sync::Arc;

use super::enter::enter_as;
use super::roster::Roster;
use super::shared::Shared;
use super::worker::{CURRENT, Nesting, Worker};

/// A guest, until this is dropped.
struct Guest<'a> {
    shared: &'a Shared,
    worker: Option<Worker>,
    index: usize,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        // The call may have forked: in the child the roster's lock may be held forever.
        self.shared.key.end_if_orphan();
        self.worker.take().map(Worker::give_back);
        self.shared.idle.change(|roster| roster.dismiss(self.index));
        self.shared.uncover();
        if self.shared.is_closed() {
            // All workers may already be parked.
            self.shared.try_terminate();
        }
    }
}

/// A guest that runs nothing, until this is dropped.
pub(super) struct Rest<'a>(&'a Worker);

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        let Worker { shared, nesting: Nesting { blocks, .. }, .. } = self.0;
        blocks.set(blocks.get() - 1);
        // In a forked child the roster's lock may be held forever.
        if blocks.get() == 0 && shared.key.is_here() {
            shared.idle.change(Roster::end_rest);
        }
    }
}

impl Worker {
    /// Counts a guest as one that runs nothing until the returned value is dropped.
    pub(super) fn rest(&self) -> Rest<'_> {
        let Self { shared, nesting: Nesting { blocks, .. }, .. } = self;
        let is_new = blocks.replace(blocks.get() + 1) == 0;
        let rest = Rest(self);
        if is_new {
            shared.idle.change(Roster::rest);
            shared.uncover();
        }
        rest
    }
}

impl Shared {
    /// Calls a closure on this thread, which is no worker, as a guest of the pool; `false` if it was not called, because there are too many
    /// guests, the pool has ended, or only its owner runs its jobs.
    pub(crate) fn call_as_guest(self: &Arc<Self>, call: &mut dyn FnMut()) -> bool {
        if self.config.is_driven {
            return false;
        }
        // The pool does not end meanwhile, nor is it idle.
        let _work = self.off_pool();
        let Some(index) = self.idle.change(Roster::admit) else { return false };
        self.queues.peers.open(index, &self.config);
        let worker = Some(Worker::guest(self.clone(), index));
        let guest = Guest { shared: self, worker, index };
        if let Some(worker) = &guest.worker {
            let _entered = enter_as(None);
            let _traced = worker.begin_job(false);
            self.events.resources.enter(|| CURRENT.set(worker, call));
        }
        true
    }

    /// Wakes a worker for forks that woke none because a guest ran.
    fn uncover(&self) {
        let seen = self.idle.snapshot();
        if seen.parked() > 0 && !seen.is_covered() {
            self.fence_forks_or_ask();
            if self.queues.has_work() {
                self.wake_one();
            }
        }
    }
}
