//! The state shared by the owner, the handles and the workers of one pool, and the protocols between them.
//! This module must not know the side of a worker.

pub(in crate::engine) mod admission;
pub(in crate::engine) mod broadcast;
pub(in crate::engine) mod close;
pub(in crate::engine) mod enter;
pub(in crate::engine) mod inspect;
pub(in crate::engine) mod monitor;

use core::mem;
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use brigade_sync::affinity::current_cpu;
use brigade_sync::fork::PerProcess;
use brigade_sync::time;
use brigade_sync::{AsymmetricFence, unmodelled};
use brigade_task::Job;

use super::current;
use super::idle::{Help, NoThread, Roster, Snapshot, Watch};
use super::key::Key;
use super::queues::Accepts;
use super::queues::injectors::BATCH;
use super::semaphore::Semaphore;
use super::sleep::events::WATCH_PERIOD;
use super::sleep::resources::Resources;
use super::threads::{Launch, Threads};
use super::timers::{Entry, TimerKey};
use super::work::Work;
use crate::values::{Config, Growth, Priority, Threads as Range};

/// Pools in the order of their keys.
type Pools = Vec<(Key, Weak<Core>)>;

/// The pools of this process, until they are freed.
static POOLS: PerProcess<unmodelled::Mutex<Pools>> = PerProcess::new();

/// Retries of a failed thread start by a blocking worker, while no thread can run the waiting work. The
/// pauses before them double, from 1 ms. A system refuses threads either briefly or for long; a brief refusal
/// may delay a job by about 100 ms.
const RETRIES: u32 = 7;

/// The state shared by the owner, the handles and the workers of one pool.
///
/// This type accepts work, has workers woken or started for it, and closes the pool; [`Work`] ends it. This file has
/// the injection of work and the choice of a worker for it, and `admission` the admission of submissions.
pub(crate) struct Core {
    pub(crate) work: Work,
    pub(crate) config: Arc<Config>,
    /// Boxed as the events of the work.
    pub(crate) threads: Box<Threads>,
    /// The permits for queued jobs; `None` if any number may be queued.
    pub(crate) permits: Option<Arc<Semaphore>>,
}

impl Drop for Core {
    fn drop(&mut self) {
        // In a forked child the list does not contain the parent's pools.
        if self.work.key.is_here() {
            POOLS.get().lock().retain(|&(key, _)| key != self.work.key);
        }
    }
}

impl Core {
    /// Assembles a pool without threads; each thread will call `run` and enter the `resources`. From now on
    /// the pool can be [found](Self::find).
    pub(crate) fn new(
        key: Key,
        mut config: Config,
        permits: Option<Arc<Semaphore>>,
        run: fn(Arc<Self>, usize),
        resources: fn(Weak<Self>) -> Resources,
    ) -> Arc<Self> {
        // The fence of forks is prepared only while that is cheap, in a process with a single thread: maybe
        // before its first pool, and never after.
        AsymmetricFence::prepare();
        let cpus = config.inherited.parallelism();
        // Made once: `Core::metrics` clones it.
        config.pool_name = Some(config.pool_name());
        let hooks = mem::take(&mut config.hooks);
        let config = Arc::new(config);
        // Made before the core, and boxed meanwhile: a pool may be built on a small stack, where a build without
        // optimization keeps several copies of the core.
        let mut work = Work::new(key, &config, hooks, cpus, resources(Weak::new()));
        let core = Arc::new_cyclic(|me: &Weak<Self>| {
            work.events.resources = resources(me.clone());
            let me = me.clone();
            let entry = move |index| -> Launch {
                let Some(core) = me.upgrade() else { unreachable!("it starts a thread") };
                Box::new(move |runs| if runs { run(core, index) } else { core.start_lost(index) })
            };
            let threads = Box::new(Threads::new(config.clone(), Box::new(entry)));
            Self { work: *work, config, threads, permits }
        });
        let mut pools = POOLS.get().lock();
        let position = pools.partition_point(|&(other, _)| other < key);
        pools.insert(position, (key, Arc::downgrade(&core)));
        drop(pools);
        core
    }

