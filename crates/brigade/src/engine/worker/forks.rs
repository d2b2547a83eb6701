//! Forks and jobs of scopes, which are *parts* of what other jobs wait for. `engine/FORKS.md` has the protocol.

use std::task::Waker;

use brigade_queue::StealError;
use brigade_queue::deque::{self, Candidate};
use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::hint;
use brigade_task::{Forks, Job, Part, Region, Wait, keep_tickets, return_tickets};

use super::{Awaited, Worker, wait_as};
use crate::engine::core::enter::enter_pool;
use crate::engine::idle::{Snapshot, Watch};
use crate::engine::queues::origins::DEPTH;
use crate::engine::queues::peers::Peer;
use crate::engine::sleep::backoff::Backoff;
use crate::engine::sleep::events::blocked::BlockedThread;

/// A wait for a fork or a scope.
struct Parts<'a> {
    wait: Wait<'a>,
    /// Where its parts begin on the own deque.
    own: u64,
    /// Whether it takes parts from others: not in deep waits, as each may be on top of a whole recursion.
    steals: bool,
}

impl Awaited for Parts<'_> {
    const BACKS_OFF: bool = true;

    fn is_over(&mut self) -> bool {
        self.wait.is_over()
    }

    fn register(&mut self, waker: Waker) -> bool {
        self.wait.register(waker)
    }

    fn run_part(&mut self, worker: &Worker) -> bool {
        let region = self.wait.region();
        // Its own parts at any depth: its stack has the caller's recursion then, and no more.
        worker.run_own_part(region, self.own) || (self.steals && worker.run_stolen_part(region))
    }

    fn is_own(&self, _: &Worker) -> bool {
        true
    }
}

impl Forks for Worker {
    type Deque = deque::Worker<Part>;

    #[inline(always)]
    fn push(&self, part: Part) {
        self.forks.push(part);
        // As `announce`, where the push passes the light fence, and the other side the heavy one.
        if self.core.idle.snapshot().announces_forks() {
            self.announce_fork();
        }
    }

    #[inline(always)]
    fn deque(&self) -> &Self::Deque {
        &self.forks
    }

    fn take_back(&self) -> Option<Part> {
        // A thief may have held the deque's lock at the fork.
        self.end_if_orphan();
        self.forks.pop()
    }

    #[cold]
    fn wait(&self, wait: Wait<'_>) {
        self.activity.run_parts();
        self.wait_for_part(wait, self.forks.position());
    }

    #[cold]
    fn count_panic(&self) {
        self.me.counters.panics.add(1);
    }
}

/// A wait for a fork or a scope of another pool.
struct OfOtherPool<'a>(Wait<'a>);

impl Awaited for OfOtherPool<'_> {
    fn is_over(&mut self) -> bool {
        self.0.is_over()
    }

    fn register(&mut self, waker: Waker) -> bool {
        self.0.register(waker)
    }

    fn is_own(&self, _: &Worker) -> bool {
        false
    }
}

/// Waits for a fork or a scope on a thread that does not fork as one of its pool.
pub(crate) fn wait_outside(wait: Wait<'_>) {
    if !Backoff::default().wait(|| wait.is_over()) {
        wait_as(None, |worker| match worker {
            Some(worker) => worker.run_until(&mut OfOtherPool(wait)),
            None => {
                let thread = BlockedThread::of_this_thread();
                if wait.register(Waker::from(thread.clone())) {
                    while !wait.is_over() {
                        thread.park(None);
                    }
                }
            }
        });
    }
}

impl Worker {
    /// Wakes or starts a worker for a fork.
    #[cold]
    #[inline(never)]
    fn announce_fork(&self) {
        if self.core.idle.snapshot().lacks_heavy_fence() {
            // No thief could take it otherwise. Then with an ordinary fence, as each look has one.
            let mut round = 0;
            while !self.forks.publish() {
                hint::snooze(round);
                round += 1;
            }
            if !self.core.idle.after_publishing().wants_help_for_forks() {
                return;
            }
        }
        self.help();
    }

    /// Accepts a job of a scope from a job on this worker.
    pub(crate) fn execute_part(&self, part: Part) {
        self.me.counters.accepted.add(1);
        self.push(part);
    }

    /// Whether nothing that it has forked is left for other workers to take.
    #[inline]
    pub(crate) fn has_forked_nothing(&self) -> bool {
        self.forks.is_empty()
    }

    /// The position of the next fork.
    pub(crate) fn fork_position(&self) -> u64 {
        self.forks.position()
    }

    /// Runs a job that was found; if it is a part, also those of the same region that it has left on the own deque.
    #[inline]
    pub(super) fn run_found(&self, job: Job) {
        match self.me.origins.outermost() {
            None => self.run_taken(job),
            Some(region) => self.run_parts(job, region),
        }
    }

