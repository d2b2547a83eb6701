//! Forks and jobs of scopes, which are *parts* of what other jobs wait for. `engine/FORKS.md` has the protocol.

use std::task::Waker;
use std::time::Duration;

use brigade_queue::StealError;
use brigade_queue::deque::{self, Candidate};
use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::hint;
use brigade_task::{Forks, Job, Part, Region, Wait, keep_tickets, return_tickets};

use super::brief::Waiting;
use super::{CURRENT, Worker, blocking, runs_in_place};
use crate::engine::core::Caller;
use crate::engine::enter::enter_pool;
use crate::engine::events::blocked::BlockedThread;
use crate::engine::origins::DEPTH;
use crate::engine::peers::Peer;
use crate::engine::yields;

/// How often a wait looks for parts to run before it sleeps: some 20 µs of pauses and yields.
const LOOKS: u32 = 32;

/// How long a wait that can't be counted sleeps before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

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
        self.wait_for_part(wait, self.forks.position());
    }

    #[cold]
    fn count_panic(&self) {
        self.me.counters.panics.add(1);
    }
}

/// Waits for a fork or a scope on a thread that does not fork as one of its pool. A worker of another pool whose waits run
/// anything runs that pool's jobs meanwhile.
pub(crate) fn wait_outside(wait: Wait<'_>) {
    CURRENT.with(|worker| match worker {
        Some(worker) if worker.runs_anything() => {
            worker.wait_for_part(wait, worker.fork_position());
        }
        _ => sleep_until(wait),
    });
}

/// Sleeps until a wait is over, unless that is soon.
fn sleep_until(wait: Wait<'_>) {
    let waiting = Waiting::begin_outside();
    if !waiting.watch(|| wait.is_over()) {
        let thread = BlockedThread::of_this_thread();
        if wait.register(Waker::from(thread.clone())) {
            blocking(|| {
                while !wait.is_over() {
                    thread.park(None);
                }
            });
        }
    }
    waiting.end_outside();
}

/// A guest that helps, until it is dropped.
struct Helps<'a>(&'a Worker);

impl Drop for Helps<'_> {
    fn drop(&mut self) {
        let Self(worker) = self;
        let helps = worker.helps.get() - 1;
        worker.helps.set(helps);
        if helps == 0 {
            worker.core.idle.guests.end_help();
        }
    }
}

impl Worker {
    /// Wakes or starts a worker for a fork, except for a lone one while a peer monitors the queues, if a wake-up would be in vain.
    #[cold]
    #[inline(never)]
    fn announce_fork(&self) {
        let mut seen = self.core.idle.snapshot();
        if seen.lacks_heavy_fence() {
            // No thief could take it otherwise. Then with an ordinary fence, as each look has one.
            let mut round = 0;
            while !self.forks.publish() {
                hint::snooze(round);
                round += 1;
            }
            seen = self.core.idle.after_publishing();
            if !seen.wants_help_for_forks() {
                return;
            }
        }
        let is_lone = self.forks.len() <= 1;
        // Of a lone fork, the position before the next is the number of those that were stolen.
        let is_in_vain = is_lone && !self.lone_forks.are_stolen(self.forks.position());
        if !is_in_vain || !seen.monitored() || seen.is_understaffed() {
            self.forks.publish();
            self.core.help(Caller::GoesOn);
        }
    }

