//! A worker: a thread and its own queue. It must not know how jobs are submitted. This file has the main loop, the
//! turn, and the handling of panics.
//!
//! Further methods of [`Worker`] accept jobs (`submit`), find the next job (`search`, `stalled`), and sleep (`park`).
//! They also wait inside a job (`run_until`), poll timers and I/O (`poll`), handle futures (`tasks`), track the class
//! of the running job (`class`), or move threads to other CPUs (`placement`). The owner of a pool without threads acts
//! as the worker (`driven`).

mod activity;
mod class;
mod driven;
mod forks;
mod pace;
mod park;
mod placement;
mod poll;
mod run_until;
mod search;
mod stalled;
mod submit;
mod tasks;
#[cfg(all(test, not(brigade_loom)))]
mod tests;

use core::any::Any;
use core::cell::Cell;
use std::borrow::Cow;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Arc;

use brigade_observe::Record;
use brigade_queue::deque;
use brigade_sync::fork::OnChild;
use brigade_task::{Job, Outcome, Part, drop_contained};

use super::core::Core;
use super::core::enter::entered;
use super::current;
use super::key::Key;
use super::probe::{Event, Scope, Span, Teller};
use super::queues::injectors::Share;
use super::queues::local::Local;
use super::queues::origins::DEPTH;
use super::queues::peers::Peer;
use crate::values::{Hook, INJECTOR_INTERVAL, Priority, Role, WorkerInfo};
use activity::{Activity, Depths, RunsInside};
use class::{Class, Row};
pub(crate) use driven::{Driven, owned, wait_as};
pub(crate) use forks::wait_outside;
use pace::{Look, Pace};
pub(crate) use run_until::Awaited;
use search::Route;
use submit::Leftovers;

brigade_sync::scoped_thread_local! {
    /// The current thread's worker.
    pub(crate) static CURRENT: Worker
}

/// Called in a forked child, whose only thread is no longer a worker.
pub(crate) struct Child;

impl OnChild for Child {
    fn on_child() {
        CURRENT.with(|worker| worker.into_iter().for_each(Worker::orphan));
        CURRENT.clear();
    }
}

/// The state of a worker that only its own thread uses.
///
/// Most of the fields are types with their own methods.
pub(crate) struct Worker {
    core: Arc<Core>,
    /// The state shared with other threads.
    me: Arc<Peer>,
    index: usize,
    /// The role at the start of the thread.
    role: Role,
    local: Local,
    /// The class of the running job.
    class: Class,
    /// Forks, and jobs of scopes, pushed by this worker's jobs.
    forks: deque::Worker<Part>,
    /// The depths of waits and of blocking calls.
    depths: Depths,
    activity: Activity,
    /// When the worker looks elsewhere although jobs are on its own queue.
    pace: Pace,
    /// Completed entries in queues.
    leftovers: Leftovers,
    /// Where a search begins.
    route: Route,
}

/// A guard: the worker is blocked until this is dropped.
pub(crate) struct Blocked<'a> {
    worker: &'a Worker,
    depth: Option<RunsInside<'a>>,
    /// Whether the pool may have a thread in this worker's place beyond the spare threads.
    extra: bool,
    /// Whether the worker waits only for jobs of this pool.
    is_own: bool,
    _traced: Option<Scope<'a>>,
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        drop(self.depth.take());
        // In a forked child the roster's lock may be held forever.
        let Worker { core, depths, .. } = self.worker;
        if core.work.key.is_here() {
            let workers = usize::from(depths.blocks.get() == 0);
            core.work.idle.change(|roster| roster.unblock(workers, self.extra, self.is_own));
        }
    }
}

