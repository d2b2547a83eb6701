//! The class of the running job, and when a worker takes high jobs. `engine/PRIORITIES.md` has the rules.

use core::cell::Cell;

use brigade_sync::{Defer, time};
use brigade_task::{Attachment, Job, attach};

use super::pace::TURNS;
use super::{CURRENT, Worker};
use crate::engine::key::Key;
use crate::engine::queues::Accepts;
use crate::values::{AGEING, Priority};

/// The classes of the running job and of the job taken last, and the row of high jobs.
pub(super) struct Class {
    /// The class of the running job.
    running: Cell<Priority>,
    /// The class of the job taken last, until it runs.
    taken: Cell<Priority>,
    /// The worker's pool while it runs a normal job, otherwise no pool: submissions compare it with their pool.
    open_to: Cell<Key>,
    /// High jobs run in a row.
    high: Cell<u32>,
    /// The turn after the last high job: the next high job continues the row if it begins in this turn.
    turn: Cell<u64>,
    /// Whether the row is so long that the next search begins with lower classes.
    yields: Cell<bool>,
}

/// Whether the last job was a high job, so that the next may continue the row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    GoesOn,
    Over,
}

impl Class {
    /// The class of a worker of `pool` that runs nothing.
    pub(super) fn new(pool: Key) -> Self {
        Self {
            running: Cell::default(),
            taken: Cell::default(),
            open_to: Cell::new(pool),
            high: Cell::new(0),
            turn: Cell::new(0),
            yields: Cell::new(false),
        }
    }

    /// Notes the class of the job taken last.
    fn has_taken(&self, class: Priority) {
        self.taken.set(class);
    }

    /// Takes the class of the job taken last.
    #[inline]
    fn take(&self) -> Priority {
        self.taken.take()
    }

    fn set(&self, class: Priority, pool: Key) {
        self.running.set(class);
        self.open_to.set(if class == Priority::Normal { pool } else { Key::NONE });
    }

    /// Counts a high job about to run in this turn; `false` if it is the turn of lower classes.
    fn may_take_high(&self, turn: u64) -> bool {
        let high = if self.turn.get() == turn { self.high.get() } else { 0 };
        let may = high < TURNS;
        self.high.set(high + u32::from(may));
        self.yields.set(!may);
        may
    }
}

/// The class of a job, for parts that run on peers.
struct ClassOfJob {
    pool: Key,
    class: Priority,
}

impl Attachment for ClassOfJob {
    fn enter(&self, call: &mut dyn FnMut()) {
        CURRENT.with(|worker| match worker.filter(|worker| worker.is_of(self.pool)) {
            Some(worker) => worker.with_class(self.class, call),
            None => call(),
        });
    }
}

impl Worker {
    /// Whether this is a worker of the pool `key` and runs a normal job, so that submissions go to its queue.
    #[inline(always)]
    pub(crate) fn is_open_to(&self, key: Key) -> bool {
        self.class.open_to.get() == key
    }

    /// The class of the running job.
    pub(crate) fn class(&self) -> Priority {
        self.class.running.get()
    }

    /// Calls a closure that runs a job of a class.
    #[inline(never)]
    pub(super) fn run_as<R>(&self, class: Priority, run: impl FnOnce() -> R) -> R {
        let run = || self.with_class(class, run);
        match class {
            Priority::Normal => run(),
            _ => attach(&ClassOfJob { pool: self.core.work.key, class }, run),
        }
    }

    fn with_class<R>(&self, class: Priority, run: impl FnOnce() -> R) -> R {
        let former = self.class();
        let _restore = Defer(|| self.class.set(former, self.core.work.key));
        self.class.set(class, self.core.work.key);
        run()
    }

    /// Calls a closure that runs the job taken last, with that job's class, inside the current job.
    pub(super) fn run_taken_inside<R>(&self, run: impl FnOnce() -> R) -> R {
        let (class, outer) = (self.class.take(), self.class());
        let is_normal = class == Priority::Normal && outer == Priority::Normal;
        if is_normal { run() } else { self.run_as(class, run) }
    }

    /// Runs the job taken last, outside of any job.
    #[inline]
    pub(super) fn run_taken(&self, job: Job) {
        match self.class.take() {
            Priority::Normal => self.run(job),
            class => self.run_as(class, || self.run(job)),
        }
    }

    /// Notes the class of a job that is about to run, and returns the job.
    pub(super) fn take_as(&self, (class, job): (Priority, Job)) -> Job {
        self.class.has_taken(class);
        job
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

    /// Makes the current turn the turn of the last high job: none has begun since.
    pub(super) fn continue_row(&self) {
        self.class.turn.set(self.pace.turn());
    }

    /// Runs queued high jobs before the next job of a look.
    pub(super) fn run_urgent(&self) {
        while self.core.work.idle.snapshot().is_prioritized() && self.run_high_in_look() {}
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
        self.continue_row();
        let job = self.core.work.queues.lanes.pop_high(&self.core.work.idle);
        job.map(|job| self.run_as(Priority::High, || self.run(job))).is_some()
    }

    /// Takes a high job at the start of a search, unless it is the turn of lower classes.
    pub(super) fn take_high_first(&self) -> Option<Job> {
        if self.class.yields.take() { None } else { self.take_high() }
    }

    /// Takes a job from a lane at the end of a search, when no normal job was found.
    pub(super) fn take_high_or_low(&self) -> Option<Job> {
        self.take_high().or_else(|| {
            let job = self.core.work.queues.lanes.pop_low(None)?;
            Some(self.take_as((Priority::Low, job)))
        })
    }

    fn take_high(&self) -> Option<Job> {
        if !self.core.work.idle.snapshot().is_prioritized() {
            return None;
        }
        let job = self.core.work.queues.lanes.pop_high(&self.core.work.idle)?;
        Some(self.take_as((Priority::High, job)))
    }

    /// Takes a low job that has waited for the ageing time.
    pub(super) fn take_aged(&self) -> Option<Job> {
        let core = &*self.core;
        if core.work.queues.lanes.len_of(Priority::Low) == 0 {
            return None;
        }
        // A time too early to be represented is before each job.
        let then = time::now().checked_sub(AGEING)?;
        core.work.queues.lanes.pop_low(Some(then))
    }

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
}
