//! A worker: a thread and its own queue. Its life, its turn, and what it does with panics.

use core::any::Any;
use core::cell::{Cell, RefCell};
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_queue::Cursor;
use brigade_sync::affinity::ThreadRef;
use brigade_task::{Job, Ran, drop_contained};

use super::local::Local;
use super::{CURRENT, Core, Peer};
use crate::config::{Hook, OnPanic};

/// A thread of a pool, as the thread sees it.
pub(crate) struct Worker {
    pub(super) core: Arc<Core>,
    /// What the others know of it.
    pub(super) me: Arc<Peer>,
    pub(super) index: usize,
    /// Whether there is no other worker to tell of anything.
    pub(super) is_alone: bool,
    pub(super) local: Local,
    /// Turns until the next look at the injector.
    turns: Cell<u32>,
    /// What the queues of the others looked like at the last look, while this one watches.
    pub(super) marks: RefCell<Vec<u64>>,
    /// The injector that it took from last.
    pub(super) cursor: Cursor,
    /// Says where a search starts.
    pub(super) random: RefCell<fastrand::Rng>,
}

impl Worker {
    /// The life of a worker's thread.
    pub(crate) fn live(core: Arc<Core>, index: usize, local: Local) {
        let worker = Self {
            turns: Cell::new(core.config.injector_interval),
            marks: RefCell::new(vec![0; core.config.threads]),
            cursor: Cursor::at(index),
            // Seeded alike at every start: what a pool does depends on timing alone.
            random: RefCell::new(fastrand::Rng::with_seed(index as u64)),
            me: core.peers[index].clone(),
            is_alone: core.config.threads == 1,
            core,
            index,
            local,
        };
        worker.me.placed.lock().thread = Some(ThreadRef::current());
        CURRENT.set(&worker, || {
            worker.call_hook(worker.core.config.on_start.as_ref());
            // A panic ends a call of `turns`, never the thread.
            while let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| worker.turns())) {
                worker.panicked(payload);
            }
        });
        // The thread's name in the kernel may soon be another thread's.
        worker.me.placed.lock().thread = None;
        worker.call_hook(worker.core.config.on_stop.as_ref());
        worker.core.left();
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

    /// Whether the pool is being discarded.
    pub(crate) fn discards(&self) -> bool {
        self.core.idle.snapshot().discards()
    }

    /// Runs one job after another until the pool has terminated, or one panics.
    fn turns(&self) {
        loop {
            if self.is_turn_to_look_elsewhere() {
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

    fn call_hook(&self, hook: Option<&Hook>) {
        let Some(hook) = hook else { return };
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| hook(self.index))) {
            self.me.counters.panics.add(1);
            drop_contained(payload);
        }
    }

    /// Does what the pool's policy says with a panic that no handle takes.
    #[cold]
    fn panicked(&self, payload: Box<dyn Any + Send>) {
        self.count(Ran::Panicked);
        match &self.core.config.on_panic {
            OnPanic::Report => drop_contained(payload),
            OnPanic::Abort => {
                // Not `eprintln`, which panics when nobody reads stderr.
                let reason = "brigade: a job panicked, and the pool's policy is to abort";
                let _ = writeln!(std::io::stderr(), "{reason}");
                std::process::abort();
            }
            OnPanic::Call(callback) => {
                let called = panic::catch_unwind(AssertUnwindSafe(|| callback(payload)));
                if let Err(payload) = called {
                    self.me.counters.panics.add(1);
                    drop_contained(payload);
                }
            }
        }
    }
}
