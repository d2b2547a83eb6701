//! A worker: a thread and its own queue. Its life, its turn, and what it does with panics.

use core::any::Any;
use core::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_queue::Cursor;
use brigade_sync::affinity::ThreadRef;
use brigade_task::{Job, Ran, drop_contained};

use super::local::Local;
use super::{CURRENT, Core, Peer};
use crate::config::Hook;
use crate::registry;

/// Why a forked child is aborted.
const ORPHAN: &str = "brigade: a job has forked and returned in the child, where its pool is not; \
    a job that forks must call exec or _exit there";

/// A worker that is blocked for a while.
pub(crate) struct Blocked<'a>(&'a Worker);

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        let depth = self.0.blocks.get() - 1;
        self.0.blocks.set(depth);
        // In a forked child, who knows who held its lock.
        if depth == 0 && registry::is_here(self.0.core.key) {
            self.0.core.idle.unblock();
        }
    }
}

/// A thread of a pool, as the thread sees it.
pub(crate) struct Worker {
    pub(super) core: Arc<Core>,
    /// What the others know of it.
    pub(super) me: Arc<Peer>,
    pub(super) index: usize,
    pub(super) local: Local,
    /// Turns until the next look at the injector.
    turns: Cell<u32>,
    /// What the queues of the others looked like at the last look, while this one watches.
    pub(super) marks: RefCell<Vec<u64>>,
    /// Blocking regions that it is in, one inside the other.
    blocks: Cell<u32>,
    /// Whether what it found last was a local future.
    pub(super) has_taken_local: Cell<bool>,
    /// Whether it has not looked for work yet.
    pub(super) is_new: Cell<bool>,
    /// The injector that it took from last.
    pub(super) cursor: Cursor,
    /// Says where a search starts.
    pub(super) random: RefCell<fastrand::Rng>,
}

