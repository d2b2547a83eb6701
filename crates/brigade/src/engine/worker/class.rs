//! Runs jobs with their classes, and high jobs when they are due. `engine/PRIORITIES.md` has the rules.

use brigade_task::{Attachment, Job, attach};

use super::{Worker, with_processor};
use crate::engine::key::Key;
use crate::values::Priority;

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
        with_processor(|own| match own.filter(|own| own.is_of(self.pool)) {
            Some(own) => own.with_class(self.class, call),
            None => call(),
        });
    }
}

impl Worker {
    /// Calls a closure that runs a job of a class.
    #[inline(never)]
    pub(super) fn run_as<R>(&self, class: Priority, run: impl FnOnce() -> R) -> R {
        let run = || self.processor.with_class(class, run);
        match class {
            Priority::Normal => run(),
            _ => attach(&ClassOfJob { pool: self.processor.core.work.key, class }, run),
        }
    }

    /// Calls a closure that runs the job taken last, with that job's class, inside the current job.
    pub(super) fn run_taken_inside<R>(&self, run: impl FnOnce() -> R) -> R {
        let (class, outer) = (self.processor.class.take(), self.processor.class());
        let is_normal = class == Priority::Normal && outer == Priority::Normal;
        if is_normal { run() } else { self.run_as(class, run) }
    }

    /// Runs the job taken last, outside of any job.
    #[inline]
    pub(super) fn run_taken(&self, job: Job) {
        match self.processor.class.take() {
            Priority::Normal => self.run(job),
            class => self.run_as(class, || self.run(job)),
        }
    }

    /// Runs a high job, unless it is the turn of lower classes; `false` if none has run.
    #[cold]
    #[inline(never)]
    pub(super) fn run_high(&self) -> bool {
        let is_due = self.processor.pace.is_due_next();
        let has_run = self.run_high_in_look();
        // After the high job, because a look runs jobs.
        if has_run && is_due {
            self.look_elsewhere(Row::GoesOn);
        }
        has_run
    }

    /// Runs queued high jobs before the next job of a look.
    pub(super) fn run_urgent(&self) {
        while self.processor.core.work.idle.snapshot().is_prioritized() && self.run_high_in_look() {
        }
    }

    fn run_high_in_look(&self) -> bool {
        // The last job may have forked the process and returned in the child.
        self.processor.end_if_orphan();
        if !self.processor.class.may_take_high(self.processor.pace.turn()) {
            return false;
        }
        // Counts like any job, so that timers, events and work elsewhere get their turn. Counted before the job, which
        // may panic.
        let processor = &self.processor;
        processor.pace.count();
        processor.class.continue_row(processor.pace.turn());
        let job = processor.core.work.queues.lanes.pop_high(&processor.core.work.idle);
        job.map(|job| self.run_as(Priority::High, || self.run(job))).is_some()
    }
}
