//! The class of the running job, and the jobs of the lanes. `engine/PRIORITIES.md` has the rules.

use core::cell::Cell;

use brigade_sync::{Defer, time};
use brigade_task::Job;

use super::Processor;
use super::pace::TURNS;
use crate::engine::key::Key;
use crate::values::{AGEING, Priority};

/// The classes of the running job and of the job taken last, and the row of high jobs.
#[derive(Default)]
pub(in crate::engine) struct Class {
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

impl Class {
    /// The class of a worker of `pool` that runs nothing.
    pub(in crate::engine) fn new(pool: Key) -> Self {
        Self { open_to: Cell::new(pool), ..Self::default() }
    }

    /// Takes the class of the job taken last.
    #[inline]
    pub(in crate::engine) fn take(&self) -> Priority {
        self.taken.take()
    }

    fn set(&self, class: Priority, pool: Key) {
        self.running.set(class);
        self.open_to.set(if class == Priority::Normal { pool } else { Key::NONE });
    }

    /// Counts a high job about to run in this turn; `false` if it is the turn of lower classes.
    pub(in crate::engine) fn may_take_high(&self, turn: u64) -> bool {
        let high = if self.turn.get() == turn { self.high.get() } else { 0 };
        let may = high < TURNS;
        self.high.set(high + u32::from(may));
        self.yields.set(!may);
        may
    }

    /// Makes this turn the turn of the last high job: none has begun since.
    pub(in crate::engine) fn continue_row(&self, turn: u64) {
        self.turn.set(turn);
    }
}

impl Processor {
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
    pub(in crate::engine) fn with_class<R>(&self, class: Priority, run: impl FnOnce() -> R) -> R {
        let former = self.class();
        let _restore = Defer(|| self.class.set(former, self.core.work.key));
        self.class.set(class, self.core.work.key);
        run()
    }

    /// Notes the class of a job that is about to run, and returns the job.
    pub(super) fn take_as(&self, (class, job): (Priority, Job)) -> Job {
        self.class.taken.set(class);
        job
    }

    /// Takes a high job at the start of a search, unless it is the turn of lower classes.
    pub(in crate::engine) fn take_high_first(&self) -> Option<Job> {
        if self.class.yields.take() { None } else { self.take_high() }
    }

    /// Takes a job from a lane at the end of a search, when no normal job was found.
    pub(in crate::engine) fn take_high_or_low(&self) -> Option<Job> {
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
    pub(in crate::engine) fn take_aged(&self) -> Option<Job> {
        let core = &*self.core;
        if core.work.queues.lanes.len_of(Priority::Low) == 0 {
            return None;
        }
        // A time too early to be represented is before each job.
        let then = time::try_now()?.checked_sub(AGEING)?;
        core.work.queues.lanes.pop_low(Some(then))
    }
}
