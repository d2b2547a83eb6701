//! The class of the running job, and the jobs of the lanes. `PRIORITIES.md` has the rules.

use core::cell::Cell;

use brigade_sync::{Defer, time};
use brigade_task::{Attachment, Job, attach};

use super::key::Key;
use super::pace::TURNS;
use super::worker::{Class, Worker, with_worker};
use crate::values::{AGEING, Priority};

impl Class {
    /// The class of a worker of `pool` that runs nothing.
    pub(super) fn new(pool: Key) -> Self {
        Self { open_to: Cell::new(pool.if_plain()), ..Self::default() }
    }

    /// Takes the class of the job taken last.
    #[inline]
    pub(super) fn take(&self) -> Priority {
        self.taken.take()
    }

    fn set(&self, class: Priority, pool: Key) {
        self.running.set(class);
        self.open_to.set(if class == Priority::Normal { pool.if_plain() } else { Key::NONE });
    }

    /// Counts a high job about to run in this turn; `false` if it is the turn of lower classes.
    pub(super) fn may_take_high(&self, turn: u64) -> bool {
        let high = if self.turn.get() == turn { self.high.get() } else { 0 };
        let may = high < TURNS;
        self.high.set(high + u32::from(may));
        self.yields.set(!may);
        may
    }

    /// Makes this turn the turn of the last high job: none has begun since.
    pub(super) fn continue_row(&self, turn: u64) {
        self.turn.set(turn);
    }
}

/// Whether the last job was a high job, so that the next may continue the row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    GoesOn,
    Over,
}

/// The class of a job, for parts that run on peers.
struct ClassOfJob {
    pool: Key,
    class: Priority,
}

impl Attachment for ClassOfJob {
    fn enter(&self, call: &mut dyn FnMut()) {
        with_worker(|own| match own {
            Some(own) if own.is_of(self.pool) => own.with_class(self.class, call),
            _ => call(),
        });
    }
}

impl Worker {
    /// Whether this is a worker of the plain pool `key` and runs a normal job without values, so that submissions go to its queue.
    #[inline(always)]
    pub(crate) fn is_open_to(&self, key: Key) -> bool {
        self.class.open_to.get() == key
    }

    /// The class of the running job, if the pool may have jobs of a lower class.
    #[inline]
    pub(crate) fn class_of_waits(&self) -> Option<Priority> {
        match self.class() {
            Priority::Low => None,
            Priority::Normal if !self.shared.queues.lanes.has_had_low() => None,
            class => Some(class),
        }
    }

    /// The class of the running job.
    pub(crate) fn class(&self) -> Priority {
        self.class.running.get()
    }

    /// Calls a closure that runs a job of a class.
    fn with_class(&self, class: Priority, run: impl FnOnce()) {
        let Class { running, open_to, .. } = &self.class;
        let former = (running.get(), open_to.get());
        let _restore = Defer(|| {
            running.set(former.0);
            open_to.set(former.1);
        });
        self.class.set(class, self.shared.key);
        run()
    }

    /// Calls a closure that is part of a job with values: submissions do not go to this worker's queue without a look at the values.
    pub(crate) fn close_during(&self, call: &mut dyn FnMut()) {
        let former = self.class.open_to.replace(Key::NONE);
        let _restore = Defer(|| self.class.open_to.set(former));
        call();
    }

    /// Notes the class of a job that is about to run, and returns the job.
    pub(super) fn take_as(&self, (class, job): (Priority, Job)) -> Job {
        self.class.taken.set(class);
        job
    }

    /// Takes a high job at the start of a search, unless it is the turn of lower classes.
    pub(super) fn take_high_first(&self) -> Option<Job> {
        if self.class.yields.take() { None } else { self.take_high() }
    }

    /// Takes a job from a lane at the end of a search, when no normal job was found.
    pub(super) fn take_high_or_low(&self) -> Option<Job> {
        if let Some(job) = self.take_high() {
            return Some(job);
        }
        let job = self.shared.queues.lanes.pop_low(None)?;
        Some(self.take_as((Priority::Low, job)))
    }

    fn take_high(&self) -> Option<Job> {
        if !self.shared.idle.snapshot().is_prioritized() {
            return None;
        }
        let job = self.shared.queues.lanes.pop_high(&self.shared.idle)?;
        Some(self.take_as((Priority::High, job)))
    }

    /// Takes a low job that has waited for the ageing time.
    pub(super) fn take_aged(&self) -> Option<Job> {
        let shared = &*self.shared;
        if shared.queues.lanes.len_of(Priority::Low) == 0 {
            return None;
        }
        // A time too early to be represented is before each job.
        let then = time::try_now()?.checked_sub(AGEING)?;
        let job = shared.queues.lanes.pop_low(Some(then))?;
        Some(self.take_as((Priority::Low, job)))
    }

    /// Runs a job of a class.
    #[inline(never)]
    fn run_as(&self, class: Priority, job: Job) {
        let run = || self.with_class(class, || self.run(job));
        if class == Priority::Normal {
            run();
        } else {
            attach(&ClassOfJob { pool: self.shared.key, class }, run);
        }
    }

    /// Runs the job taken last, with the job's class, inside the current job.
    pub(super) fn run_taken_inside(&self, job: Job) {
        let (class, outer) = (self.class.take(), self.class());
        let is_normal = class == Priority::Normal && outer == Priority::Normal;
        if is_normal { self.run(job) } else { self.run_as(class, job) }
    }

    /// Runs the job taken last, outside of any job.
    #[inline]
    pub(super) fn run_taken(&self, job: Job) {
        match self.class.take() {
            Priority::Normal => self.run(job),
            class => self.run_as(class, job),
        }
    }

    /// Runs a high job, unless it is the turn of lower classes; `false` if none has run.
    #[cold]
    #[inline(never)]
    pub(super) fn run_high(&self) -> bool {
        let is_due = self.pace.is_due_next();
        let has_run = self.run_high_in_look();
        // After the high job, because a look runs jobs.
        if has_run && is_due {
            self.look_elsewhere(Row::GoesOn);
        }
        has_run
    }

    /// Runs queued high jobs before the next job of a look.
    pub(super) fn run_urgent(&self) {
        while self.shared.idle.snapshot().is_prioritized() && self.run_high_in_look() {}
    }

    fn run_high_in_look(&self) -> bool {
        // The last job may have forked the process and returned in the child.
        self.end_if_orphan();
        if !self.class.may_take_high(self.pace.turn()) {
            return false;
        }
        // Counts like any job, so that timers, events and work elsewhere get their turn. Counted before the job, which
        // may panic.
        self.pace.count();
        self.class.continue_row(self.pace.turn());
        let Some(job) = self.shared.queues.lanes.pop_high(&self.shared.idle) else { return false };
        self.run_as(Priority::High, job);
        true
    }
}