    /// Lets other workers take what has been forked without the fence that costs them several microseconds.
    pub(crate) fn publish_forks(&self) {
        self.forks.publish();
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
        self.gaps.run_parts();
        keep_tickets(|| {
            self.run(first);
            let interrupts = || self.core.idle.snapshot().interrupts();
            while !self.pace.is_due_next() && !interrupts() && self.run_own_part(region, 0) {
                self.end_if_orphan();
                self.pace.is_due();
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
    /// now. A monitor would find them: it passes the fence when it gives up.
    #[cold]
    pub(super) fn has_forks_unseen(&self) -> bool {
        let seen = self.core.idle.snapshot();
        if !seen.has_reserves_for_forks() || seen.monitored() {
            return false;
        }
        self.fence_forks_beside(1);
        self.core.queues.has_work()
    }

    /// Ensures that the next look sees all forks of workers that do not see yet what this one has announced. It does not run.
    pub(super) fn fence_forks(&self) {
        self.fence_forks_beside(0);
    }

    /// The same where this many of those that run are this worker.
    fn fence_forks_beside(&self, own: usize) {
        // A worker that begins to run from now on changes the state first, and sees the announcement; a guest is counted first.
        if self.core.idle.snapshot().running() > own || self.core.idle.guests.are_awake() {
            self.core.queues.fence_forks();
        } else {
            // Ordering: of a worker that has ceased to run, as the state says, this one sees what it pushed before.
            fence(Ordering::Acquire);
        }
    }

    /// Waits for a fork or a scope; meanwhile runs what descends from it. On the own deque, that begins at a position.
    pub(crate) fn wait_for_part(&self, wait: Wait<'_>, own: u64) {
        // The parts that are awaited in a forked child are the parent's.
        self.end_if_orphan();
        let (region, waits) = (wait.region(), self.waits.get());
        self.waits.set(waits + 1);
        let origins = self.me.origins.begin(region, own);
        keep_tickets(|| self.help_until_over(wait, own, waits < DEPTH));
        self.me.origins.end(origins);
        self.waits.set(waits);
    }

    fn help_until_over(&self, wait: Wait<'_>, own: u64, helps: bool) {
        let (region, runs) = (wait.region(), runs_in_place());
        let mut looks = if runs { 0 } else { LOOKS };
        while !wait.is_over() {
            // Its own parts at any depth: its stack has the caller's recursion then, and no more.
            let runs_next = || {
                self.run_own_part(region, own)
                    || (helps && self.run_stolen_part(region))
                    || (self.runs_anything() && self.run_one())
            };
            if runs && runs_next() {
                looks = 0;
            } else if looks < LOOKS {
                yields::snooze(looks);
                looks += 1;
            } else if runs && self.runs_anything() {
                self.doze(wait);
            } else {
                return_tickets();
                self.sleep_until(wait, own);
            }
        }
    }

    /// Runs the newest part of a region on the own deque, down to a position; `false` if there is none.
    #[inline]
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
        let _helps = self.begin_help();
        let stolen = others.find_map(|(index, peer)| {
            self.steal_part(peer, Some(region)).ok().inspect(|_| self.trace_stolen_fork(index))
        });
        let Some((region, job)) = stolen else { return false };
        let origins = self.me.origins.begin(region, self.forks.position());
        self.run_part(job);
        self.me.origins.end(origins);
        true
    }

    /// Runs a part inside a job that waits for it. It contains its panics.
    #[inline]
    fn run_part(&self, job: Job) {
        let entered = self.is_guest.then_some(self.core.key);
        enter_pool(entered, &self.core, || self.run(job));
        // The part may have forked. The wait goes on, for parts of the parent's.
        self.end_if_orphan();
    }

    /// Sleeps until the wait is over, on a thread that is not the pool's.
    fn sleep_as_guest(&self, wait: Wait<'_>) {
        let guests = &self.core.idle.guests;
        let helps = self.helps.get() > 0;
        if helps {
            guests.end_help();
        }
        guests.sleep();
        sleep_until(wait);
        guests.wake();
        if helps {
            guests.begin_help();
        }
    }

    /// Counts a guest as helping until the returned value is dropped: while it steals a part, and runs it.
    fn begin_help(&self) -> Option<Helps<'_>> {
        self.is_guest.then(|| {
            let helps = self.helps.get();
            self.helps.set(helps + 1);
            if helps == 0 {
                self.core.idle.guests.begin_help();
            }
            Helps(self)
        })
    }

    /// Sleeps until the wait is over; the pool may have another thread in the meantime.
    #[cold]
    fn sleep_until(&self, wait: Wait<'_>, own: u64) {
        if self.is_guest {
            return self.sleep_as_guest(wait);
        }
        let thread = BlockedThread::of_this_thread();
        let counted = self.begin_wait(&thread);
        if !wait.register(counted.waker()) || counted.until(|| wait.is_over()) {
            return;
        }
        // All threads that the pool may have wait for its jobs, and this wait can't fail. It goes on uncounted, and runs what it
        // waits for itself, as a worker would.
        while !wait.is_over() {
            if self.run_own_part(wait.region(), own) || self.run_stolen_part(wait.region()) {
                continue;
            }
            match self.find_anything(wait) {
                Some(job) => self.run_inside(job, self.me.origins.depth()),
                None if self.poll_events() => {}
                None => {
                    let _blocked = self.block();
                    thread.park(Some(LOOK_AGAIN));
                }
            }
        }
    }

    /// Finds a job that a wait may need, when no other worker is left to run any: parts first, then whatever is queued. A future of
    /// the scope may wait for any job; see `engine/FORKS.md`. Not in deep waits, so that these end before their stack does.
    fn find_anything(&self, wait: Wait<'_>) -> Option<Job> {
        // A guest that runs a part may end what this waits for, or has done so.
        if self.waits.get() > DEPTH || self.core.idle.guests.are_helping() || wait.is_over() {
            return None;
        }
        let theirs = || {
            let peers = &self.core.queues.peers;
            let mut others = peers.iter().filter(|&(index, _)| index != self.index);
            others.find_map(|(_, peer)| peer.steal_fork(&self.forks).ok())
        };
        let part = self.forks.pop().or_else(theirs).map(Part::into_job);
        let oldest = || self.core.take_oldest().map(|taken| self.take_as(taken));
        part.or_else(|| self.local.pop()).or_else(oldest)
    }
}
