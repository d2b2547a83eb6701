//! The engine: what the owner, the handles and the workers of one pool share.
//!
//! Work comes in through [`Core::inject`] from outside, into the [`inlet`], and through [`submit`] from inside.
//! A worker's turn is in [`worker`], its way to more work in [`search`], to sleep in [`park`]; the end is in
//! [`close`].

mod close;
mod inlet;
mod local;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod park;
mod search;
mod submit;
mod worker;

use std::sync::Arc;

use brigade_sync::affinity::{CpuSet, ThreadRef};
use brigade_sync::atomic::AtomicBool;
use brigade_sync::{CachePadded, Condvar, Mutex, Parker};
use brigade_task::Job;

use crate::config::{Config, Placement};
use crate::idle::{Idle, Snapshot};
use crate::metrics::{Counters, Metrics, WorkerMetrics};
use inlet::Inlet;
use local::{Local, Remote};
pub(crate) use worker::Worker;

brigade_sync::scoped_thread_local! {
    /// The worker that the current thread is.
    pub(crate) static CURRENT: Worker
}

/// What the owner, the handles and the workers of one pool share.
pub(crate) struct Core {
    /// Names the pool; no two pools of a process have the same.
    pub(crate) key: u64,
    pub(crate) config: Config,
    /// Work from outside, and what did not fit a worker's own queue.
    inlet: Inlet,
    idle: Idle,
    /// What others may know of each worker, by index.
    peers: Box<[Arc<Peer>]>,
    /// Jobs dropped by whoever discards the pool.
    cancelled: Mutex<u64>,
    /// Who waits for the workers, and how many of those have left.
    waits: Mutex<Waits>,
    /// Told when `waits` has changed, or all workers are parked.
    changed: Condvar,
    /// Whether a worker looks out before it sleeps; one at a time does.
    spinner: AtomicBool,
    /// How many threads the process may run at once.
    cpus: usize,
}

/// What others may know of a worker.
struct Peer {
    remote: Remote,
    parker: Parker,
    /// Apart: its worker writes them at every turn.
    counters: CachePadded<Counters>,
    placed: Mutex<Placed>,
}

/// How a worker's thread is kept off a CPU for one wake.
#[derive(Default)]
struct Placed {
    /// The thread, while it runs the worker.
    thread: Option<ThreadRef>,
    /// The affinity that it is to have again.
    restore: Option<CpuSet>,
}

/// Who waits for the workers.
#[derive(Default)]
struct Waits {
    /// Threads that wait for all workers to be parked.
    for_quiet: usize,
    /// Workers that have left for good.
    left: usize,
}

impl Core {
    /// Puts a pool together; its threads are not there yet. Returns each worker's own queue too.
    pub(crate) fn new(key: u64, config: Config) -> (Self, Vec<Local>) {
        let cpus = brigade_sync::thread::parallelism();
        let locals: Vec<_> = (0..config.threads).map(|_| Local::new(&config)).collect();
        let peer = |local: &Local| {
            Arc::new(Peer {
                remote: local.remote(),
                parker: Parker::new(),
                counters: CachePadded::default(),
                placed: Mutex::default(),
            })
        };
        let core = Self {
            key,
            inlet: Inlet::new(&config, cpus),
            idle: Idle::new(config.threads),
            peers: locals.iter().map(peer).collect(),
            cancelled: Mutex::new(0),
            waits: Mutex::default(),
            changed: Condvar::new(),
            spinner: AtomicBool::new(false),
            cpus,
            config,
        };
        (core, locals)
    }

    /// Accepts a job from outside, or gives it back if the pool is closed.
    #[inline(always)]
    pub(crate) fn inject(&self, job: Job) -> Result<(), Job> {
        self.inlet.push(job)?;
        if self.idle.after_publishing().wants_wake() {
            self.wake_one();
        }
        Ok(())
    }

    /// Accepts several jobs from outside, or gives back those that came too late.
    pub(crate) fn inject_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        let count = jobs.len();
        let result = self.inlet.push_batch(jobs);
        self.wake_many(count, self.idle.after_publishing());
        result
    }

    /// Wakes the last worker parked, if nobody is searching.
    #[cold]
    #[inline(never)]
    fn wake_one(&self) {
        if let Some(index) = self.idle.pick() {
            self.wake(index);
        }
    }

    /// Wakes as many parked workers as there are jobs for.
    fn wake_many(&self, jobs: usize, seen: Snapshot) {
        for _ in 0..jobs.min(seen.parked()) {
            let Some(index) = self.idle.pick_another() else { return };
            self.wake(index);
        }
    }

    /// Wakes a worker that was picked.
    fn wake(&self, index: usize) {
        let peer = &self.peers[index];
        if self.config.placement == Placement::Spread {
            self.place(peer);
        }
        peer.parker.unpark();
    }

    /// Keeps a worker off the CPU that we are on, if another worker runs already.
    ///
    /// Why: on a virtual machine the kernel tends to queue a woken thread behind its waker although
    /// another CPU is idle; `docs/design/placement.md` has the measurement.
    fn place(&self, peer: &Peer) {
        if self.idle.running(self.idle.snapshot()) == 0 {
            return;
        }
        let mut placed = peer.placed.lock();
        let Some(thread) = placed.thread else { return };
        let (Some(all), Some(here)) = (thread.affinity(), brigade_sync::affinity::current_cpu())
        else {
            return;
        };
        let narrow = all.without(here);
        if all.contains(here) && !narrow.is_empty() && thread.set_affinity(&narrow) {
            placed.restore = Some(all);
        }
    }

    /// Whether anything is queued anywhere.
    fn has_work(&self) -> bool {
        !self.inlet.is_empty() || self.peers.iter().any(|peer| peer.remote.len() > 0)
    }

    /// Reads the counters; the order in which they are read keeps each from passing what it is part of.
    pub(crate) fn metrics(&self) -> Metrics {
        let counters = || self.peers.iter().map(|peer| &*peer.counters);
        let sum = |pick: fn(&Counters) -> u64| counters().map(pick).sum::<u64>();
        let panicked = sum(|counters| counters.panicked.get());
        let returned = sum(|counters| counters.returned.get());
        let cancelled = sum(|counters| counters.cancelled.get()) + *self.cancelled.lock();
        let finished = returned + panicked + cancelled;
        let workers: Vec<_> = self.peers.iter().map(|peer| peer.metrics()).collect();
        let queued = self.inlet.len() as u64 + workers.iter().map(|one| one.queued).sum::<u64>();
        let accepted = self.inlet.pushed() + sum(|counters| counters.accepted.get());
        let accepted = accepted.saturating_sub(sum(|counters| counters.moved.get())).max(finished);
        let queued = queued.min(accepted - finished);
        Metrics {
            accepted,
            returned,
            panicked,
            cancelled,
            queued,
            running: accepted - finished - queued,
            workers,
        }
    }
}

impl Peer {
    fn metrics(&self) -> WorkerMetrics {
        WorkerMetrics {
            run: self.counters.returned.get() + self.counters.panicked.get(),
            stolen: self.counters.stolen.get(),
            parks: self.counters.parks.get(),
            wakes: self.counters.wakes.get(),
            panics: self.counters.panics.get(),
            queued: self.remote.len() as u64,
        }
    }
}