impl Worker {
    /// The main function of a worker's thread.
    pub(crate) fn live(core: Arc<Core>, index: usize) {
        core.threads.enter();
        let role = core.work.idle.arrive(index, core.config.on_start.is_some());
        let worker = Self { role, ..Self::at(core, index) };
        worker.me.sleeper.set_thread();
        worker.me.counters.wakes_up();
        worker.tell(Event::Starts(role));
        let life = || {
            worker.core.config.apply_to_thread(index);
            worker.call_hook(worker.core.config.on_start.as_ref());
            let is_new = Cell::new(true);
            // A panic ends a call of `turns`, never the thread.
            let turns = || panic::catch_unwind(AssertUnwindSafe(|| worker.turns(&is_new)));
            while let Err(payload) = turns() {
                worker.panicked(payload);
            }
        };
        let core = &worker.core;
        let life = || CURRENT.set(&worker, life);
        current::work_as(core.work.key, index, || core.work.events.resources.enter(life));
        core.work.cancel_locals(&worker.me);
        worker.me.sleeper.unset_thread();
        if core.config.on_stop.is_some() {
            current::stop_as(&worker.info(), || worker.call_hook(core.config.on_stop.as_ref()));
        }
        worker.tell(Event::Ends);
        worker.me.counters.falls_asleep();
        let core = worker.give_back();
        core.threads.join_finished();
        // All other workers may already be parked.
        core.work.settle();
        core.work.idle.vacate(index);
    }

    /// Takes the owner's ends of the queues with this index. The queues must be open.
    fn at(core: Arc<Core>, index: usize) -> Self {
        let me = core.work.queues.peers.at(index).clone();
        let Some((local, forks)) = me.own.lock().take() else {
            unreachable!("a place has one worker")
        };
        Self {
            pace: Pace::new(core.config.fairness.unwrap_or(INJECTOR_INTERVAL)),
            leftovers: Leftovers::default(),
            route: Route::new(index),
            class: Class::new(core.work.key),
            me,
            core,
            index,
            role: Role::default(),
            local,
            forks,
            depths: Depths::default(),
            activity: Activity::default(),
        }
    }

    /// Returns the owner's ends of the queues.
    fn give_back(self) -> Arc<Core> {
        self.note_yields(false);
        let Self { core, me, local, forks, .. } = self;
        forks.shrink();
        *me.own.lock() = Some((local, forks));
        core
    }

    /// The state shared by all workers of the pool.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Whether this is a worker of the pool `key`.
    #[inline]
    pub(crate) fn is_of(&self, key: Key) -> bool {
        self.core.work.key == key
    }

    /// Names the pool.
    pub(crate) fn key(&self) -> Key {
        self.core.work.key
    }

