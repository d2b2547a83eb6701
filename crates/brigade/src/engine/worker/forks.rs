//! Forks and jobs of scopes, the *parts* that a job waits for. `engine/FORKS.md` has the protocol.

use std::task::Waker;

use brigade_queue::StealError;
use brigade_queue::deque::{self, Candidate};
use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::{Defer, hint};
use brigade_task::{Forks, Job, Part, Region, Wait, keep_tickets, return_tickets};

use super::{Awaited, Worker, wait_as};
use crate::engine::core::enter::enter_pool;
use crate::engine::idle::{Snapshot, Watch};
use crate::engine::queues::origins::DEPTH;
use crate::engine::queues::peers::Peer;
use crate::engine::sleep::backoff::Backoff;
use crate::engine::sleep::events::blocked::sleep_outside;

/// A wait for a fork or a scope.
struct Parts<'a> {
    wait: Wait<'a>,
    /// The position on the own deque at which the wait's parts begin; `None` if they are of another pool.
    own: Option<u64>,
    /// Whether the wait steals parts. Deep waits don't: each stolen part may put a whole recursion on top.
    steals: bool,
}

impl Awaited for Parts<'_> {
    fn backs_off(&self) -> bool {
        // A wait for another pool has done so (`wait_outside`).
        self.own.is_some()
    }

    fn is_over(&mut self) -> bool {
        self.wait.is_over()
    }

    fn register(&mut self, waker: Waker) -> bool {
        self.wait.register(waker)
    }

    fn run_part(&mut self, worker: &Worker) -> bool {
        let region = self.wait.region();
        // Own parts run at any depth: the stack then holds the caller's recursion, and no more.
        self.own.is_some_and(|own| worker.run_own_part(region, own))
            || (self.steals && worker.run_stolen_part(region))
    }

    fn is_own(&self, _: &Worker) -> bool {
        self.own.is_some()
    }
}

impl Forks for Worker {
    type Deque = deque::Worker<Part>;

