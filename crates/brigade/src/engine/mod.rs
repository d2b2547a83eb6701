//! The engine: what the owner, the handles and the workers of one pool share.
//!
//! Work comes in through [`Core::inject`] from outside, into an [`inlet`], and through [`submit`] from inside.
//! A worker's turn is in [`worker`], its way to more work in [`search`], to sleep in [`park`]; the end is in
//! [`close`], and waiting for it to come to rest in [`quiet`].

mod admit;
mod aside;
mod close;
mod crew;
mod dispatch;
mod inlet;
mod join;
mod keep;
mod local;
mod local_tasks;
mod lookout;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod park;
mod peers;
mod post;
mod quiet;
mod resume;
mod search;
mod submit;
mod tasks;
mod watch;
mod worker;

use std::sync::{Arc, Weak};

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::fork::OnChild;
use brigade_sync::thread::{Thread, ThreadId};
use brigade_sync::{Condvar, Mutex};
use brigade_task::Job;

use crate::config::{Config, Growth};
use crate::idle::Idle;
use crate::metrics::{Counters, Elsewhere, Metrics, WorkerMetrics};
use crate::registry;
use crate::room::Room;
pub(crate) use admit::Admission;
pub(crate) use aside::drop_aside;
pub(crate) use dispatch::dispatch;
use inlet::Inlet;
pub(crate) use keep::Seat;
use keep::{Driving, Keep};
use peers::{Peer, Peers};
use tasks::Tasks;
pub(crate) use worker::Worker;

brigade_sync::scoped_thread_local! {
    /// The worker that the current thread is.
    pub(crate) static CURRENT: Worker
}

/// In a forked child: the one thread that is there is a worker no longer.
pub(crate) struct Child;

impl OnChild for Child {
    fn on_child() {
        CURRENT.with(|worker| worker.into_iter().for_each(Worker::orphan));
        CURRENT.clear();
    }
}

/// What the owner, the handles and the workers of one pool share.
pub(crate) struct Core {
    /// Names the pool; no two pools of a process have the same.
    pub(crate) key: u64,
    pub(crate) config: Config,
    /// For the threads that are started later.
    me: Weak<Self>,
    /// Work from outside, and what did not fit a worker's own queue.
    inlet: Inlet,
    idle: Idle,
    /// What others may know of each worker, by its place.
    peers: Peers,
    /// The threads that have not been joined.
    threads: Mutex<Vec<Thread>>,
    /// The threads that run workers, or their thread-local destructors.
    members: Mutex<Vec<ThreadId>>,
    /// What it sees to besides its queues. Boxed for the same reason as the futures are.
    keep: Box<Keep>,
    /// The futures that have not ended.
    pub(crate) tasks: Tasks,
    /// For how many jobs there is room, if the pool is bounded.
    room: Option<Arc<Room>>,
    /// What became of jobs elsewhere than on a worker.
    elsewhere: Mutex<Elsewhere>,
    /// Who waits for the workers, and how many of those are there.
    waits: Mutex<Waits>,
    /// Told when `waits` has changed, or the pool has been quiet.
    changed: Condvar,
    /// Whether a worker looks out before it sleeps; one at a time does.
    spinner: AtomicBool,
    /// Whether the pool may come to have no worker at all.
    may_be_empty: AtomicBool,
    /// How many threads the process may run at once.
    cpus: usize,
}

/// Who waits for the workers.
#[derive(Default)]
struct Waits {
    /// Workers that have been started, or are about to be, and have not left for good.
    alive: usize,
    /// Threads whose spawner has not returned.
    spawning: usize,
}

impl Drop for Core {
    fn drop(&mut self) {
        registry::leave(self.key);
    }
}

impl Core {
    /// Puts a pool together; it has no threads yet.
    pub(crate) fn new(key: u64, config: Config) -> Arc<Self> {
        let cpus = brigade_sync::thread::parallelism();
        let grows = config.growth != Growth::WhenBlocked;
        let inlet = Inlet::new(&config, cpus);
        Arc::new_cyclic(|me| Self {
            key,
            me: me.clone(),
            inlet,
            idle: Idle::new(config.size, grows),
            peers: Peers::new(),
            threads: Mutex::default(),
            members: Mutex::default(),
            keep: Box::new(Keep::new(Driving::new(me))),
            tasks: Tasks::new(),
            room: config.capacity.map(Room::new),
            elsewhere: Mutex::default(),
            waits: Mutex::default(),
            changed: Condvar::new(),
            spinner: AtomicBool::new(false),
            may_be_empty: AtomicBool::new(config.core_timeout || config.size.core == 0),
            cpus,
            config,
        })
    }

