//! A worker: a thread and its own queue. Its turn, and how it finds the next job.

use core::any::Any;
use core::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_sync::affinity::ThreadRef;
use brigade_task::{Job, Ran, drop_contained};

use super::local::Local;
use super::{CURRENT, Core, Peer};
use crate::config::{Hook, OnPanic};

/// The most jobs taken from the injector at once: enough that its two contended writes do not show,
/// few enough that half a queue is left for what they spawn.
const BATCH: usize = 64;

/// A thread of a pool, as the thread sees it.
pub(crate) struct Worker {
    pub(super) core: Arc<Core>,
    /// What the others know of it.
    pub(super) me: Arc<Peer>,
    pub(super) index: usize,
    /// Whether there is no other worker to tell of anything.
    is_alone: bool,
    local: Local,
    /// Turns until the next look at the injector.
    turns: Cell<u32>,
    /// What the queues of the others looked like at the last look, while this one watches.
    pub(super) marks: RefCell<Vec<u64>>,
    /// The injector that it took from last.
    cursor: Cell<usize>,
    /// State of the generator that says where a search starts (xorshift, Marsaglia 2003).
    random: Cell<u32>,
}

impl Worker {
    /// The life of a worker's thread.
    pub(crate) fn live(core: Arc<Core>, index: usize, local: Local) {
        let seed = u32::try_from(index).unwrap_or(0).wrapping_mul(0x9e37_79b9) | 1;
        let worker = Self {
            turns: Cell::new(core.config.injector_interval),
            marks: RefCell::new(vec![0; core.config.threads]),
            cursor: Cell::new(index),
            random: Cell::new(seed),
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
        let ran = if self.core.idle.snapshot().discards() { self.discard(job) } else { job.run() };
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

    /// The oldest job of the injector, else of our own queue.
    #[cold]
    fn waiting_longest(&self) -> Option<Job> {
        self.core.inlet.pop(&self.cursor).or_else(|| self.me.remote.steal().ok())
    }

    /// Our own queue is empty: looks everywhere, and sleeps while there is nothing. `None` when the pool
    /// has terminated.
    #[inline(never)]
    fn find(&self) -> Option<Job> {
        if let Some(job) = self.refill() {
            return Some(job);
        }
        self.core.idle.start_search();
        loop {
            if let Some(job) = self.search() {
                if self.core.idle.stop_search() && self.core.has_work() {
                    self.core.wake_one();
                }
                return Some(job);
            }
            if self.park() {
                return None;
            }
        }
    }

    /// Takes our share of the injector.
    fn refill(&self) -> Option<Job> {
        let job = self.refill_quietly()?;
        // What came with it was out of sight for a moment: somebody may have gone to sleep over it.
        let queued = self.local.len();
        if queued > 0 {
            self.announce(queued);
        }
        Some(job)
    }

    fn refill_quietly(&self) -> Option<Job> {
        let threads = self.core.config.threads;
        let share = |waiting: usize| (waiting / threads + 1).min(BATCH);
        self.core.inlet.refill(&self.local, &self.cursor, share)
    }

    /// As a searcher: looks at the injector and at every other worker once, and again if one was busy.
    fn search(&self) -> Option<Job> {
        loop {
            if let Some(job) = self.refill_quietly() {
                return Some(job);
            }
            match self.steal() {
                Ok(job) => {
                    self.me.counters.stolen.add(1);
                    return Some(job);
                }
                Err(brigade_queue::StealError::Empty) => return None,
                Err(brigade_queue::StealError::Busy) => brigade_sync::hint::spin_loop(),
            }
        }
    }

    /// Tries every other worker once, from a random one on.
    fn steal(&self) -> Result<Job, brigade_queue::StealError> {
        let peers = &self.core.peers;
        let start = self.random() as usize % peers.len();
        let mut error = brigade_queue::StealError::Empty;
        for offset in 0..peers.len() {
            let victim = (start + offset) % peers.len();
            if victim == self.index {
                continue;
            }
            match self.local.steal_from(&peers[victim].remote) {
                Ok(job) => return Ok(job),
                Err(brigade_queue::StealError::Busy) => error = brigade_queue::StealError::Busy,
                Err(brigade_queue::StealError::Empty) => {}
            }
        }
        Err(error)
    }

    fn random(&self) -> u32 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.random.set(x);
        x
    }

    /// Accepts a closure from a job that runs here, or gives it back if the pool is being discarded.
    ///
    /// Inlined into the caller with everything it does, so that the captures go from registers to the queue's
    /// slot. Each copy of a job on the way costs more than the rest of this: the copy's wide loads have to
    /// wait for the narrow stores that made the closure.
    #[inline(always)]
    pub(crate) fn execute<F: FnOnce() + Send + 'static>(&self, closure: F) -> Result<(), F> {
        if self.core.idle.snapshot().discards() {
            return Err(closure);
        }
        match self.local.push(Job::new(closure)) {
            Ok(queued) => self.accepted(queued),
            Err(job) => self.submit_elsewhere(job),
        }
        Ok(())
    }

