//! A worker: a thread and its own queue. It must not know how jobs are submitted. This file has its main loop, its turn, and its handling of panics.
//!
//! Further methods of [`Worker`] accept jobs (`submit`), find the next one (`search`, `stalled`), and sleep (`park`). They also wait inside a
//! job (`run_until`), poll timers and I/O (`poll`), handle futures (`tasks`), know the class of what they run (`class`), or move threads to other
//! CPUs (`placement`). The owner of a pool without threads is its worker now and then (`driven`).

mod activity;
mod class;
mod driven;
mod forks;
mod inside;
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
use crate::values::{Hook, Priority, Role, WorkerInfo};
use activity::Activity;
use class::{Class, Interrupted, Row};
pub(crate) use driven::{Driven, owned, wait_as};
pub(crate) use forks::wait_outside;
use inside::{Depths, RunsInside};
use pace::{Look, Pace};
pub(crate) use run_until::Awaited;
use search::Route;
use submit::Leftovers;

brigade_sync::scoped_thread_local! {
    /// The worker that the current thread is.
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
/// It has many fields; most of them are types with their own methods.
pub(crate) struct Worker {
    core: Arc<Core>,
    /// The part that it shares with other threads.
    me: Arc<Peer>,
    index: usize,
    /// What it was started as.
    role: Role,
    local: Local,
    /// The class of the job that it runs.
    class: Class,
    /// What its jobs have forked, and jobs of scopes.
    forks: deque::Worker<Part>,
    /// How deep it is in waits and in calls that block.
    depths: Depths,
    activity: Activity,
    /// When it looks elsewhere although its own queue has jobs.
    pace: Pace,
    /// Completed entries in queues.
    leftovers: Leftovers,
    /// Where it searches first.
    route: Route,
}

/// A guard for the time in which a worker is blocked.
pub(crate) struct Blocked<'a> {
    worker: &'a Worker,
    depth: Option<RunsInside<'a>>,
    /// Whether there may be a thread in its place besides the spare ones.
    extra: bool,
    /// It waits for jobs of this pool only.
    is_own: bool,
    _traced: Option<Scope<'a>>,
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        drop(self.depth.take());
        // In a forked child the lock may be held forever.
        let Worker { core, depths, .. } = self.worker;
        if !core.key.is_here() {
            return;
        }
        if !depths.is_blocked() {
            core.idle.unblock(self.extra, self.is_own);
        } else if self.extra {
            core.idle.end_excess();
        }
    }
}

impl Worker {
    /// The main function of a worker's thread.
    pub(crate) fn live(core: Arc<Core>, index: usize) {
        core.threads.enter();
        let role = core.idle.arrive(index, core.config.on_start.is_some());
        let worker = Self { role, ..Self::at(core, index) };
        worker.me.sleeper.set_thread();
        worker.me.counters.awake.wakes_up();
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
        current::work_as(core.key, index, || core.resources.enter(life));
        core.cancel_locals(&worker.me);
        worker.me.sleeper.unset_thread();
        if core.config.on_stop.is_some() {
            current::stop_as(&worker.info(), || worker.call_hook(core.config.on_stop.as_ref()));
        }
        worker.tell(Event::Ends);
        worker.me.counters.awake.falls_asleep();
        let core = worker.give_back();
        core.threads.join_finished();
        // All other workers may already be parked.
        core.settle();
        core.idle.vacate(index);
    }

