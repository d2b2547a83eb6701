//! Forks and jobs of scopes, the *parts* that a job waits for. `engine/fork/FORKS.md` has the protocol.

mod parts;
#[cfg(all(test, not(brigade_loom)))]
mod tests;

use std::sync::Arc;

use brigade_queue::deque;
use brigade_sync::Defer;
use brigade_task::{Forks, Job, Part, Region, Wait, keep_tickets, return_tickets};

use crate::engine::enter::{enter_pool, entered};
use crate::engine::futures::groups::{Group, Members};
use crate::engine::key::Key;
use crate::engine::queues::origins::DEPTH;
use crate::engine::sleep::backoff::Backoff;
use crate::engine::sleep::events::blocked::BlockedThread;
use crate::engine::wait::{Awaited, outside};
use crate::engine::worker::Worker;

/// A wait for a fork or a scope.
struct Parts<'a> {
    wait: Wait<'a>,
    /// The position on the own deque at which the wait's parts begin, if no gap below was closed; `None` if they are of another pool.
    own: Option<u64>,
    pool: Key,
    /// The futures of the scope.
    group: Option<Group>,
    /// Whether the wait steals parts. Deep waits don't: each stolen part may put a whole recursion on top.
    steals: bool,
}

impl Awaited for Parts<'_> {
    fn backs_off(&self) -> bool {
        // A wait for another pool has done so (`wait_outside`).
        self.own.is_some()
    }

    fn is_over(&mut self) -> bool {
        self.wait.is_set()
    }

    fn register(&mut self, thread: &Arc<BlockedThread>) -> bool {
        self.wait.register(thread.clone().into())
    }

    fn run_part(&mut self, worker: &Worker) -> bool {
        let region = self.wait.region();
        // Own parts run at any depth: the stack then holds the caller's recursion, and no more.
        self.own.is_some_and(|own| worker.run_own_part(region, own))
            || self.group.is_some_and(|group| worker.run_member(group))
            || (self.steals && worker.run_stolen_part(region))
    }

    fn pool(&self) -> Option<Key> {
        Some(self.pool)
    }
}

impl Forks for Worker {
    type Deque = deque::Worker<Part>;

    #[inline(always)]
    fn push(&self, part: Part) {
        self.push(part);
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
        self.wait_for_part(wait, self.forks.position(), None);
    }

    #[cold]
    fn count_panic(&self) {
        self.count_panic();
    }
}

/// Waits for a fork or a scope on a thread that does not fork as a worker of its pool.
#[inline(never)]
pub(crate) fn wait_outside(pool: Key, wait: Wait<'_>) {
    if !Backoff::default().wait(|| wait.is_over()) {
        let mut parts = Parts { wait, own: None, pool, group: None, steals: false };
        outside::wait(pool.if_threadless(), &mut parts);
    }
}

impl Worker {
    /// Runs a job that was found; if it is a part, also runs the parts of the same region on the own deque.
    #[inline]
    pub(in crate::engine) fn run_found(&self, job: Job) {
        match self.me.origins.outermost() {
            None => self.run_taken(job),
            Some(region) => self.run_parts(job, region),
        }
    }

    /// Runs parts outside of any job until the worker must look elsewhere, or none is left.
    fn run_parts(&self, first: Job, region: Region) {
        let _end = Defer(|| self.me.origins.end(0));
        self.activity.has_run_parts.set(true);
        let _kept = keep_tickets(Some(region));
        self.run(first);
        let interrupts = || self.shared.idle.snapshot().interrupts();
        while !self.pace.is_due_next() && !interrupts() && self.run_own_part(region, 0) {
            self.end_if_orphan();
            self.pace.count();
        }
    }

