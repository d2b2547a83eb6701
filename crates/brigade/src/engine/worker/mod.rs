//! A worker: a thread that runs the jobs of its [`Processor`]. It must not know how jobs are submitted. This file has the
//! main loop, the turn, and blocking calls.
//!
//! Further methods of [`Worker`] find the next job (`search`, `stalled`), run it with its class or parts (`class`,
//! `forks`), and sleep (`park`). They also wait inside a job (`run_until`) or anywhere (`outside`), or poll timers and I/O (`poll`). The owner of
//! a pool without threads acts as the worker (`driven`), or a thread that waits does (`threadless`).

mod class;
mod driven;
mod forks;
mod outside;
mod park;
mod poll;
mod run_until;
mod search;
mod stalled;
#[cfg(all(test, not(brigade_loom)))]
mod tests;
mod threadless;

use core::cell::Cell;
use std::borrow::Cow;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Arc;

use brigade_observe::{Label, What};
use brigade_sync::fork::OnChild;
use brigade_sync::{Stack, call_user};
use brigade_task::{Job, Outcome, drop_contained};

use super::core::Core;
#[cfg(feature = "trace")]
use super::core::enter::entered;
use super::current;
use super::idle::Block;
use super::probe::{Scope, starts};
use super::processor::Processor;
use super::processor::pace::Look;
use super::queues::injectors::Share;
use super::queues::origins::DEPTH;
use super::sleep::events::blocked::BlockedThread;
use crate::values::{Hook, Priority, Role, WorkerInfo};
use class::Row;
pub(crate) use driven::{Driven, owned, wait_as};
pub(crate) use forks::wait_outside;
pub(crate) use outside::{sleep_outside, wait, wait_until};
pub(crate) use run_until::Awaited;
use search::Route;
pub(crate) use threadless::{catch_up, note_use, share};

/// How many waits lie on a stack whose end is not known before it counts as deep. Few in a seeded run, whose small programs
/// reach them; but a pool that may start no thread must not need so many.
const LEVELS: usize = if cfg!(brigade_seeded) { 12 } else { DEPTH };

brigade_sync::scoped_thread_local! {
    /// The current thread's worker.
    pub(crate) static CURRENT: Worker
}

/// Calls a closure with the processor of the current thread's worker.
#[inline(always)]
pub(crate) fn with_processor<R>(call: impl FnOnce(Option<&Processor>) -> R) -> R {
    CURRENT.with(|worker| call(worker.map(|worker| &worker.processor)))
}

/// Called in a forked child, whose only thread is no longer a worker.
pub(crate) struct Child;

impl OnChild for Child {
    fn on_child() {
        // Makes the process abort when the running job ends.
        with_processor(|processor| _ = processor.map(|processor| processor.pace.interrupt()));
        CURRENT.clear();
    }
}

/// The thread's side of a worker: how it finds and runs jobs, sleeps and waits.
pub(crate) struct Worker {
    pub(crate) processor: Processor,
    /// The role at the start of the thread.
    role: Role,
    /// The thread's stack.
    stack: Stack,
    /// The innermost wait inside a job.
    waiting: Cell<Option<Arc<BlockedThread>>>,
    /// The depth of nested blocking calls.
    blocks: Cell<usize>,
    /// Whether the worker has run parts, or waited for stolen parts, since the last search.
    has_run_parts: Cell<bool>,
    /// Whether a search has found a job since the worker started.
    has_found: Cell<bool>,
    /// Where a search begins.
    route: Route,
}

/// A guard: the worker is blocked until this is dropped.
pub(crate) struct Blocked<'a> {
    worker: &'a Worker,
    block: Block,
    _traced: Option<Scope<'a>>,
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        let Worker { processor: Processor { core, .. }, blocks, .. } = self.worker;
        blocks.set(blocks.get() - 1);
        // In a forked child the roster's lock may be held forever.
        if core.work.key.is_here() {
            let workers = usize::from(blocks.get() == 0);
            core.work.idle.change(|roster| roster.unblock(workers, self.block));
        }
    }
}

impl Worker {
    /// The main function of a worker's thread.
    pub(crate) fn live(core: Arc<Core>, index: usize) {
        core.threads.enter();
        let hooks = core.work.hooks();
        let role = core.work.idle.arrive(index, hooks.on_start.is_some());
        let stack = hooks.known_stack_size(core.config.stack_size);
        let stack = stack.map(Stack::that_begins_here).unwrap_or_default();
        let worker = Self { stack, ..Self::at(core, index, role) };
        let Processor { core, me, .. } = &worker.processor;
        me.sleeper.set_thread(true);
        me.counters.wakes_up();
        worker.processor.tell(starts(role));
        let life = || {
            core.config.apply_to_thread(index);
            worker.call_hook(hooks.on_start.as_ref());
            let is_new = Cell::new(true);
            // A panic ends a call of `turns`, never the thread.
            let turns = || panic::catch_unwind(AssertUnwindSafe(|| worker.turns(&is_new)));
            while let Err(payload) = turns() {
                worker.processor.panicked(payload);
            }
        };
        let life = || CURRENT.set(&worker, life);
        current::work_as(core.work.key, index, || core.work.events.resources.enter(life));
        core.work.cancel_locals(me);
        me.sleeper.set_thread(false);
        if hooks.on_stop.is_some() {
            current::stop_as(&worker.info(), || worker.call_hook(hooks.on_stop.as_ref()));
        }
        drop(hooks);
        worker.processor.tell(What::Ends);
        me.counters.falls_asleep();
        let core = worker.processor.give_back();
        core.threads.join_finished();
        // All other workers may already be parked.
        core.work.settle();
        core.work.idle.vacate(index);
        core.work.tell_of_end();
    }

