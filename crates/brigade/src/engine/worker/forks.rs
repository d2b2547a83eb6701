//! Forks and jobs of scopes, which are *parts* of what other jobs wait for. `engine/FORKS.md` has the protocol.

use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use brigade_queue::StealError;
use brigade_queue::deque::Candidate;
use brigade_sync::hint;
use brigade_task::{Forks, Job, Part, Region, Wait};

use super::Worker;
use crate::engine::core::Caller;
use crate::engine::enter::enter_job;
use crate::engine::events::blocked::BlockedThread;
use crate::engine::origins::DEPTH;
use crate::engine::peers::Peer;

/// How often a wait looks for parts to run before it sleeps: some 20 µs of pauses and yields.
const LOOKS: u32 = 32;

/// How long a wait that can't be counted sleeps before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

impl Forks for Worker {
    #[inline(always)]
    fn push_with(&self, make: impl FnOnce() -> Part) {
        self.forks.push_with(make);
        self.forks.fence();
        // As `announce`, where the other side passes the heavy fence.
        if self.core.idle.snapshot().wants_help_for_forks() {
            self.announce_fork();
        }
    }

    #[inline(always)]
    fn forget_newest_if(&self, is: impl FnOnce(&Part) -> bool) -> bool {
        self.forks.forget_newest_if(is)
    }

    #[inline(always)]
    fn take_back(&self) -> Option<Part> {
        self.forks.pop()
    }

    #[cold]
    fn wait(&self, wait: Wait<'_>) {
        self.wait_for_part(wait, self.forks.position());
    }
}

impl Worker {
    /// Wakes or starts a worker for a fork, except for a lone one while a peer monitors the queues.
    #[cold]
    #[inline(never)]
    fn announce_fork(&self) {
        let seen = self.core.idle.snapshot();
        if self.forks.len() > 1 || !seen.monitored() || seen.is_understaffed() {
            self.core.help(Caller::GoesOn);
        }
    }

    /// Accepts a job of a scope from a job on this worker.
    pub(crate) fn execute_part(&self, part: Part) {
        self.me.counters.accepted.add(1);
        self.push_with(|| part);
    }

    /// The position of the next fork.
    pub(crate) fn fork_position(&self) -> u64 {
        self.forks.position()
    }