    /// Runs the parts of a scope on the own deque, from the position `own` on, as [`run_until`](Self::run_until) would do first. A recursion of
    /// scopes has one frame of this on its stack for each level, so the other ways of a wait are not in it.
    #[inline]
    pub(crate) fn run_own_parts(&self, region: Region, own: u64) {
        // The body may have forked.
        self.end_if_orphan();
        let _inside = self.run_inside_job();
        let origins = self.me.origins.begin(region, own);
        self.note_polling(false);
        while self.run_own_part(region, own) {}
        self.me.origins.end(origins);
    }

    /// Takes the newest part of a region on the own deque, down to the position `own`. The place for a part that is moved is in no frame of a
    /// recursion.
    #[inline(never)]
    fn take_own_part(&self, region: Region, own: u64) -> Option<Job> {
        let own = self.leftovers.lowest_gap.get().map_or(own, |gap| gap.min(own));
        if self.forks.position() <= own {
            return None;
        }
        match self.forks.pop() {
            Some(part) if part.region() == region => Some(part.into_job()),
            Some(part) => self.take_part_below(part, region, own),
            None => None,
        }
    }

    /// Waits for a fork or a scope, and meanwhile runs descendants. On the own deque they begin at the position `own`.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_part(&self, wait: Wait<'_>, own: u64, group: Option<Group>) {
        let steals = self.depth() < DEPTH;
        let _inside = self.run_inside_job();
        let region = wait.region();
        let origins = self.me.origins.begin(region, own);
        let pool = self.shared.key;
        let mut parts = Parts { wait, own: Some(own), pool, group, steals };
        let _kept = keep_tickets(Some(region));
        match group {
            Some(group) => {
                let run = || self.run_until(&mut parts);
                _ = self.wait_for_group(group, Members::new(), run);
            }
            None => self.run_until(&mut parts),
        }
        self.me.origins.end(origins);
    }

    /// Runs the part that [`take_own_part`](Self::take_own_part) takes; `false` if there is none.
    #[inline(always)]
    fn run_own_part(&self, region: Region, own: u64) -> bool {
        let mut part = self.take_own_part(region, own);
        let is_there = part.is_some();
        if is_there {
            self.run_part(&mut part);
        }
        is_there
    }

    /// Like [`take_own_part`](Self::take_own_part), if the newest part, already popped, belongs to an outer scope.
    #[cold]
    #[inline(never)]
    fn take_part_below(&self, newest: Part, region: Region, own: u64) -> Option<Job> {
        let mut others = vec![newest];
        let mut found = None;
        while found.is_none() && self.forks.position() > own {
            let Some(part) = self.forks.pop() else { break };
            if part.region() == region {
                found = Some(part.into_job());
            } else {
                others.push(part);
            }
        }
        self.push_back(others);
        found
    }

    /// Steals a descendant of a region and runs it; `false` if there is none.
    fn run_stolen_part(&self, region: Region) -> bool {
        // No part of the scope is left here.
        return_tickets();
        for (index, peer) in self.shared.queues.peers.iter() {
            if index == self.index || peer.forks.is_empty() {
                continue;
            }
            if let Ok((region, job)) = self.steal_part((index, peer), Some(region)) {
                let origins = self.me.origins.begin(region, self.forks.position());
                self.run_part(&mut Some(job));
                self.me.origins.end(origins);
                return true;
            }
        }
        false
    }

    /// Runs a part inside a job that waits for it. A panic is contained by the part.
    #[inline]
    fn run_part(&self, part: &mut Option<Job>) {
        let is_only_run = !self.shared.idle.snapshot().runs_not_only();
        if is_only_run && entered().is_none() {
            if let Some(outcome) = Job::run_in(part) {
                self.count(outcome);
            }
        } else {
            self.run_part_seen(part);
        }
        // The part may have forked the process: in the child, the wait would continue with the parent's parts.
        self.end_if_orphan();
    }

    /// Runs a part inside a job that has entered another pool, or in a pool that notes more of a job than its run.
    #[cold]
    #[inline(never)]
    fn run_part_seen(&self, part: &mut Option<Job>) {
        let Some(part) = part.take() else { return };
        enter_pool(&self.shared, || self.run(part));
    }
}