    /// A worker of this index, whose queues must be open.
    fn at(core: Arc<Core>, index: usize, role: Role) -> Self {
        Self {
            processor: Processor::new(core, index),
            role,
            stack: Stack::default(),
            waiting: Cell::default(),
            blocks: Cell::default(),
            has_run_parts: Cell::default(),
            has_found: Cell::default(),
            route: Route::new(index),
        }
    }

    /// The public description of this worker.
    pub(crate) fn info(&self) -> WorkerInfo {
        let pool = self.processor.core.config.pool_name();
        WorkerInfo { index: self.processor.index, role: self.role, pool }
    }

    /// Marks the worker as blocked until the guard is dropped: the pool may have another thread in its place.
    pub(crate) fn block(&self) -> Blocked<'_> {
        let (core, is_new) = (&self.processor.core, self.blocks.get() == 0);
        // A blocking call inside a wait may not let the pool exceed its limits.
        let block = Block { may_exceed: is_new && self.replaces_unwinding(), ..Block::default() };
        let Some(blocked) = self.block_as(block) else { unreachable!("only waits are refused") };
        if is_new {
            core.retry_for_long();
        }
        blocked
    }

    /// Like [`block`](Self::block), for a wait inside a job; `is_own` if the wait is only for jobs of this pool.
    /// Returns `None` if no other worker of the pool would be left to run jobs: this worker must run them.
    fn block_to_wait(&self, is_own: bool) -> Option<Blocked<'_>> {
        let config = &self.processor.core.config;
        let may_exceed = (config.spare.is_none() && !config.is_driven) || self.replaces_unwinding();
        let is_deep = self.is_deep();
        let blocked = self.block_as(Block { is_wait: true, is_own, may_exceed, is_deep })?;
        (is_deep || !self.processor.core.lacks_thread()).then_some(blocked)
    }

    /// Like [`block`](Self::block), for a job that runs a pool without threads: only its own mail runs here meanwhile, and another thread
    /// must run its jobs, if its pool has threads.
    fn block_below(&self) -> Option<Blocked<'_>> {
        let is_deep = !self.processor.core.config.is_driven;
        self.block_as(Block { is_wait: true, is_deep, ..Block::default() })
    }

    /// Marks the worker as blocked, and gets the pool a thread for queued work. Returns `None` if the roster refuses it.
    fn block_as(&self, block: Block) -> Option<Blocked<'_>> {
        let Processor { core, .. } = &self.processor;
        let is_new = self.blocks.get() == 0;
        if !core.work.idle.change(|roster| roster.block(usize::from(is_new), block)) {
            return None;
        }
        let traced = if is_new { self.processor.begin(What::Blocked, false) } else { None };
        self.blocks.set(self.blocks.get() + 1);
        let blocked = Blocked { worker: self, block, _traced: traced };
        core.replace_blocked();
        core.call_waiter_if_stuck();
        Some(blocked)
    }

    /// Whether the pool may have a thread in this worker's place beyond its limits, because the worker runs nothing
    /// while its job unwinds.
    fn replaces_unwinding(&self) -> bool {
        !runs_in_place() && self.processor.core.config.size.spare > 0
    }

    /// Whether less than a quarter of the stack is left, so that no further job may run inside a wait; where the stack is
    /// not known, whether the worker is inside so many waits. Never in a `LocalPool`, as no other thread runs its jobs; nor by
    /// the number of waits in a pool whose waits run anything, whose spawner may start no further thread.
    fn is_deep(&self) -> bool {
        let config = &self.processor.core.config;
        let has_levels = || !config.waits_run_anything() && self.processor.depth() > LEVELS;
        !config.is_driven && self.stack.has_less_than(4).unwrap_or_else(has_levels)
    }

    /// Whether mail may run inside a wait: an eighth of the stack is left, because no other thread may run it.
    fn may_run_mail(&self) -> bool {
        self.stack.has_less_than(8) != Some(true)
    }

    /// Runs jobs until the worker leaves, or a job panics. `is_new` is true until the worker first looks for work.
    fn turns(&self, is_new: &Cell<bool>) {
        if is_new.take() {
            // The start hook may have forked.
            self.processor.end_if_orphan();
            match self.find_first() {
                Some(job) => self.run_found(job),
                None => return,
            }
        }
        loop {
            // Checked before a job is taken: every job taken is run, so no look at the queues misses a job.
            let seen = self.processor.core.work.idle.snapshot();
            if seen.interrupts() {
                if seen.has_surplus() && self.leaves() {
                    return;
                }
                if seen.is_prioritized() && self.run_high() {
                    continue;
                }
            }
            if self.processor.pace.is_due() {
                self.processor.lowest_gap.set(u64::MAX);
                self.look_elsewhere(Row::Over);
                // A row of high jobs in the look is over once the turn's own job has run.
                self.processor.pace.end_turn();
            }
            if let Some(job) = self.processor.local.pop() {
                self.run(job);
            } else if let Some(job) = self.processor.pop_shared() {
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
    fn look_elsewhere(&self, row: Row) {
        let Processor { core, local, pace, .. } = &self.processor;
        self.processor.end_if_orphan();
        self.processor.move_woken();
        let look = pace.look();
        if row == Row::GoesOn {
            self.processor.class.continue_row(pace.turn());
        }
        if look == Look::Early {
            return;
        }
        if self.poll_events() {
            // The jobs run first in this look may take long.
            self.processor.announce_taken();
        }
        self.processor.compact_after_sweep();
        let run_aged = |job| self.run_as(Priority::Low, || self.run_in_look(job));
        self.processor.take_aged().into_iter().for_each(run_aged);
        if row == Row::GoesOn {
            self.run_urgent();
        }
        self.processor.take_mail().into_iter().for_each(|job| self.run_in_look(job));
        if look == Look::InTime {
            self.steal_stalled().into_iter().for_each(|job| self.run_in_look(job));
        }
        let share = pace.share();
        let taken = if local.is_lifo() {
            // The newest job is run first, so a job queued here would wait for all later submissions by this worker.
            let outside = || core.work.queues.injectors.pop(&self.route.cursor);
            let taken = core::iter::from_fn(outside).take(share);
            let count = taken.map(|job| self.run_in_look(job)).count();
            self.processor.me.remote.steal().into_iter().for_each(|job| self.run_in_look(job));
            count
        } else {
            let (before, first) = (local.len(), self.refill(Share { parts: 1, most: share }));
            let count = usize::from(first.is_some()) + local.len().saturating_sub(before);
            first.into_iter().for_each(|job| self.run_in_look(job));
            count
        };
        pace.has_taken(taken);
    }

    #[inline(never)]
    fn run_in_look(&self, job: Job) {
        self.run_taken(job);
        self.processor.end_if_orphan();
        self.processor.pace.end_turn();
        // More jobs of the look, or the turn's own job, come next.
        self.run_urgent();
    }

    /// Leaves if the pool still has a surplus worker after it was made smaller. Jobs on the own queue stay there, to be
    /// stolen.
    #[cold]
    #[inline(never)]
    fn leaves(&self) -> bool {
        let Processor { core, me, index, .. } = &self.processor;
        self.processor.end_if_orphan();
        // Local futures can't run on peers.
        if me.mailbox.has_locals() {
            return false;
        }
        let (idle, has_mail) = (&core.work.idle, || !me.mailbox.is_empty());
        let leaves = idle.change(|roster| roster.leave_if_surplus(*index, has_mail));
        if leaves {
            if core.work.queues.has_work() {
                core.help();
            }
            // Done here rather than after the stop hook.
            core.work.look_for_quiet();
        }
        leaves
    }

    #[inline(always)]
    fn run(&self, job: Job) {
        let is_only_run = !self.processor.core.work.idle.snapshot().runs_not_only();
        self.processor.count(if is_only_run { job.run() } else { self.run_or_discard(job) });
    }

    /// Drops a job if the pool is being discarded, unless the job is of a scope; otherwise records and runs it.
    #[cold]
    #[inline(never)]
    fn run_or_discard(&self, job: Job) -> Outcome {
        if self.processor.discards() && !job.is_of_scope() {
            return self.processor.discard(job);
        }
        if self.processor.core.work.idle.snapshot().notes_polls() {
            self.processor.note_polling(job.is_future());
        }
        let traced = self.processor.begin(What::Job(Label::default()), false);
        let outcome = job.run();
        if outcome == Outcome::Stale {
            traced.into_iter().for_each(Scope::discard);
        }
        outcome
    }

    fn call_hook(&self, hook: Option<&Hook>) {
        let Some(hook) = hook else { return };
        let call = || call_user(|| hook(self.processor.index));
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) {
            self.processor.me.counters.panics.add(1);
            drop_contained(payload);
        }
    }
}

/// Labels this thread's running job with a name and the place of its submission, for a trace. Does nothing if the
/// thread has entered another pool: the job then belongs to that pool.
#[inline(always)]
pub(crate) fn label_job(
    _name: Option<&Cow<'static, str>>,
    _place: Option<&'static Location<'static>>,
) {
    #[cfg(feature = "trace")]
    with_processor(|own| {
        let own = own.filter(|own| entered().is_none_or(|key| own.is_of(key)));
        _ = own.and_then(|own| own.pen(false)).map(|pen| pen.label(_name, _place));
    });
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