impl Worker {
    /// The life of a worker's thread.
    pub(crate) fn live(core: Arc<Core>, index: usize) {
        core.enter_thread();
        core.idle.arrive(index);
        let me = core.peers.at(index).clone();
        let Some(local) = me.local.lock().take() else { unreachable!("a place has one worker") };
        let worker = Self {
            turns: Cell::new(core.config.injector_interval),
            marks: RefCell::default(),
            blocks: Cell::new(0),
            has_taken_local: Cell::new(false),
            is_new: Cell::new(true),
            cursor: Cursor::at(index),
            // Seeded alike at every start: what a pool does depends on timing alone.
            random: RefCell::new(fastrand::Rng::with_seed(index as u64)),
            me,
            core,
            index,
            local,
        };
        worker.me.placed.lock().thread = Some(ThreadRef::current());
        let life = || {
            worker.call_hook(worker.core.config.on_start.as_ref());
            // A panic ends a call of `turns`, never the thread.
            while let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| worker.turns())) {
                worker.panicked(payload);
            }
        };
        worker.core.keep.driver.enter(|| CURRENT.set(&worker, life));
        worker.core.cancel_locals(&worker.me);
        // The thread's name in the kernel may soon be another thread's.
        worker.me.placed.lock().thread = None;
        worker.call_hook(worker.core.config.on_stop.as_ref());
        let Self { core, me, local, .. } = worker;
        *me.local.lock() = Some(local);
        core.idle.vacate(index);
        core.join_finished();
        // All others may be parked already.
        core.settle();
        core.left();
    }

    /// Whether this is a worker of that pool.
    #[inline]
    pub(crate) fn is_of(&self, key: u64) -> bool {
        self.core.key == key
    }

    /// Names the pool.
    pub(crate) fn key(&self) -> u64 {
        self.core.key
    }

    /// Does not count as a worker until the guard is dropped: the pool may have another in its place.
    pub(crate) fn block(&self) -> Blocked<'_> {
        let depth = self.blocks.get();
        self.blocks.set(depth + 1);
        if depth == 0 {
            self.core.idle.block();
            if self.core.has_work() {
                self.core.help();
            }
            self.core.see_to_keeper();
        }
        Blocked(self)
    }

    /// Whether the pool is being discarded.
    pub(crate) fn discards(&self) -> bool {
        self.core.idle.snapshot().discards()
    }

    /// Runs one job after another until the worker is to leave, or one panics.
    fn turns(&self) {
        if self.is_new.take() {
            match self.find_first() {
                Some(job) => self.run(job),
                None => return,
            }
        }
        loop {
            // Before it takes a job: what it has in hand it runs, so that no look at the queues misses anything.
            if self.core.idle.snapshot().is_over() && self.leaves() {
                return;
            }
            if self.is_turn_to_look_elsewhere() {
                self.end_if_orphan();
                self.tend();
                if let Some(job) = self.take_local() {
                    self.run(job);
                }
                if let Some(job) = self.waiting_longest() {
                    self.run(job);
                }
            }
            match self.local.pop() {
                Some(job) => self.run(job),
                None => match self.find() {
                    Some(job) => self.run(job),
                    None => return,
                },
            }
        }
    }

    /// The pool was made smaller: leaves, if it is still one worker too many. What is queued here stays, for the others
    /// to steal.
    #[cold]
    #[inline(never)]
    fn leaves(&self) -> bool {
        self.end_if_orphan();
        // Nobody else may run those.
        if self.me.post.has_locals() {
            return false;
        }
        let leaves = self.core.idle.leave_if_over();
        if leaves {
            if self.core.has_work() {
                self.core.help();
            }
            // Now, and not once the hook at the end has returned.
            self.core.look_for_quiet();
        }
        leaves
    }

    /// In a child that the job forked: makes the end of the job the end of the process.
    pub(super) fn orphan(&self) {
        self.turns.set(1);
    }

    /// Ends a forked child whose one thread would go on as a worker: the jobs it finds are its parent's.
    pub(super) fn end_if_orphan(&self) {
        if !registry::is_here(self.core.key) {
            brigade_sync::fork::abort(ORPHAN);
        }
    }

    #[inline(always)]
    fn run(&self, job: Job) {
        let ran = if self.discards() { self.discard(job) } else { job.run() };
        if ran == Ran::Returned {
            self.me.counters.returned.add(1);
        } else {
            self.count(ran);
        }
    }

    /// Counts a job that ended on this worker.
    #[cold]
    pub(crate) fn count(&self, ran: Ran) {
        let counters = &self.me.counters;
        match ran {
            Ran::Returned => counters.returned.add(1),
            Ran::Panicked => {
                counters.panicked.add(1);
                counters.panics.add(1);
            }
            Ran::Cancelled => counters.cancelled.add(1),
            Ran::Elsewhere => {}
        }
    }

    /// Drops a job; a panic of its captures is contained here.
    #[cold]
    fn discard(&self, job: Job) -> Ran {
        let cancelled = panic::catch_unwind(AssertUnwindSafe(|| job.cancel()));
        cancelled.unwrap_or_else(|payload| {
            self.me.counters.panics.add(1);
            drop_contained(payload);
            Ran::Cancelled
        })
    }

    /// Every now and then the longest waiting comes first, so that neither the injector nor our oldest
    /// job waits for ever.
    #[inline(always)]
    fn is_turn_to_look_elsewhere(&self) -> bool {
        let turns = self.turns.get() - 1;
        self.turns.set(if turns == 0 { self.core.config.injector_interval } else { turns });
        turns == 0
    }

    /// The job that has waited longest.
    #[cold]
    fn waiting_longest(&self) -> Option<Job> {
        self.core.inlet.pop(&self.cursor).or_else(|| self.me.remote.steal().ok())
    }

    fn call_hook(&self, hook: Option<&Hook>) {
        let Some(hook) = hook else { return };
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| hook(self.index))) {
            self.me.counters.panics.add(1);
            drop_contained(payload);
        }
    }

    /// Does what the pool's policy says with a panic that no handle takes.
    #[cold]
    pub(super) fn panicked(&self, payload: Box<dyn Any + Send>) {
        self.count(Ran::Panicked);
        if self.core.config.on_panic.tell(payload).is_err() {
            self.me.counters.panics.add(1);
        }
    }
}