    /// Returns the pool with this key; `None` if it has been freed, or belongs to another process.
    #[cold]
    pub(crate) fn find(key: Key) -> Option<Arc<Self>> {
        if !key.is_here() {
            return None;
        }
        let pools = POOLS.get().lock();
        let position = pools.binary_search_by_key(&key, |&(key, _)| key).ok()?;
        pools[position].1.upgrade()
    }

    /// Accepts a job from outside. Returns the job if the pool is closed, or has no thread and fails to start
    /// a worker.
    #[inline(always)]
    pub(crate) fn inject(&self, job: Job) -> Result<(), Job> {
        if self.work.idle.may_be_empty() {
            return self.inject_as(Priority::Normal, job);
        }
        self.work.queues.injectors.mine().push(job)?;
        if self.work.idle.after_exchange().has_reserves() {
            self.help();
        }
        Ok(())
    }

    /// Like [`inject`](Self::inject), for a job of any class, and for a pool that may have no worker.
    #[cold]
    #[inline(never)]
    pub(crate) fn inject_as(&self, class: Priority, job: Job) -> Result<(), Job> {
        if self.work.is_closed() {
            return Err(job);
        }
        let Ok(reserved) = self.reserve() else { return Err(job) };
        self.work.queues.push(class, job, Accepts::IfOpen, &self.work.idle)?;
        // Still reserved: if the only worker left now, the job would depend on a new start, which may fail.
        if reserved.as_ref().is_some_and(|reserved| reserved.has_started) {
            self.offer_more_help();
        } else {
            self.ask_for_help(self.work.idle.after_publishing());
        }
        Ok(())
    }