    /// Runs a job that was found, and forgets its origin.
    pub(super) fn run_found(&self, job: Job) {
        struct End<'a>(&'a Worker);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.me.origins.end(0);
            }
        }
        let _end = End(self);
        self.run(job);
    }

    /// Takes the newest part of the own deque, to run it outside of any job.
    pub(super) fn take_part(&self) -> Option<Job> {
        let part = self.forks.pop()?;
        self.me.origins.begin(part.region(), self.forks.position());
        Some(part.into_job())
    }

    /// Takes the oldest parts of another worker; only what descends from a region, if there is one. Returns the oldest, and
    /// queues the others.
    pub(super) fn steal_part(&self, peer: &Peer, of: Option<Region>) -> Result<Job, StealError> {
        let limit = |oldest: Candidate<'_, Part>, _: usize| match of {
            None if oldest.item.is_fork() => 1,
            // Jobs of one scope only: the origin says that all of them descend from it, and its waiter must not run others. Nor
            // forks: behind these jobs, the thread that waits for one could not take it back.
            None => {
                let region = oldest.item.region();
                oldest.count_while(|part| part.region() == region)
            }
            Some(region) => {
                let is_part = oldest.item.region() == region;
                usize::from(is_part || peer.origins.descends(region, oldest.position))
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
        Ok(part.into_job())
    }

    /// Whether a look missed forks, as a worker may have pushed them without a fence since it saw this one search. A monitor
    /// would find them.
    #[cold]
    pub(super) fn has_forks_unseen(&self) -> bool {
        let seen = self.core.idle.snapshot();
        if seen.parked() == 0 || seen.monitored() {
            return false;
        }
        self.core.queues.fence_forks();
        self.core.queues.has_work()
    }

    /// Waits for a fork or a scope; meanwhile runs what descends from it. On the own deque, that begins at a position.
    pub(crate) fn wait_for_part(&self, wait: Wait<'_>, own: u64) {
        let waits = self.waits.get();
        self.waits.set(waits + 1);
        let origins = self.me.origins.begin(wait.region(), own);
        let mut looks = 0;
        while !wait.is_over() {
            // The parts that are awaited here are the parent's.
            self.end_if_orphan();
            // Its own parts at any depth, as its stack has the caller's recursion then, and no more.
            let part = match waits < DEPTH {
                true => self.find_part(wait.region(), own),
                false => self.pop_part(wait.region(), own),
            };
            if let Some(job) = part {
                // Parts contain their panics.
                enter_job(&self.core, || self.run(job));
                looks = 0;
            } else if looks < LOOKS {
                hint::snooze(looks);
                looks += 1;
            } else {
                self.sleep_until(wait, own);
            }
        }
        self.me.origins.end(origins);
        self.waits.set(waits);
    }

    /// Finds a part of a region, or what descends from it.
    fn find_part(&self, region: Region, own: u64) -> Option<Job> {
        self.pop_part(region, own).or_else(|| {
            let peers = &self.core.queues.peers;
            let mut others = peers.iter().enumerate().filter(|&(index, _)| index != self.index);
            others.find_map(|(_, peer)| {
                let may_have = !peer.forks.is_empty();
                may_have.then(|| self.steal_part(peer, Some(region)).ok()).flatten()
            })
        })
    }

    /// Takes the newest part of a region from the own deque, down to a position.
    fn pop_part(&self, region: Region, own: u64) -> Option<Job> {
        let mut others = Vec::new();
        let mut found = None;
        while found.is_none() && self.forks.position() > own {
            let Some(part) = self.forks.pop() else { break };
            match part.region() == region {
                true => found = Some(part.into_job()),
                // Of a scope around this one.
                false => others.push(part),
            }
        }
        others.into_iter().rev().for_each(|part| self.push_with(|| part));
        found
    }

    /// Sleeps until the wait is over; the pool may have another thread in the meantime.
    #[cold]
    fn sleep_until(&self, wait: Wait<'_>, own: u64) {
        let thread = BlockedThread::of_this_thread();
        let counted = self.begin_wait(&thread);
        if !wait.register(counted.waker()) || counted.until(|| wait.is_over()) {
            return;
        }
        // All threads that the pool may have wait for its jobs, and this wait can't fail. It goes on uncounted, and runs what it
        // waits for itself, as a worker would.
        while !wait.is_over() {
            match self.find_part(wait.region(), own).or_else(|| self.find_anything()) {
                Some(job) => self.run_inside(job),
                None if self.poll_events() => {}
                None => {
                    let _blocked = self.block();
                    thread.park(Some(LOOK_AGAIN));
                }
            }
        }
    }

    /// Finds a job that a wait may need, when no other worker is left to run any: a future of a scope, or what was added to the
    /// scope elsewhere, which can't be told from other jobs. Not in deep waits, so that these end before their stack does.
    fn find_anything(&self) -> Option<Job> {
        if self.waits.get() > DEPTH {
            return None;
        }
        let part = self.forks.pop().map(Part::into_job);
        part.or_else(|| self.local.pop()).or_else(|| self.core.queues.take_oldest()).or_else(|| {
            let peers = &self.core.queues.peers;
            let mut others = peers.iter().enumerate().filter(|&(index, _)| index != self.index);
            others.find_map(|(_, peer)| peer.forks.steal(&self.forks, |_, _| 1).ok().map(Part::into_job))
        })
    }

    /// Runs a job inside the one that waits.
    fn run_inside(&self, job: Job) {
        let run = || enter_job(&self.core, || self.run(job));
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(run)) {
            self.panicked(payload);
        }
        self.end_if_orphan();
    }
}
