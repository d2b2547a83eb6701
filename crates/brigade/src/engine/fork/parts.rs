//! The deque of forks and jobs of scopes, and the looks that see them. `FORKS.md` has the protocol.

use std::sync::Arc;

use brigade_queue::StealError;
use brigade_queue::deque::Candidate;
use brigade_sync::atomic::{Ordering, fence};
use brigade_task::{Job, Part, Region};

use crate::engine::queues::peers::Peer;
use crate::engine::shared::Shared;
use crate::engine::what::What;
use crate::engine::worker::Worker;

impl Worker {
    /// Pushes a fork, or a job of a scope.
    #[inline(always)]
    pub(in crate::engine) fn push(&self, part: Part) {
        self.forks.push(part);
        // As in `notify_peers`. The push passes the light fence, the other side the heavy fence.
        if self.shared.idle.snapshot().notifies_of_forks() {
            self.notify_of_fork();
        }
    }

    /// Accepts a job of a scope from a job on this worker.
    #[inline(always)]
    pub(crate) fn execute_part(&self, part: Part) {
        self.me.counters.accepted.add(1);
        self.push(part);
        self.compact_after_sweep();
    }

    /// Drops the completed entries of the own deque.
    pub(in crate::engine) fn compact_parts(&self) {
        let mut others = Vec::new();
        while let Some(part) = self.forks.pop() {
            let position = self.forks.position();
            match part.unless_stale() {
                None => {
                    let lowest = &self.leftovers.lowest_gap;
                    lowest.set(Some(lowest.get().unwrap_or(position).min(position)));
                    self.me.origins.close_gap(position);
                }
                Some(part) => others.push(part),
            }
        }
        self.push_back(others);
    }

    /// Pushes parts again, which have been popped in this order.
    pub(super) fn push_back(&self, mut popped: Vec<Part>) {
        while let Some(part) = popped.pop() {
            self.push(part);
        }
    }

    /// Whether no part is left on the own deque for peers to take.
    #[inline]
    pub(crate) fn has_forked_nothing(&self) -> bool {
        self.forks.is_empty()
    }

    /// How many threads may run parts at once, with those that forks start: a guest runs in place of a worker.
    pub(crate) fn threads(&self) -> usize {
        let shared = &*self.shared;
        let live = shared.idle.snapshot().live() - usize::from(self.is_guest());
        live.max(shared.config.size.core)
    }

    /// The position of the next fork.
    pub(crate) fn fork_position(&self) -> u64 {
        self.forks.position()
    }

    /// Takes the newest part of the own deque, to run it outside of any job.
    pub(in crate::engine) fn take_part(&self) -> Option<Job> {
        let part = self.forks.pop()?;
        self.me.origins.begin(part.region(), self.forks.position());
        Some(part.into_job())
    }

    /// Takes the oldest parts of a peer; with a region, only descendants of it. Returns the oldest part, and queues the
    /// rest.
    pub(in crate::engine) fn steal_part(
        &self,
        (from, peer): (usize, &Arc<Peer>),
        of: Option<Region>,
    ) -> Result<(Region, Job), StealError> {
        let limit = |oldest: Candidate<'_, Part>, _: usize| {
            let its = oldest.item.region();
            match of {
                // Several parts only of one region, and so of one scope. A stolen part that does not run at once lies
                // behind the part that the thief runs, where a thread that waits for a different region does not reach
                // it.
                None => oldest.count_while(|part| part.region() == its),
                // Only a fork: a job of another scope may outlive the part that added it (`engine/queues/origins.rs`).
                Some(region) => usize::from(
                    its == region
                        || (oldest.item.is_fork()
                            && peer.origins.descends(region, oldest.position)),
                ),
            }
        };
        // Read before the steal pushes parts (`engine/queues/origins.rs`).
        let position = self.forks.position();
        let part = peer.steal_forks(&self.forks, &limit)?;
        if of.is_none() {
            self.me.origins.begin(part.region(), position);
            if self.forks.position() > position {
                self.notify_of_fork();
            }
        }
        self.tell(What::Stolen { from, jobs: 1, are_forks: true });
        Ok((part.region(), part.into_job()))
    }
}

impl Shared {
    /// Like [`fence_forks`](Self::fence_forks) of a thread that does not run, but may leave the forks to a look of the monitor.
    pub(in crate::engine) fn fence_forks_or_ask(&self) {
        let seen = self.idle.snapshot();
        let may_miss = seen.running() > 0 && self.queues.have_forked();
        if !may_miss || !self.leaves_to_monitor(seen) {
            self.fence_forks(0);
        }
    }

    /// Whether the last searcher leaves work for which another worker must be woken.
    pub(in crate::engine) fn wants_worker(&self) -> bool {
        self.queues.want_worker(self.idle.snapshot()) || self.has_forks_unseen()
    }

    /// Whether a look of the calling worker, which runs, has missed forks: a peer may have pushed them without a fence
    /// after it saw this worker search. Returns `false` while the monitor watches, because it finds such forks.
    #[cold]
    pub(in crate::engine) fn has_forks_unseen(&self) -> bool {
        let seen = self.idle.snapshot();
        if !seen.has_reserves_for_forks() || seen.watched() {
            return false;
        }
        self.fence_forks(1);
        self.queues.has_work()
    }

    /// Ensures that the next look sees all forks of workers that have not yet seen the announcement of the calling
    /// worker, which is `own` of the running workers: 1 if it counts as running.
    pub(in crate::engine) fn fence_forks(&self, own: usize) {
        // A worker that starts running later changes the state first, and so sees the announcement.
        if self.idle.snapshot().running() > own {
            self.queues.fence_forks();
        } else {
            // Ordering: Acquire: a worker that has ceased to run, by the state, pushed before it changed the state, and
            // this worker sees the pushes.
            fence(Ordering::Acquire);
        }
    }
}