    #[inline(always)]
    fn push(&self, part: Part) {
        self.forks.push(part);
        // As in `announce`. The push passes the light fence, the other side the heavy fence.
        if self.core.work.idle.snapshot().announces_forks() {
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
        self.activity.has_run_parts.set(true);
        self.wait_for_part(wait, self.forks.position());
    }

    #[cold]
    fn count_panic(&self) {
        self.me.counters.panics.add(1);
    }
}

/// Waits for a fork or a scope on a thread that does not fork as a worker of its pool.
pub(crate) fn wait_outside(wait: Wait<'_>) {
    if !Backoff::default().wait(|| wait.is_over()) {
        wait_as(None, |worker| match worker {
            Some(worker) => worker.run_until(&mut Parts { wait, own: None, steals: false }),
            None => sleep_outside(None, |waker| !wait.register(waker.clone())),
        });
    }
}

impl Worker {
    /// Wakes or starts a worker for a fork.
    #[cold]
    #[inline(never)]
    fn announce_fork(&self) {
        if self.core.work.idle.snapshot().lacks_heavy_fence() {
            // Otherwise no thief could take the fork. An ordinary fence follows, because each look passes one.
            let mut round = 0;
            while !self.forks.publish() {
                hint::snooze(round);
                round += 1;
            }
            if !self.core.work.idle.after_publishing().wants_help_for_forks() {
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

    /// Whether no part is left on the own deque for peers to take.
    #[inline]
    pub(crate) fn has_forked_nothing(&self) -> bool {
        self.forks.is_empty()
    }

    /// The position of the next fork.
    pub(crate) fn fork_position(&self) -> u64 {
        self.forks.position()
    }

    /// Runs a job that was found; if it is a part, also runs the parts of the same region on the own deque.
    #[inline]
    pub(super) fn run_found(&self, job: Job) {
        match self.me.origins.outermost() {
            None => self.run_taken(job),
            Some(region) => self.run_parts(job, region),
        }
    }

    /// Runs parts outside of any job until the worker must look elsewhere, or none is left.
    fn run_parts(&self, first: Job, region: Region) {
        let _end = Defer(|| self.me.origins.end(0));
        self.activity.has_run_parts.set(true);
        keep_tickets(|| {
            self.run(first);
            let interrupts = || self.core.work.idle.snapshot().interrupts();
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

    /// Takes the oldest parts of a peer; with a region, only descendants of it. Returns the oldest part, and queues the
    /// rest.
    pub(super) fn steal_part(
        &self,
        peer: &Peer,
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
        let part = peer.forks.steal(&self.forks, limit)?;
        if of.is_none() {
            self.me.origins.begin(part.region(), position);
            if self.forks.position() > position {
                self.announce_fork();
            }
        }
        Ok((part.region(), part.into_job()))
    }

    /// Whether a look has missed forks: a peer may have pushed them without a fence after it saw this worker search.
    /// This worker runs now. Returns `false` while the monitor watches, because it finds such forks.
    #[cold]
    pub(super) fn has_forks_unseen(&self) -> bool {
        let seen = self.core.work.idle.snapshot();
        if !seen.has_reserves_for_forks() || seen.watched() {
            return false;
        }
        self.fence_forks_beside(1);
        self.core.work.queues.has_work()
    }

    /// Leaves forks, or jobs of this worker's own queue, to the monitor; `false` if there can be no monitor, or it has
    /// no worker to wake.
    pub(super) fn leaves_to_monitor(&self, seen: Snapshot) -> bool {
        seen.watched() || (seen.parked() > 0 && self.core.ask_monitor(Watch::Closely))
    }

    /// Like [`fence_forks`](Self::fence_forks), but may leave the forks to a look of the monitor.
    pub(super) fn fence_forks_or_ask(&self) {
        let seen = self.core.work.idle.snapshot();
        let may_miss = seen.running() > 0 && self.core.work.queues.have_forked();
        if !may_miss || !self.leaves_to_monitor(seen) {
            self.fence_forks();
        }
    }

    /// Ensures that the next look sees all forks of workers that have not yet seen this worker's announcement. This
    /// worker must not count as running.
    pub(super) fn fence_forks(&self) {
        self.fence_forks_beside(0);
    }

    /// Like [`fence_forks`](Self::fence_forks), ignoring `own` of the running workers: 1 if this worker runs.
    fn fence_forks_beside(&self, own: usize) {
        // A worker that starts running later changes the state first, and so sees the announcement.
        if self.core.work.idle.snapshot().running() > own {
            self.core.work.queues.fence_forks();
        } else {
            // Ordering: Acquire: a worker that has ceased to run, by the state, pushed before it changed the state, and
            // this worker sees the pushes.
            fence(Ordering::Acquire);
        }
    }

    /// Waits for a fork or a scope, and meanwhile runs descendants. On the own deque they begin at the position `own`.
    pub(crate) fn wait_for_part(&self, wait: Wait<'_>, own: u64) {
        let steals = self.depth() < DEPTH;
        let _inside = self.run_inside_job();
        let origins = self.me.origins.begin(wait.region(), own);
        keep_tickets(|| self.run_until(&mut Parts { wait, own: Some(own), steals }));
        self.me.origins.end(origins);
    }

    /// Runs the newest part of a region on the own deque, down to the position `own`; `false` if there is none.
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

    /// Like [`run_own_part`](Self::run_own_part), if the newest part, already popped, belongs to an outer scope.
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

    /// Steals a descendant of a region and runs it; `false` if there is none.
    fn run_stolen_part(&self, region: Region) -> bool {
        // No part of the scope is left here.
        return_tickets();
        let peers = self.core.work.queues.peers.iter();
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

    /// Runs a part inside a job that waits for it. A panic is contained by the part.
    #[inline(always)]
    fn run_part(&self, job: Job) {
        enter_pool(&self.core, || self.run(job));
        // The part may have forked the process: in the child, the wait would continue with the parent's parts.
        self.end_if_orphan();
    }
}