    /// Runs parts outside of any job, until the worker has to look elsewhere.
    fn run_parts(&self, first: Job, region: Region) {
        struct End<'a>(&'a Worker);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.me.origins.end(0);
            }
        }
        let _end = End(self);
        self.activity.run_parts();
        keep_tickets(|| {
            self.run(first);
            let interrupts = || self.core.idle.snapshot().interrupts();
            while !self.pace.is_due_next() && !interrupts() && self.run_own_part(region, 0) {
                self.end_if_orphan();
                self.pace.count();
            }
        });
    }

    /// Takes the newest part of the own deque, to run it outside of any job.
    pub(super) fn take_part(&self) -> Option<Job> {
        let part = self.forks.pop()?;
        self.me.origins.begin(part.region(), self.forks.position());
        Some(part.into_job())
    }

    /// Takes the oldest parts of another worker; only what descends from a region, if there is one. Returns the oldest, and
    /// queues the others.
    pub(super) fn steal_part(
        &self,
        peer: &Peer,
        of: Option<Region>,
    ) -> Result<(Region, Job), StealError> {
        let limit = |oldest: Candidate<'_, Part>, _: usize| {
            let its = oldest.item.region();
            match of {
                // Several only of one region, so of one scope. What is stolen and does not run at once lies behind what the thief
                // runs, where a thread that waits for another region does not reach it.
                None => oldest.count_while(|part| part.region() == its),
                // A job of another scope may be left from what had the origin before: see `engine/origins.rs`.
                Some(region) => usize::from(
                    its == region
                        || (oldest.item.is_fork()
                            && peer.origins.descends(region, oldest.position)),
                ),
            }
        };
        // Before the steal pushes anything: see `engine/origins.rs`.
        let position = self.forks.position();
        let part = peer.forks.steal(&self.forks, limit)?;
        if of.is_none() {
            self.me.origins.begin(part.region(), position);
            if self.forks.position() > position {
                self.announce_fork();
            }
        }
        Ok((part.region(), part.into_job()))
    }

    /// Whether a look missed forks, as another worker may have pushed them without a fence since it saw this one search, which runs
    /// now. The monitor would find them.
    #[cold]
    pub(super) fn has_forks_unseen(&self) -> bool {
        let seen = self.core.idle.snapshot();
        if !seen.has_reserves_for_forks() || seen.watched() {
            return false;
        }
        self.fence_forks_beside(1);
        self.core.queues.has_work()
    }

    /// Leaves forks, or jobs of this worker's own queue, to the monitor; `false` if there can be none, or no worker that it could wake.
    pub(super) fn leaves_to_monitor(&self, seen: Snapshot) -> bool {
        seen.watched() || (seen.parked() > 0 && self.core.ask_monitor(Watch::Closely))
    }

    /// Ensures that the next look, or one of the monitor, sees all forks, as [`fence_forks`](Self::fence_forks).
    pub(super) fn fence_forks_or_ask(&self) {
        let seen = self.core.idle.snapshot();
        let may_miss = seen.running() > 0 && self.core.queues.have_forked();
        if !may_miss || !self.leaves_to_monitor(seen) {
            self.fence_forks();
        }
    }

    /// Ensures that the next look sees all forks of workers that do not see yet what this one has announced. It does not run.
    pub(super) fn fence_forks(&self) {
        self.fence_forks_beside(0);
    }

    /// The same where this many of those that run are this worker.
    fn fence_forks_beside(&self, own: usize) {
        // A worker that begins to run from now on changes the state first, and sees the announcement.
        if self.core.idle.snapshot().running() > own {
            self.core.queues.fence_forks();
        } else {
            // Ordering: of a worker that has ceased to run, as the state says, this one sees what it pushed before.
            fence(Ordering::Acquire);
        }
    }

    /// Waits for a fork or a scope; meanwhile runs what descends from it. On the own deque, that begins at a position.
    pub(crate) fn wait_for_part(&self, wait: Wait<'_>, own: u64) {
        let steals = self.depth() < DEPTH;
        let _inside = self.run_inside_job();
        let origins = self.me.origins.begin(wait.region(), own);
        keep_tickets(|| self.run_until(&mut Parts { wait, own, steals }));
        self.me.origins.end(origins);
    }

    /// Runs the newest part of a region on the own deque, down to a position; `false` if there is none.
    #[inline(always)]
    fn run_own_part(&self, region: Region, own: u64) -> bool {
        if self.forks.position() <= own {
            return false;
        }
        match self.forks.pop() {
            Some(part) if part.region() == region => {
                self.run_part(part.into_job());
                true
            }
            Some(part) => self.run_part_below(part, region, own),
            None => false,
        }
    }

    /// Like [`run_own_part`](Self::run_own_part), where the newest part, which was popped, is of a scope around this one.
    #[cold]
    #[inline(never)]
    fn run_part_below(&self, newest: Part, region: Region, own: u64) -> bool {
        let mut others = vec![newest];
        let mut found = None;
        while found.is_none() && self.forks.position() > own {
            let Some(part) = self.forks.pop() else { break };
            match part.region() == region {
                true => found = Some(part),
                false => others.push(part),
            }
        }
        others.into_iter().rev().for_each(|part| self.push(part));
        found.map(|part| self.run_part(part.into_job())).is_some()
    }

    /// Steals something that descends from a region and runs it; `false` if there is nothing.
    fn run_stolen_part(&self, region: Region) -> bool {
        // Nothing is left here to do for the scope.
        return_tickets();
        let peers = self.core.queues.peers.iter();
        let mut others =
            peers.filter(|&(index, peer)| index != self.index && !peer.forks.is_empty()).peekable();
        if others.peek().is_none() {
            return false;
        }
        let stolen = others.find_map(|(index, peer)| {
            self.steal_part(peer, Some(region)).ok().inspect(|_| self.tell_of_fork(index))
        });
        let Some((region, job)) = stolen else { return false };
        let origins = self.me.origins.begin(region, self.forks.position());
        self.run_part(job);
        self.me.origins.end(origins);
        true
    }

    /// Runs a part inside a job that waits for it. It contains its panics.
    #[inline(always)]
    fn run_part(&self, job: Job) {
        enter_pool(&self.core, || self.run(job));
        // The part may have forked. The wait goes on, for parts of the parent's.
        self.end_if_orphan();
    }
}