    /// Accepts a job from outside, or gives it back if the pool is closed or has no thread and can't start one.
    #[inline(always)]
    pub(crate) fn inject(&self, job: Job) -> Result<(), Job> {
        if self.may_be_empty() {
            return self.inject_held(job);
        }
        self.inlet.push(job)?;
        if self.idle.after_publishing().wants_help() {
            self.help();
        }
        Ok(())
    }

    /// The same for a pool that may have no worker.
    #[cold]
    #[inline(never)]
    fn inject_held(&self, job: Job) -> Result<(), Job> {
        if self.is_closed() {
            return Err(job);
        }
        let Some(_held) = self.hold() else { return Err(job) };
        self.inlet.push(job)?;
        if self.idle.after_publishing().wants_help() {
            self.help();
        }
        Ok(())
    }

    /// Accepts several jobs from outside, or gives back those that came too late.
    pub(crate) fn inject_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        let held = if self.may_be_empty() && !self.is_closed() { Some(self.hold()) } else { None };
        if matches!(held, Some(None)) {
            return Err(jobs);
        }
        let count = jobs.len();
        let result = self.inlet.push_batch(jobs);
        let accepted = count - result.as_ref().map_or_else(Vec::len, |()| 0);
        self.help_with(accepted, self.idle.after_publishing());
        result
    }

    /// Whether the pool may come to have no worker at all.
    #[inline(always)]
    fn may_be_empty(&self) -> bool {
        // Ordering: Relaxed: who submits beside the resize that makes it so is as if it had come before.
        self.may_be_empty.load(Ordering::Relaxed)
    }

    /// Whether anything is queued anywhere.
    fn has_work(&self) -> bool {
        !self.inlet.is_empty() || self.peers.iter().any(|peer| peer.remote.len() > 0)
    }

    /// How many jobs are queued elsewhere than on a worker.
    fn waiting(&self) -> usize {
        self.inlet.len()
    }

    /// How many jobs are queued.
    fn queued(&self) -> usize {
        let in_rings = self.peers.iter().map(|peer| peer.remote.len()).sum::<usize>();
        self.waiting() + in_rings
    }

    /// Reads the counters; the order in which they are read keeps each from passing what it is part of.
    pub(crate) fn metrics(&self) -> Metrics {
        let counters = || self.peers.iter().map(|peer| &*peer.counters);
        let sum = |pick: fn(&Counters) -> u64| counters().map(pick).sum::<u64>();
        let elsewhere = *self.elsewhere.lock();
        let panicked = sum(|counters| counters.panicked.get()) + elsewhere.panicked;
        let returned = sum(|counters| counters.returned.get()) + elsewhere.returned;
        let cancelled = sum(|counters| counters.cancelled.get()) + elsewhere.cancelled;
        let finished = returned + panicked + cancelled;
        let metrics = |index| self.peers.get(index).map(|peer| peer.metrics()).unwrap_or_default();
        let workers: Vec<WorkerMetrics> = (0..self.peers.len()).map(metrics).collect();
        let queued = self.waiting() as u64 + workers.iter().map(|one| one.queued).sum::<u64>();
        let accepted = self.inlet.pushed() + sum(|counters| counters.accepted.get());
        let accepted = accepted + self.elsewhere.lock().accepted;
        let again = sum(|counters| counters.moved.get()) + self.tasks.woken();
        let accepted = accepted.saturating_sub(again).max(finished);
        let queued = queued.min(accepted - finished);
        let word = self.idle.snapshot();
        // Once it is over the word stays as it is, and those that were parked leave.
        let (live, idle) = match word.terminated() {
            true => (self.waits.lock().alive, 0),
            false => (word.live(), word.parked()),
        };
        Metrics {
            live,
            idle,
            accepted,
            returned,
            panicked,
            cancelled,
            evicted: elsewhere.evicted,
            queued,
            running: accepted - finished - queued,
            workers,
        }
    }
}
