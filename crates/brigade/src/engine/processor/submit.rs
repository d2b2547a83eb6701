//! Submissions by jobs on a worker, and the entries of completed jobs.

use core::cell::{Cell, RefCell};
use core::iter;

use brigade_task::{Job, Outcome};

use super::Processor;
use crate::engine::idle::{Snapshot, Watch};
use crate::engine::queues::Accepts;
use crate::engine::queues::injectors::{BATCH, SWEEP};
use crate::engine::queues::lane::Looks;
use crate::values::Priority;

/// Completed entries in queues, as far as a worker knows.
#[derive(Default)]
pub(super) struct Leftovers {
    /// The entries left by this worker since the last sweep.
    left: Cell<usize>,
    /// The number of injector sweeps when the worker last compacted the own queue.
    sweeps: Cell<u64>,
    /// When all parts of the own deque are looked at.
    looks: RefCell<Looks>,
}

impl Leftovers {
    /// Counts an entry; returns whether it is time for a sweep.
    fn add(&self) -> bool {
        let left = (self.left.get() + 1) % BATCH;
        self.left.set(left);
        left == 0
    }
}

impl Processor {
    /// Accepts a job from the running job, or returns it if the pool is being discarded. The class is `class`, or the
    /// running job's by default.
    #[inline]
    pub(crate) fn submit_as(&self, class: Option<Priority>, job: Job) -> Result<(), Job> {
        match class.unwrap_or_else(|| self.class()) {
            Priority::Normal => self.submit(job),
            class => self.submit_to_lane(class, job),
        }
    }

    #[cold]
    pub(super) fn submit_to_lane(&self, class: Priority, job: Job) -> Result<(), Job> {
        if self.discards() {
            return Err(job);
        }
        self.core.work.queues.push(class, job, Accepts::Always, &self.core.work.idle)?;
        self.core.ask_for_help(self.core.work.idle.after_publishing());
        Ok(())
    }