    /// Accepts a job from a job that runs here, or gives it back if the pool is being discarded.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Job> {
        if self.core.idle.snapshot().discards() {
            return Err(job);
        }
        match self.local.push(job) {
            Ok(queued) => self.accepted(queued),
            Err(job) => self.submit_elsewhere(job),
        }
        Ok(())
    }

    /// Counts a job that has just been queued here, and tells a sleeping peer.
    #[inline(always)]
    fn accepted(&self, queued: usize) {
        self.me.counters.accepted.add(1);
        self.announce(queued);
    }

    /// Tells a sleeping peer of jobs that have just been queued here, unless it is one alone and being
    /// watched: the rule of `idle/README.md`.
    #[inline(always)]
    fn announce(&self, queued: usize) {
        if self.is_alone {
            return;
        }
        let seen = self.core.idle.after_publishing();
        if seen.wants_wake() && (queued > 1 || !seen.watched()) {
            self.core.wake_one();
        }
    }

    /// Accepts a job for which our own queue has no room.
    #[cold]
    #[inline(never)]
    fn submit_elsewhere(&self, job: Job) {
        let core = &*self.core;
        let job = if self.make_room() {
            match self.local.push(job) {
                Ok(_) => {
                    self.me.counters.accepted.add(1);
                    None
                }
                Err(job) => Some(job),
            }
        } else {
            Some(job)
        };
        if let Some(job) = job {
            core.inlet.push_accepted(job);
        }
        if core.idle.after_publishing().wants_wake() {
            core.wake_one();
        }
    }

    /// Moves the older half of our queue to the injector; `false` if a thief is at it, or there is no queue.
    fn make_room(&self) -> bool {
        if self.local.is_shared() {
            return false;
        }
        let moved = &self.me.counters.moved;
        // Counted before it is done, so that no reader sees a job twice; then what thieves took is put back.
        let most = self.local.len().div_ceil(2);
        moved.add(most as u64);
        let done = self.core.inlet.take_overflow(&self.local);
        moved.take_back((most - done) as u64);
        done > 0
    }

    /// Accepts several jobs at once, or gives them back if the pool is being discarded.
    pub(crate) fn submit_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        if self.core.idle.snapshot().discards() {
            return Err(jobs);
        }
        let count = jobs.len();
        let mut rest = jobs.into_iter();
        let mut kept = 0;
        while let Some(job) = rest.next() {
            if let Err(job) = self.local.push(job) {
                let rest = core::iter::once(job).chain(rest).collect();
                self.core.inlet.push_batch_accepted(rest);
                break;
            }
            kept += 1;
        }
        self.me.counters.accepted.add(kept);
        self.core.wake_many(count, self.core.idle.after_publishing());
        Ok(())
    }

    /// Tells a sleeping peer of anything on our queue, before this thread blocks.
    #[cold]
    pub(crate) fn before_blocking(&self) {
        if self.local.len() > 0 && self.core.idle.after_publishing().wants_wake() {
            self.core.wake_one();
        }
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
                eprintln!("brigade: a job panicked, and the pool's policy is to abort");
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