    /// Takes the owner's ends of the queues with this index, which has been opened.
    fn at(core: Arc<Core>, index: usize) -> Self {
        let me = core.queues.peers.at(index).clone();
        let Some((local, forks)) = me.own.lock().take() else {
            unreachable!("a place has one worker")
        };
        Self {
            pace: Pace::new(core.config.fairness),
            leftovers: Leftovers::default(),
            route: Route::new(&core.config, index),
            class: Class::new(core.key),
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

    /// The state that it shares with the other workers of its pool.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Whether this is a worker of that pool.
    #[inline]
    pub(crate) fn is_of(&self, key: Key) -> bool {
        self.core.key == key
    }

    /// Names the pool.
    pub(crate) fn key(&self) -> Key {
        self.core.key
    }

    /// Its index in the pool.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    fn as_teller(&self) -> Teller {
        Teller { index: self.index, is_inside: self.is_inside() }
    }

    /// Records an event, if the pool is traced.
    #[inline(always)]
    fn tell(&self, event: Event) {
        self.core.tell(self.as_teller(), event);
    }

    /// Records an activity until the returned value is dropped, if the pool is traced.
    #[inline(always)]
    pub(crate) fn begin(&self, span: Span) -> Option<Scope<'_>> {
        self.core.begin(self.as_teller(), span)
    }

    /// What code on it is told about it.
    pub(crate) fn info(&self) -> WorkerInfo {
        let pool = self.core.config.pool_name();
        WorkerInfo { index: self.index, role: self.role, pool }
    }

    /// The record of what it runs.
    pub(crate) fn record(&self) -> &Record {
        &self.me.record
    }

    /// Counts a panic of a hook, which has been caught on it.
    pub(crate) fn count_panic(&self) {
        self.me.counters.panics.add(1);
    }

