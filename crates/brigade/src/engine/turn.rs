//! The turn of a worker: which job it runs next, and how it runs one, by itself or inside a waiting job.

use core::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

use brigade_task::{Job, Outcome, return_tickets};

use super::class::Row;
use super::enter::enter_job;
use super::pace::Look;
use super::probe::discard;
use super::queues::injectors::Share;
use super::worker::Worker;

impl Worker {
    /// Runs jobs until the worker leaves, or a job panics. `is_new` is true until the worker first looks for work.
    pub(super) fn turns(&self, is_new: &Cell<bool>) {
        if is_new.take() {
            // The start hook may have forked.
            self.end_if_orphan();
            match self.find_first() {
                Some(job) => self.run_found(job),
                None => return,
            }
        }
        loop {
            // Checked before a job is taken: every job taken is run, so no look at the queues misses a job.
            let seen = self.shared.idle.snapshot();
            if seen.interrupts() {
                if seen.has_surplus() && self.leaves() {
                    return;
                }
                if seen.is_prioritized() && self.run_high() {
                    continue;
                }
            }
            if self.pace.is_due() {
                self.leftovers.lowest_gap.set(None);
                self.look_elsewhere(Row::Over);
                // A row of high jobs in the look is over once the turn's own job has run.
                self.pace.end_turn();
            }
            if let Some(job) = self.local.pop() {
                self.run(job);
            } else if let Some(job) = self.pop_shared() {
                self.run(job);
            } else if let Some(job) = self.find() {
                self.run_found(job);
            } else {
                return;
            }
        }
    }

    /// Runs work from elsewhere, so that jobs from outside, the oldest job of the own queue, timers and I/O do not wait
    /// forever. Called at the worker's pace.
    #[cold]
    #[inline(never)]
    pub(super) fn look_elsewhere(&self, row: Row) {
        let Worker { shared, local, pace, .. } = self;
        self.end_if_orphan();
        self.move_woken();
        let look = pace.look();
        if row == Row::GoesOn {
            self.class.continue_row(pace.turn());
        }
        if look == Look::Early {
            return;
        }
        if self.poll_events() {
            // The jobs run first in this look may take long.
            self.notify_of_taken();
        }
        self.compact_after_sweep();
        if let Some(job) = self.take_aged() {
            self.run_in_look(job);
        }
        if row == Row::GoesOn {
            self.run_urgent();
        }
        if let Some(job) = self.take_mail() {
            self.run_in_look(job);
        }
        let stalled = if look == Look::InTime { self.steal_stalled() } else { None };
        if let Some(job) = stalled {
            self.run_in_look(job);
        }
        let (share, mut taken) = (pace.share(), 0);
        if local.is_lifo() {
            // The newest job is run first, so a job queued here would wait for all later submissions by this worker.
            while taken < share {
                let Some(job) = shared.queues.injectors.pop(&self.route.cursor) else { break };
                taken += 1;
                self.run_in_look(job);
            }
            if let Ok(job) = self.me.remote.steal() {
                self.run_in_look(job);
            }
        } else {
            let before = local.len();
            if let Some(job) = self.refill(Share { parts: 1, most: share }) {
                taken = 1 + local.len().saturating_sub(before);
                self.run_in_look(job);
            }
        }
        pace.has_taken(taken);
    }

    #[inline(never)]
    fn run_in_look(&self, job: Job) {
        self.run_taken(job);
        self.end_if_orphan();
        self.pace.end_turn();
        // More jobs of the look, or the turn's own job, come next.
        self.run_urgent();
    }

    /// Leaves if the pool still has a surplus worker after it was made smaller. Jobs on the own queue stay there, to be
    /// stolen.
    #[cold]
    #[inline(never)]
    fn leaves(&self) -> bool {
        let Worker { shared, me, index, .. } = self;
        self.end_if_orphan();
        // Local futures can't run on peers.
        if me.mailbox.has_locals() {
            return false;
        }
        let (idle, has_mail) = (&shared.idle, || !me.mailbox.is_empty());
        let leaves = idle.change(|roster| roster.leave_if_surplus(*index, has_mail));
        if leaves {
            if shared.queues.has_work() {
                shared.wake_one();
            }
            // Done here rather than after the stop hook.
            shared.look_for_quiet();
        }
        leaves
    }

    #[inline(always)]
    pub(super) fn run(&self, job: Job) {
        let is_only_run = !self.shared.idle.snapshot().runs_not_only();
        self.count(if is_only_run { job.run() } else { self.run_or_discard(job) });
    }

    /// Drops a job if the pool is being discarded, unless the job is of a scope; otherwise records and runs it.
    #[cold]
    #[inline(never)]
    fn run_or_discard(&self, job: Job) -> Outcome {
        if self.discards() && !job.is_of_scope() {
            return self.discard(job);
        }
        if self.shared.idle.snapshot().notes_polls() {
            self.note_polling(job.is_future());
        }
        let traced = self.begin_job(false);
        let outcome = job.run();
        if outcome == Outcome::Stale {
            discard(traced);
        }
        outcome
    }

    /// Runs a job from this worker's own queues inside the current job; `false` if there is none.
    #[cfg(feature = "unstable-foreign")]
    pub(crate) fn run_own(&self) -> bool {
        let _inside = self.run_inside_job();
        let origins = self.me.origins.depth();
        let Some(job) = self.find_own() else { return false };
        self.run_inside(job, origins);
        true
    }

    /// Takes the newest part, the next job, or mail.
    fn find_own(&self) -> Option<Job> {
        let own = self.take_part().or_else(|| self.local.pop());
        own.or_else(|| self.take_mail())
    }

    /// Runs a job of the pool inside the current job; `false` if there is none.
    pub(crate) fn run_one(&self) -> bool {
        let _inside = self.run_inside_job();
        self.step()
    }

    /// Runs the next job of the pool, after jobs that are due before it; `false` if there is none.
    pub(super) fn step(&self) -> bool {
        // Also if it panics.
        let mut has_run = true;
        self.contain(self.me.origins.depth(), &mut || has_run = self.step_uncontained());
        has_run
    }

    fn step_uncontained(&self) -> bool {
        if self.shared.idle.snapshot().is_prioritized() && self.run_high() {
            return true;
        }
        let mut has_run = false;
        if self.pace.is_due() {
            let looks = self.pace.looks();
            self.look_elsewhere(Row::Over);
            has_run = self.pace.looks().wrapping_sub(looks) > 1;
            // As in `turns`.
            self.pace.end_turn();
        }
        // A look takes no turn from the own queue: there may be something for each look.
        if let Some(job) = self.find_own().or_else(|| self.find_now()) {
            self.run_taken_inside(job);
            has_run = true;
        }
        has_run
    }

    /// Runs a job inside the current job, and forgets the origins it began.
    pub(super) fn run_inside(&self, job: Job, origins: usize) {
        let mut job = Some(job);
        self.contain(origins, &mut || {
            if let Some(job) = job.take() {
                self.run_taken_inside(job);
            }
        });
    }

    /// Calls a closure that runs jobs inside the current job, and forgets their origins.
    fn contain(&self, origins: usize, run: &mut dyn FnMut()) {
        let run = || enter_job(&self.shared, run);
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(run)) {
            self.panicked(payload);
        }
        // A wait that always finds other jobs to run would not look whether its scope has ended.
        return_tickets();
        self.me.origins.end(origins);
        // The job that waits may go on.
        self.note_polling(false);
        self.end_if_orphan();
    }
}