    /// The worker's index in the pool.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    fn as_teller(&self) -> Teller {
        Teller { index: self.index, is_inside: self.is_inside() }
    }

    /// Records an event, if the pool is traced.
    #[inline(always)]
    fn tell(&self, event: Event) {
        self.core.work.tell(self.as_teller(), event);
    }

    /// Records an activity until the returned value is dropped, if the pool is traced.
    #[inline(always)]
    pub(crate) fn begin(&self, span: Span) -> Option<Scope<'_>> {
        self.core.work.begin(self.as_teller(), span)
    }

    /// The public description of this worker.
    pub(crate) fn info(&self) -> WorkerInfo {
        let pool = self.core.config.pool_name();
        WorkerInfo { index: self.index, role: self.role, pool }
    }

    /// The record of the running job.
    pub(crate) fn record(&self) -> &Record {
        &self.me.record
    }

    /// Counts a panic of a hook, caught on this worker.
    pub(crate) fn count_panic(&self) {
        self.me.counters.panics.add(1);
    }

    /// Marks the worker as blocked until the guard is dropped: the pool may have another thread in its place.
    pub(crate) fn block(&self) -> Blocked<'_> {
        if self.depths.blocks.get() > 0 {
            return self.blocked(false, false, None);
        }
        let traced = self.begin(Span::Blocked);
        let unwinds = !runs_in_place();
        let extra = self.core.work.idle.change(|roster| roster.block(unwinds));
        let blocked = self.blocked(extra, false, traced);
        self.core.replace_blocked();
        if self.core.work.idle.roster().is_stuck() {
            // A waiting worker runs the queued jobs.
            self.core.work.events.candidates.call_last();
        }
        blocked
    }

    /// Like [`block`](Self::block), for a wait inside a job; `is_own` if the wait is only for jobs of this pool.
    /// Returns `None` if no other worker of the pool would be left to run jobs.
    fn block_to_wait(&self, is_own: bool) -> Option<Blocked<'_>> {
        let config = &self.core.config;
        let may_exceed = !config.is_driven && (config.spare.is_none() || self.depth() > DEPTH);
        // A blocking call must not let the pool exceed its limits; a wait inside the call may.
        let is_new = self.depths.blocks.get() == 0;
        let unwinds = !runs_in_place();
        let extra = self.core.work.idle.change(|roster| {
            roster.block_to_wait(usize::from(is_new), unwinds, may_exceed, is_own)
        })?;
        let traced = if is_new { self.begin(Span::Blocked) } else { None };
        let blocked = self.blocked(extra, is_own, traced);
        self.core.replace_blocked();
        Some(blocked)
    }

    fn blocked<'a>(&'a self, extra: bool, is_own: bool, traced: Option<Scope<'a>>) -> Blocked<'a> {
        let depth = Some(RunsInside::begin(&self.depths.blocks));
        Blocked { worker: self, depth, extra, is_own, _traced: traced }
    }

    /// Whether the pool is being discarded.
    pub(crate) fn discards(&self) -> bool {
        self.core.work.idle.snapshot().discards()
    }

    /// Runs jobs until the worker leaves, or a job panics. `is_new` is true until the worker first looks for work.
    fn turns(&self, is_new: &Cell<bool>) {
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
            let seen = self.core.work.idle.snapshot();
            if seen.interrupts() {
                if seen.has_surplus() && self.leaves() {
                    return;
                }
                if seen.is_prioritized() && self.run_high() {
                    continue;
                }
            }
            if self.pace.is_due() {
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

    /// Takes the pool's oldest job, if the workers have no queues of their own, and no fork or mail here comes first.
    #[inline(always)]
    fn pop_shared(&self) -> Option<Job> {
        let comes_first =
            !self.local.is_shared() || !self.forks.is_empty() || !self.me.mailbox.is_empty();
        if comes_first { None } else { self.core.work.queues.injectors.pop_shared() }
    }

    /// Runs work from elsewhere, so that jobs from outside, the oldest job of the own queue, timers and I/O do not wait
    /// forever. Called at the worker's pace.
    #[cold]
    #[inline(never)]
    fn look_elsewhere(&self, row: Row) {
        self.end_if_orphan();
        self.move_woken();
        let look = self.pace.look();
        if row == Row::GoesOn {
            self.continue_row();
        }
        if look == Look::Early {
            return;
        }
        if self.poll_events() {
            // The jobs run first in this look may take long.
            self.announce_taken();
        }
        if self.leftovers.are_swept_elsewhere(self.core.work.queues.sweeps()) {
            self.compact();
        }
        let run_aged = |job| self.run_as(Priority::Low, || self.run_in_look(job));
        self.take_aged().into_iter().for_each(run_aged);
        if row == Row::GoesOn {
            self.run_urgent();
        }
        self.take_mail().into_iter().for_each(|job| self.run_in_look(job));
        if look == Look::InTime {
            self.steal_stalled().into_iter().for_each(|job| self.run_in_look(job));
        }
        let share = self.pace.share();
        let taken = if self.local.is_lifo() {
            // The newest job is run first, so a job queued here would wait for all later submissions by this worker.
            let outside = || self.core.work.queues.injectors.pop(self.route.cursor());
            let taken = core::iter::from_fn(outside).take(share);
            let count = taken.map(|job| self.run_in_look(job)).count();
            self.me.remote.steal().into_iter().for_each(|job| self.run_in_look(job));
            count
        } else {
            let (before, first) = (self.local.len(), self.refill(Share { parts: 1, most: share }));
            let count = usize::from(first.is_some()) + self.local.len().saturating_sub(before);
            first.into_iter().for_each(|job| self.run_in_look(job));
            count
        };
        self.pace.has_taken(taken);
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
        self.end_if_orphan();
        let mailbox = &self.me.mailbox;
        // Local futures can't run on peers.
        if mailbox.has_locals() {
            return false;
        }
        let (idle, has_mail) = (&self.core.work.idle, || !mailbox.is_empty());
        let leaves = idle.change(|roster| roster.leave_if_surplus(self.index, has_mail));
        if leaves {
            if self.core.work.queues.has_work() {
                self.core.help();
            }
            // Done here rather than after the stop hook.
            self.core.work.look_for_quiet();
        }
        leaves
    }

    /// Called in a child forked by a job: makes the process abort when this job ends.
    fn orphan(&self) {
        self.pace.interrupt();
    }

    /// Aborts a forked child whose only thread would continue as a worker: the queued jobs belong to the parent.
    fn end_if_orphan(&self) {
        self.core.work.key.end_if_orphan();
    }

    #[inline(always)]
    fn run(&self, job: Job) {
        let is_only_run = !self.core.work.idle.snapshot().runs_not_only();
        let outcome = if is_only_run { job.run() } else { self.run_or_discard(job) };
        if outcome == Outcome::Returned {
            self.me.counters.returned.add(1);
        } else {
            self.count(outcome);
        }
    }

    /// Counts a job that ended on this worker.
    #[cold]
    pub(crate) fn count(&self, outcome: Outcome) {
        let counters = &self.me.counters;
        match outcome {
            Outcome::Returned => counters.returned.add(1),
            Outcome::Panicked => {
                counters.panicked.add(1);
                counters.panics.add(1);
            }
            Outcome::Cancelled => counters.cancelled.add(1),
            Outcome::Stale | Outcome::Polled => {}
        }
    }

    /// Drops a job if the pool is being discarded; otherwise records and runs it.
    #[cold]
    fn run_or_discard(&self, job: Job) -> Outcome {
        if self.discards() {
            return self.discard(job);
        }
        if !job.is_resumption() {
            self.note_yields(false);
        }
        let traced = self.begin(Span::Job);
        let outcome = job.run();
        if outcome == Outcome::Stale {
            traced.into_iter().for_each(Scope::discard);
        }
        outcome
    }

    /// Drops a job; a panic of its captures is contained here.
    #[cold]
    fn discard(&self, job: Job) -> Outcome {
        let cancelled = panic::catch_unwind(AssertUnwindSafe(|| job.cancel()));
        cancelled.unwrap_or_else(|payload| {
            self.me.counters.panics.add(1);
            drop_contained(payload);
            Outcome::Cancelled
        })
    }

    fn call_hook(&self, hook: Option<&Hook>) {
        let Some(hook) = hook else { return };
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| hook(self.index))) {
            self.me.counters.panics.add(1);
            drop_contained(payload);
        }
    }

    /// Applies the pool's policy to a panic without a handle.
    #[cold]
    fn panicked(&self, payload: Box<dyn Any + Send>) {
        self.count(Outcome::Panicked);
        if self.core.config.on_panic.tell(payload).is_err() {
            self.me.counters.panics.add(1);
        }
    }
}

/// Labels this thread's running job with a name and the place of its submission, for a trace. Does nothing if the
/// thread has entered another pool: the job then belongs to that pool.
#[inline(always)]
pub(crate) fn label_job(
    name: Option<&Cow<'static, str>>,
    place: Option<&'static Location<'static>>,
) {
    if cfg!(feature = "trace") {
        CURRENT.with(|worker| {
            let of_job = |worker: &&Worker| entered().is_none_or(|key| worker.is_of(key));
            if let Some(worker) = worker.filter(of_job) {
                worker.core.work.label(worker.as_teller(), name, place);
            }
        });
    }
}

/// Whether a wait on this thread may run jobs inside the current job. A job that unwinds may wait in a destructor. Jobs
/// that ran inside this wait would see [`std::thread::panicking`] although they don't panic.
pub(crate) fn runs_in_place() -> bool {
    !std::thread::panicking()
}

/// Calls a closure that may block. On a worker, the pool may have another thread in its place meanwhile.
pub(crate) fn blocking<R>(call: impl FnOnce() -> R) -> R {
    CURRENT.with(|worker| {
        let _blocked = worker.map(Worker::block);
        call()
    })
}