    /// Accepts several jobs from outside, or returns the jobs pushed after the close.
    pub(crate) fn inject_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        // A closed pool needs no thread to reject jobs.
        let reserved = if self.work.is_closed() { Ok(None) } else { self.reserve() };
        if reserved.is_err() {
            return Err(jobs);
        }
        let count = jobs.len();
        let result = self.work.queues.injectors.mine().push_batch(jobs);
        let accepted = count - result.as_ref().map_or_else(Vec::len, |()| 0);
        self.help_with(accepted, self.work.idle.after_publishing());
        result
    }

    /// Queues a future of a class, woken by a thread that is not a worker of this pool; returns it if it will
    /// no longer be polled.
    ///
    /// A future is one job, accepted when it is spawned. The counters would see a further job each time it is
    /// queued again. So each requeueing is counted beforehand, like a move between queues, and subtracted.
    pub(crate) fn resume(&self, class: Priority, job: Job) -> Result<(), Job> {
        // The pool may have no thread and fail to start one. The future is then queued, and the start retried; a closed pool that
        // still has none drops it.
        let reserved = self.reserve();
        self.work.tasks.count_wake();
        let queued = self.work.queues.push(class, job, Accepts::IfOpen, &self.work.idle);
        let late = |job| self.work.push_late(class, job);
        queued.or_else(late).inspect_err(|_| self.work.tasks.uncount_wake())?;
        let seen = self.work.idle.after_publishing();
        if reserved.is_ok() || seen.parked() > 0 {
            self.ask_for_help(seen);
        } else {
            self.retry_starts(0);
        }
        Ok(())
    }

    /// Ensures that the pool has a worker until the returned guard is dropped. Returns `None` if the pool
    /// always has one.
    ///
    /// # Errors
    /// If no worker can be started.
    pub(super) fn reserve(&self) -> Result<Option<Reserved<'_>>, NoThread> {
        if !self.work.idle.may_be_empty() {
            return Ok(None);
        }
        let start = self.work.idle.hold()?;
        let reserved = Reserved { core: self, has_started: start.is_some() };
        let started = start.map_or(Ok(()), |index| self.start(index));
        started.map(|()| Some(reserved)).map_err(|_| NoThread)
    }

    /// Whether the pool has a worker, or could start one now.
    pub(crate) fn can_run(&self) -> bool {
        self.reserve().is_ok()
    }

    /// Wakes or starts a worker for work just published by the caller, if the state *seen* since requires it.
    #[inline(always)]
    pub(super) fn ask_for_help(&self, seen: Snapshot) {
        if seen.wants_help() {
            self.help();
        }
    }

    /// Like [`ask_for_help`](Self::ask_for_help), after a worker was started for the job. By now this worker
    /// may be parked, or run a different job.
    fn offer_more_help(&self) {
        let _ = self.work.idle.after_publishing();
        let may_grow = self.may_grow(self.work.queues.len());
        let has_more_than = |jobs| self.work.queues.has_more_than(jobs);
        self.bring(self.work.idle.pick(false, &has_more_than, may_grow), Self::wake_beside);
    }

    /// Wakes or starts a worker for published work, according to the wake-up rule and the growth policy.
    /// Returns the woken worker.
    #[cold]
    #[inline(never)]
    pub(super) fn help(&self) -> Option<usize> {
        self.help_by(Self::wake_beside)
    }

    /// Like [`help`](Self::help), with the given wake-up.
    pub(super) fn help_by(&self, wake: fn(&Self, usize)) -> Option<usize> {
        let seen = self.work.idle.snapshot();
        let searching = seen.searching();
        // Returns if the searchers suffice. Little else is read here, because an elastic pool below its largest
        // size gets here for each job.
        if searching > 0
            && !seen.is_below_core()
            && (seen.parked() > 0 || !self.work.queues.has_more_than(searching))
        {
            // More jobs wait than the searchers take at once: these may be waiting for the caller's CPU.
            let has_backlog = seen.parked() > 0
                && self.work.idle.has_free_cpus(1 + searching)
                && self.work.queues.injectors.mine().len() > searching * BATCH;
            let another =
                if has_backlog { self.work.idle.change(Roster::pick_parked) } else { None };
            another.into_iter().for_each(|index| wake(self, index));
            return another;
        }
        let queued = if seen.is_below_max() { self.work.queues.len() } else { 0 };
        let may_grow = self.may_grow(queued);
        let may_help = may_grow || seen.parked() > 0 || seen.is_understaffed();
        if !may_help {
            return None;
        }
        self.bring(self.work.idle.pick(true, &|coming| queued > coming, may_grow), wake)
    }

    /// Like [`help`](Self::help), for several jobs at once. Returns the last woken worker.
    pub(super) fn help_with(&self, jobs: usize, seen: Snapshot) -> Option<usize> {
        let mut woken = None;
        for _ in 0..if seen.has_reserves() { jobs } else { 0 } {
            let may_grow = self.may_grow(self.work.queues.len());
            let help = self.work.idle.change(|roster| roster.pick_another(may_grow));
            if help.wake.is_none() && help.start.is_none() {
                break;
            }
            woken = self.bring(help, Self::wake_beside).or(woken);
        }
        woken
    }

    /// Whether the pool may grow beyond its core size with this number of queued jobs.
    fn may_grow(&self, queued: usize) -> bool {
        match self.config.growth {
            Growth::OnSubmit => true,
            Growth::WhenQueued(jobs) => queued >= jobs,
            Growth::WhenBlocked => false,
        }
    }

    /// Wakes and starts the picked workers; returns the woken worker.
    fn bring(&self, help: Help, wake: fn(&Self, usize)) -> Option<usize> {
        // The wake-up comes first, because a start calls the user's spawner, which may take long.
        help.wake.into_iter().for_each(|index| wake(self, index));
        if let Some(index) = help.start {
            // A failed start has been retried.
            let _ = self.start(index);
        }
        help.wake
    }

    /// Like [`wake`](Work::wake), for a caller that continues to run: the worker leaves this CPU to the
    /// caller if a different CPU is free.
    pub(super) fn wake_beside(&self, index: usize) {
        let outside = usize::from(!current::is_worker_of(self.work.key));
        let is_free = self.config.may_spread() && self.work.idle.has_free_cpus(1 + outside);
        let sleeper = &self.work.queues.peers.at(index).sleeper;
        sleeper.set_waker(if is_free { current_cpu() } else { None });
        self.work.wake(index);
        sleeper.set_waker(None);
    }

    /// Starts at most `most` threads, until the pool has its core size.
    pub(crate) fn start_core(&self, most: usize) -> io::Result<()> {
        for _ in 0..most {
            match self.work.idle.change(Roster::pick_core) {
                Some(index) => self.start(index)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Removes a worker whose thread will never run.
    fn start_lost(&self, index: usize) {
        let shares = self.work.remove_unstarted(index);
        let lost_before = self.work.idle.roster().starts.lose();
        self.work.start_failed(shares);
        self.retry_starts(lost_before);
    }

    /// Starts a worker with a picked index. If that fails, the worker is removed. The start is retried if no
    /// thread can run the waiting work, whose submitter may have relied on this worker.
    fn start(&self, index: usize) -> io::Result<()> {
        self.start_once(index).inspect_err(|_| self.retry_starts(0))
    }

    /// Starts a worker if no thread can run the waiting work, after this number of retries. Does not call a
    /// spawner for ever that fails, or that loses one thread after the other.
    fn retry_starts(&self, retried: u32) {
        // A thread that has been started meanwhile is not lost without a further retry.
        let is_over = (retried..RETRIES).any(|_| self.retry_start());
        if !is_over && self.is_stranded() {
            self.drop_queued();
            self.work.settle();
        }
    }

    /// Starts a worker with a picked index. If that fails, the worker is removed.
    fn start_once(&self, index: usize) -> io::Result<()> {
        self.work.queues.peers.open(index, &self.config);
        let result = self.threads.start(index, &self.work.hooks());
        let shares = result.is_err().then(|| self.work.remove_unstarted(index));
        self.work.idle.started(index, result.is_ok());
        // The thread, and the pool, may have ended by now.
        self.work.tell_of_end();
        shares.into_iter().for_each(|shares| self.work.start_failed(shares));
        result
    }

    /// Starts a worker if no thread can run the waiting work. Returns `false` if the start failed.
    #[cold]
    fn retry_start(&self) -> bool {
        let index = if self.has_waiting_work() {
            self.work.idle.change(Roster::pick_if_stuck)
        } else {
            None
        };
        index.is_none_or(|index| self.start_once(index).is_ok())
    }

    /// Gets a worker for queued jobs, timers and I/O events after the calling worker was blocked.
    pub(super) fn replace_blocked(&self) {
        if self.work.idle.snapshot().is_understaffed() {
            // A worker that forked before it could see this state has asked for no worker.
            self.work.queues.fence_forks();
        }
        if self.work.queues.has_work() {
            self.help();
        }
        self.call_holder();
    }

    /// If all workers are blocked and no other may be started, calls a waiting worker to run the pool's jobs.
    pub(super) fn call_waiter_if_stuck(&self) {
        if self.work.idle.roster().is_stuck() {
            self.work.events.candidates.call_last();
        }
    }

    /// Whether jobs are queued, all workers are blocked, and a start has failed since the last new thread ran.
    pub(super) fn lacks_thread(&self) -> bool {
        self.has_failed_to_start() && self.work.queues.has_work()
    }

    fn has_failed_to_start(&self) -> bool {
        self.work.idle.snapshot().is_understaffed() && self.work.idle.roster().has_failed_to_start()
    }

    /// Tries again to start a worker for work that waits, if that has failed, until the pauses have become long.
    pub(super) fn retry_for_long(&self) {
        if self.has_failed_to_start() {
            let mut pauses = (0..RETRIES).map(|retry| Duration::from_millis(1 << retry));
            _ = pauses.any(|pause| {
                !self.has_waiting_work() || {
                    time::sleep(pause);
                    self.retry_start()
                }
            });
        }
    }

    /// Whether jobs are queued, or timers and I/O events are waited for.
    fn has_waiting_work(&self) -> bool {
        self.work.queues.has_work() || self.work.events.are_wanted()
    }

    pub(crate) fn resize(&self, range: Range) {
        self.work.idle.resize(self.config.size_of(range));
        self.call_waiter_if_stuck();
        // Surplus workers leave at once; the remaining workers learn whether their keep-alive now applies.
        // All are picked before the first is woken, because a woken worker soon sleeps again.
        let parked: Vec<_> =
            core::iter::from_fn(|| self.work.idle.change(Roster::pick_parked)).collect();
        parked.into_iter().for_each(|index| self.work.wake(index));
        // A worker that was alone in the pool, and could not see the new size yet, has queued jobs without a fence.
        self.work.queues.fence();
        self.help_with(self.work.queues.len(), self.work.idle.snapshot());
    }

    /// Sets a timer. Returns the entry if the pool no longer accepts it, has no thread and can't start one,
    /// or belongs to another process.
    pub(crate) fn set_timer(&self, at: Instant, entry: Entry) -> Result<TimerKey, Entry> {
        let Some(Ok(_reserved)) = self.work.key.is_here().then(|| self.reserve()) else {
            return Err(entry);
        };
        let worker = current::index_in(self.work.key).unwrap_or(0);
        let set = self.work.events.timers.set(worker, at, entry);
        // During the attempt the closure counted as pending, so the end of the pool may have waited for it.
        let (key, is_first) = set.inspect_err(|_| self.work.settle_finish())?;
        if is_first {
            self.event_added(Some(at));
        }
        Ok(key)
    }

    /// Makes the driver holder look again, or gets a holder. Called after a timer due at `at`, or a new
    /// driver, has been published.
    pub(super) fn event_added(&self, at: Option<Instant>) {
        if self.work.idle.after_publishing().driver_held() {
            if let Some(index) = self.work.idle.change(Roster::pick_driver_holder) {
                self.work.wake(index);
            }
        } else if !self.work.events.candidates.are_there()
            || !self.work.events.candidates.call_poller()
        {
            // The monitor may look too late for this timer.
            let is_soon = |at| at <= self.work.events.timers.clock().now() + WATCH_PERIOD;
            if at.is_some_and(is_soon) || !self.work.idle.snapshot().attended() {
                self.call_holder();
            }
        }
    }

    /// Ensures that timers and I/O events are handled while the caller, which has just polled, runs jobs. If
    /// no worker polls, the monitor wakes a parked worker for them.
    pub(super) fn see_to_driver(&self) {
        if !self.work.events.are_wanted() {
            return;
        }
        let seen = self.work.idle.after_publishing();
        if seen.driver_held() || seen.attended() {
            return;
        }
        if seen.parked() == 0 || !self.ask_monitor(Watch::Widely) {
            self.call_holder();
        }
    }

    /// Makes a worker hold the driver, if there is anything to wait for. If no worker can be woken or
    /// started, a candidate polls.
    pub(super) fn call_holder(&self) {
        if !self.work.events.are_wanted() {
            return;
        }
        let seen = self.work.idle.after_publishing();
        if seen.driver_held() {
            return;
        }
        if seen.parked() > 0 || seen.is_understaffed() {
            self.work.events.note_call();
            // As for a single queued job.
            self.bring(self.work.idle.pick(true, &|coming| coming == 0, false), Self::wake_beside);
            if !self.work.idle.roster().starts.has_failed {
                return;
            }
        }
        if self.work.events.candidates.are_there() {
            self.work.events.candidates.call();
        }
    }
}

/// Guarantees that the pool has a worker until this is dropped.
pub(super) struct Reserved<'a> {
    core: &'a Core,
    /// Whether a worker has been started for this guard.
    has_started: bool,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.core.work.idle.roster().release();
    }
}