    /// Does not count as a worker until the guard is dropped: the pool may have another one in its place.
    pub(crate) fn block(&self) -> Blocked<'_> {
        if self.depths.is_blocked() {
            return self.blocked(false, false, None);
        }
        let traced = self.begin(Span::Blocked);
        let extra = self.core.idle.block(!runs_in_place());
        let blocked = self.blocked(extra, false, traced);
        self.core.replace_blocked();
        if self.core.idle.is_stuck() {
            // A worker that waits for the pool's jobs runs them.
            self.core.events.candidates.call_last();
        }
        blocked
    }

    /// The same for a wait inside a job, which is for jobs of this pool only or not; `None` if no other worker of the pool would be left to
    /// run anything.
    fn block_to_wait(&self, is_own: bool) -> Option<Blocked<'_>> {
        let config = &self.core.config;
        let may_exceed = !config.is_driven && (config.spare.is_none() || self.depth() > DEPTH);
        if self.depths.is_blocked() {
            if !self.core.idle.is_stuck() {
                return Some(self.blocked(false, false, None));
            }
            // A call that blocks does not let the pool exceed its limits, a wait inside it does.
            if !may_exceed || !self.core.idle.exceed_to_wait() {
                return None;
            }
            let blocked = self.blocked(true, false, None);
            self.core.replace_blocked();
            return Some(blocked);
        }
        let unwinds = !runs_in_place();
        let extra = self.core.idle.block_to_wait(unwinds, may_exceed, is_own)?;
        let blocked = self.blocked(extra, is_own, self.begin(Span::Blocked));
        self.core.replace_blocked();
        Some(blocked)
    }

    fn blocked<'a>(&'a self, extra: bool, is_own: bool, traced: Option<Scope<'a>>) -> Blocked<'a> {
        let depth = Some(self.depths.block());
        Blocked { worker: self, depth, extra, is_own, _traced: traced }
    }

    /// Whether the pool is being discarded.
    pub(crate) fn discards(&self) -> bool {
        self.core.idle.snapshot().discards()
    }

    /// Runs one job after another until the worker leaves, or a job panics. It `is_new` until it looks for work.
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
            // Before it takes a job: it runs each job that it takes, so that no look at the queues misses anything.
            if self.core.idle.snapshot().interrupts() {
                match self.interrupted() {
                    Interrupted::GoesOn => {}
                    Interrupted::Again => continue,
                    Interrupted::Leaves => return,
                }
            }
            if self.pace.is_due() {
                self.look_elsewhere(Row::Over);
                // A row of high jobs in the look is over when the turn's own job has run.
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

    /// Takes the oldest job of all, if no worker has a queue of its own, and nothing on this one comes first.
    #[inline(always)]
    fn pop_shared(&self) -> Option<Job> {
        let comes_first =
            !self.local.is_shared() || !self.forks.is_empty() || !self.me.mailbox.is_empty();
        if comes_first { None } else { self.core.queues.injectors.pop_shared() }
    }

    /// Takes what waits elsewhere first, so that jobs from outside, the oldest job of the own queue, timers and I/O do not wait
    /// forever. Called from time to time.
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
            // What comes first in this look may take long.
            self.announce_taken();
        }
        if self.leftovers.are_swept_elsewhere(self.core.queues.sweeps()) {
            self.compact();
        }
        let run_aged = |job| self.run_as(Priority::Low, || self.run_in_look(job));
        self.take_aged().into_iter().for_each(run_aged);
        if row == Row::GoesOn {
            self.run_urgent();
        }
        self.take_mail().into_iter().for_each(|job| self.run_in_look(job));
        if look == Look::InTime {
            self.core.follow();
            self.steal_stalled().into_iter().for_each(|job| self.run_in_look(job));
        }
        let share = self.pace.share();
        let taken = if self.local.is_lifo() {
            // The newest job is run first, so a job queued here would wait for all later submissions of this worker's jobs.
            let outside = || self.core.queues.injectors.pop(self.route.cursor());
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
        // The look has more jobs, and the turn has one after it.
        self.run_urgent();
    }

    /// Leaves, after the pool was made smaller, if there is still a surplus worker. The jobs on its queue stay there, for the
    /// others to steal.
    #[cold]
    #[inline(never)]
    fn leaves(&self) -> bool {
        self.end_if_orphan();
        let mailbox = &self.me.mailbox;
        // No other worker may run local futures.
        if mailbox.has_locals() {
            return false;
        }
        let leaves = self.core.idle.leave_if_surplus(self.index, || !mailbox.is_empty());
        if leaves {
            if self.core.queues.has_work() {
                self.core.help();
            }
            // Now, and not once the hook at the end has returned.
            self.core.look_for_quiet();
        }
        leaves
    }

    /// In a child that a job forked: aborts the process when that job ends.
    fn orphan(&self) {
        self.pace.interrupt();
    }

    /// Aborts a forked child whose only thread would continue as a worker: the jobs that it would find are the parent's.
    fn end_if_orphan(&self) {
        self.core.end_if_orphan();
    }

    #[inline(always)]
    fn run(&self, job: Job) {
        let is_only_run = !self.core.idle.snapshot().runs_not_only();
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

    /// Drops a job if the pool is being discarded, else notes what it is and runs it.
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

    /// Applies the pool's policy to a panic that no handle takes.
    #[cold]
    fn panicked(&self, payload: Box<dyn Any + Send>) {
        self.count(Outcome::Panicked);
        if self.core.config.on_panic.tell(payload).is_err() {
            self.me.counters.panics.add(1);
        }
    }
}

/// The job that this thread runs is known by a name, and by the place of its submission. A job of another pool, which has entered
/// that one, is not shown.
#[inline(always)]
pub(crate) fn label_job(
    name: Option<&Cow<'static, str>>,
    place: Option<&'static Location<'static>>,
) {
    if cfg!(feature = "trace") {
        CURRENT.with(|worker| {
            let of_job = |worker: &&Worker| entered().is_none_or(|key| worker.is_of(key));
            if let Some(worker) = worker.filter(of_job) {
                worker.core.label(worker.as_teller(), name, place);
            }
        });
    }
}

/// Whether a wait of this thread may run jobs inside the current one. A job that unwinds waits where a value of it is dropped; jobs
/// that ran inside that wait would see [`std::thread::panicking`], although they don't panic.
pub(crate) fn runs_in_place() -> bool {
    !std::thread::panicking()
}

/// Calls what may block; on a worker, its pool may have another thread in its place in the meantime.
pub(crate) fn blocking<R>(call: impl FnOnce() -> R) -> R {
    CURRENT.with(|worker| {
        let _blocked = worker.map(Worker::block);
        call()
    })
}
