//! A processor, the lower half of a worker: the worker's own queues, and the state that its jobs use. It must not know
//! how the thread finds the next job, sleeps or waits.
//!
//! This file has the counters. Further methods of [`Processor`] accept jobs (`submit`), wake peers
//! (`placement`), push and steal parts (`forks`), queue futures and take mail (`tasks`), list woken futures
//! of sets and scopes (`groups`), and take jobs from lanes (`class`). `pace` counts the turns.

mod class;
mod forks;
mod groups;
pub(in crate::engine) mod pace;
mod placement;
mod submit;
mod tasks;

use core::any::Any;
use core::cell::Cell;
use std::sync::Arc;

use brigade_observe::Record;
use brigade_queue::deque;
use brigade_sync::Defer;
use brigade_task::{Cause, Job, Outcome, Part};

use super::core::Core;
use super::ends::off_pool::cancel_and_tell;
use super::idle::{Snapshot, Watch};
use super::key::Key;
use super::queues::local::Local;
use super::queues::peers::Peer;
use crate::values::INJECTOR_INTERVAL;
use class::Class;
use groups::Groups;
pub(crate) use groups::{Group, LateGroup, Members};
use pace::Pace;
use placement::Activity;
use submit::Leftovers;

/// The queues of a worker, and the state that its jobs change. Only the worker's thread uses them.
pub(crate) struct Processor {
    pub(crate) core: Arc<Core>,
    /// The state shared with other threads.
    pub(super) me: Arc<Peer>,
    /// The worker's index in the pool.
    pub(crate) index: usize,
    pub(super) local: Local,
    /// Forks, and jobs of scopes, pushed by this worker's jobs.
    pub(super) forks: deque::Worker<Part>,
    /// A position on this deque below which all parts have stayed during the running job.
    pub(super) lowest_gap: Cell<u64>,
    /// The class of the running job.
    pub(super) class: Class,
    /// The depth of nested waits that run jobs inside the current job.
    waits: Cell<usize>,
    pub(super) activity: Activity,
    groups: Groups,
    /// When the worker looks elsewhere although jobs are on its own queue.
    pub(super) pace: Pace,
    /// Completed entries in queues.
    leftovers: Leftovers,
}

impl Processor {
    /// Takes the owner's ends of the queues with this index. The queues must be open.
    pub(super) fn new(core: Arc<Core>, index: usize) -> Self {
        let me = core.work.queues.peers.at(index).clone();
        let Some((local, forks)) = me.own.lock().take() else {
            unreachable!("a place has one worker")
        };
        Self {
            pace: Pace::new(core.config.fairness.unwrap_or(INJECTOR_INTERVAL)),
            leftovers: Leftovers::default(),
            class: Class::new(core.work.key),
            me,
            core,
            index,
            local,
            forks,
            lowest_gap: Cell::new(u64::MAX),
            waits: Cell::default(),
            activity: Activity::default(),
            groups: Groups::default(),
        }
    }

    /// Counts jobs as inside the current job until the returned value is dropped.
    pub(crate) fn run_inside_job(&self) -> Defer<impl FnMut()> {
        self.waits.set(self.depth() + 1);
        Defer(|| self.waits.set(self.depth() - 1))
    }

    /// The number of waits on this worker's stack that run jobs.
    pub(super) fn depth(&self) -> usize {
        self.waits.get()
    }

    /// Whether this is a worker of the pool `key`.
    #[inline]
    pub(crate) fn is_of(&self, key: Key) -> bool {
        self.core.work.key == key
    }

    /// The record of the running job.
    pub(crate) fn record(&self) -> &Record {
        &self.me.record
    }

    /// Counts a panic of a hook, caught on this worker.
    pub(crate) fn count_panic(&self) {
        self.me.counters.panics.add(1);
    }

    /// Whether the pool is being discarded.
    pub(crate) fn discards(&self) -> bool {
        self.core.work.idle.snapshot().discards()
    }

    /// Aborts a forked child whose only thread would continue as a worker: the queued jobs belong to the parent.
    pub(super) fn end_if_orphan(&self) {
        self.core.work.key.end_if_orphan();
    }

    /// Counts a job that ended on this worker.
    #[inline]
    pub(crate) fn count(&self, outcome: Outcome) {
        match outcome {
            Outcome::Returned => self.me.counters.returned.add(1),
            other => self.me.counters.count_other(other),
        }
    }

    /// Drops a job; a panic of its captures is contained here.
    #[cold]
    pub(super) fn discard(&self, job: Job) -> Outcome {
        cancel_and_tell(job, Cause::Ended, || self.count_panic())
    }

    /// Applies the pool's policy to a panic without a handle.
    #[cold]
    pub(super) fn panicked(&self, payload: Box<dyn Any + Send>) {
        self.count(Outcome::Panicked);
        if self.core.work.tell_panic(payload).is_err() {
            self.count_panic();
        }
    }

    /// Leaves forks, or jobs of the own queue, to the monitor; `false` if there can be no monitor, or it has no worker
    /// to wake.
    pub(super) fn leaves_to_monitor(&self, seen: Snapshot) -> bool {
        seen.watched() || (seen.parked() > 0 && self.core.ask_monitor(Watch::Closely))
    }

    /// Counts a future that ended on this worker, and reports a panic without a handle.
    pub(crate) fn count_released(&self, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        match unclaimed {
            Some(payload) => self.panicked(payload),
            None => self.count(outcome),
        }
    }

    /// Takes the pool's oldest job, if the workers have no queues of their own, and no fork or mail here comes first.
    #[inline(always)]
    pub(super) fn pop_shared(&self) -> Option<Job> {
        let comes_first =
            !self.local.is_shared() || !self.forks.is_empty() || !self.me.mailbox.is_empty();
        if comes_first { None } else { self.core.work.queues.injectors.pop_shared() }
    }

    /// Whether jobs are queued on this worker's own queues.
    #[cfg(feature = "unstable-foreign")]
    pub(crate) fn has_queued(&self) -> bool {
        self.local.len() > 0 || !self.me.forks.is_empty()
    }

    /// Accepts a local future, whose first job is about to be [sent](crate::engine::work::Work::send_local).
    pub(crate) fn accept_local(&self) {
        self.me.counters.accepted.add(1);
        self.me.mailbox.accept();
    }

    /// Returns the owner's ends of the queues.
    pub(super) fn give_back(self) -> Arc<Core> {
        self.note_polling(false);
        let Self { core, me, local, forks, .. } = self;
        forks.shrink();
        *me.own.lock() = Some((local, forks));
        core
    }
}