    /// Accepts a closure from a job on this worker, or returns it if the pool is being discarded.
    ///
    /// Inlined into the caller with all callees, so that the captures go from registers to the queue's slot. Each
    /// intermediate copy of a job costs more than the rest of this: the copy's wide loads must wait for the narrow
    /// stores that made the closure.
    #[inline(always)]
    pub(crate) fn execute<F: FnOnce() + Send + 'static>(&self, closure: F) -> Result<(), F> {
        if self.discards() {
            return Err(closure);
        }
        self.enqueue(Job::new(closure));
        Ok(())
    }

    /// Accepts a job from a job on this worker, or returns it if the pool is being discarded.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Job> {
        if self.discards() {
            return Err(job);
        }
        self.enqueue(job);
        Ok(())
    }

    /// Queues a job on this worker, or elsewhere if the own queue is full, and wakes a parked peer if necessary.
    #[inline(always)]
    fn enqueue(&self, job: Job) {
        match self.local.push(job) {
            Ok(queued) => {
                self.me.counters.accepted.add(1);
                self.announce(queued);
            }
            Err(job) if self.local.is_shared() => self.push_shared(job),
            Err(job) => self.overflow(job),
        }
    }

    /// Wakes a parked peer for jobs just queued on this worker, except for a lone child while the monitor looks at the
    /// queues. `engine/idle/README.md` has the rule.
    #[inline(always)]
    fn announce(&self, queued: usize) {
        // Checked without the fence: a thread that makes the pool larger passes the heavy one before it looks for jobs.
        if self.core.work.idle.snapshot().is_alone() {
            return;
        }
        let seen = self.core.work.idle.after_publishing();
        if !seen.wants_help()
            || (queued == 1 && !seen.is_below_core() && self.leaves_lone_child(seen))
        {
            return;
        }
        self.help();
    }

    /// Announces jobs moved to this worker's queue, other than as a searcher. They were briefly not visible, so a peer
    /// may have gone to sleep.
    pub(in crate::engine) fn announce_taken(&self) {
        let queued = self.local.len();
        if queued > 0 {
            self.announce(queued);
        }
    }

    /// Leaves a lone child to the monitor, if it looks at the queues. If not, a worker is woken, and the monitor looks
    /// from now on. The monitor wakes parked workers and starts none.
    #[inline(always)]
    fn leaves_lone_child(&self, seen: Snapshot) -> bool {
        if seen.parked() == 0 {
            return false;
        }
        // A job just woken by a poll is this worker's next job, and needs no monitor.
        let leaves = seen.watched() || self.activity.polls.get();
        if !leaves {
            self.core.ask_monitor(Watch::Closely);
        }
        leaves
    }

    /// Accepts a job of a worker without a queue.
    #[inline(always)]
    fn push_shared(&self, job: Job) {
        self.core.work.queues.injectors.mine().push_accepted(job);
        // As in `announce`: the only worker takes the job itself, after the running job.
        if !self.core.work.idle.snapshot().is_alone()
            && self.core.work.idle.after_exchange().wants_help()
        {
            self.help();
        }
    }

    /// Accepts a job when the worker's own queue is full.
    #[cold]
    #[inline(never)]
    fn overflow(&self, job: Job) {
        let (moved, injector) = (&self.me.counters.moved, self.core.work.queues.injectors.mine());
        // Counted before the move, so that no reader sees a job twice. The count is then corrected for jobs taken by
        // thieves.
        let most = self.local.len().div_ceil(2);
        moved.add(most as u64);
        let done = self.local.overflow_to(injector);
        moved.take_back((most - done) as u64);
        let pushed = if done > 0 { self.local.push_again(job) } else { Err(job) };
        match pushed {
            Ok(_) => self.me.counters.accepted.add(1),
            Err(job) => injector.push_accepted(job),
        }
        self.core.ask_for_help(self.core.work.idle.after_publishing());
    }

    /// Accepts several jobs at once, or returns them if the pool is being discarded.
    pub(crate) fn submit_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        if self.discards() {
            return Err(jobs);
        }
        let count = jobs.len();
        let mut rest = jobs.into_iter();
        if self.class() != Priority::Normal {
            let (lanes, idle) = (&self.core.work.queues.lanes, &self.core.work.idle);
            lanes.push_all(self.class(), &mut rest, Accepts::Always, idle);
            self.has_woken(self.core.help_with(count, idle.after_publishing()));
            return Ok(());
        }
        let mut kept = 0;
        while let Some(job) = rest.next() {
            if let Err(job) = self.local.push(job) {
                let rest = iter::once(job).chain(rest).collect();
                self.core.work.queues.injectors.mine().push_batch_accepted(rest);
                break;
            }
            kept += 1;
        }
        self.me.counters.accepted.add(kept);
        self.has_woken(self.core.help_with(count, self.core.work.idle.after_publishing()));
        Ok(())
    }

    /// Queues the job of a due timer.
    pub(in crate::engine) fn queue_due(&self, class: Priority, job: Job) {
        // A worker that is about to end accepts nothing: the pool has terminated since it slept.
        let queued = match self.core.work.idle.snapshot().terminated() {
            true => Err(job),
            false => self.submit_as(Some(class), job),
        };
        queued.unwrap_or_else(|job| self.core.work.ledger.drop_job(job));
    }

    /// Counts a job run or dropped by its handle on this worker.
    pub(crate) fn count_in_place(&self, outcome: Outcome) {
        self.count(outcome);
        self.leaves_entry();
    }

    /// Handles the entry of a queued job that has ended on this worker; most often the newest entry of the own queue.
    pub(crate) fn leaves_entry(&self) {
        if let Some(job) = self.local.pop_newest() {
            match self.drop_if_stale(job) {
                Some(job) => self.queue_again(&mut iter::once(job)),
                None => return,
            }
        }
        self.leaves_old_entry();
    }

    /// Counts a job of a scope run or dropped by its handle on this worker.
    pub(crate) fn count_part(&self, outcome: Outcome) {
        self.count(outcome);
        self.leaves_old_entry();
    }

    /// Leaves the entry of a job that has ended on this worker to the next sweep.
    fn leaves_old_entry(&self) {
        if self.leftovers.add() {
            self.core.work.sweep();
            self.compact();
        }
    }

    /// Drops the completed entries of the own queues, if the injectors have been swept since this was last done.
    #[inline]
    pub(in crate::engine) fn compact_after_sweep(&self) {
        if self.leftovers.sweeps.get() != self.core.work.queues.sweeps() {
            self.compact();
        }
    }

    /// Drops the completed entries of the own queues.
    #[cold]
    fn compact(&self) {
        if self.leftovers.looks.borrow_mut().are_due(SWEEP, self.forks.len()) {
            self.compact_parts();
        }
        self.leftovers.sweeps.set(self.core.work.queues.sweeps());
        let mut jobs = Vec::new();
        while let Some(job) = self.local.pop() {
            jobs.extend(self.drop_if_stale(job));
        }
        if self.local.is_lifo() {
            jobs.reverse();
        }
        self.queue_again(&mut jobs.into_iter());
    }

    /// Drops a completed job, and counts it if it was cancelled; otherwise returns the job.
    fn drop_if_stale(&self, job: Job) -> Option<Job> {
        let count = |outcome| {
            if outcome != Outcome::Stale {
                self.count(outcome);
            }
        };
        job.drop_if_stale().map(count).err()
    }

    /// Queues jobs on this worker again, in their order. They were briefly not visible, so a peer may have gone to
    /// sleep.
    fn queue_again(&self, jobs: &mut dyn Iterator<Item = Job>) {
        let mut queued = 0;
        for job in jobs {
            match self.local.push_again(job) {
                Ok(now) => queued = now,
                // Active thieves hold the free slots.
                Err(job) => {
                    self.me.counters.moved.add(1);
                    self.core.work.queues.injectors.mine().push_accepted(job);
                    queued += 2;
                }
            }
        }
        if queued > 0 {
            self.announce(queued);
        }
    }
}
