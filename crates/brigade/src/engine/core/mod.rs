//! The state shared by the owner, the handles and the workers of one pool, and the protocols between them.
//! This module must not know the side of a worker.

pub(in crate::engine) mod admission;
pub(in crate::engine) mod broadcast;
pub(in crate::engine) mod counts;
pub(in crate::engine) mod dispatch;
pub(in crate::engine) mod end;
pub(in crate::engine) mod enter;
pub(in crate::engine) mod inspect;
pub(in crate::engine) mod monitor;
pub(in crate::engine) mod resume;

use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use brigade_sync::affinity::current_cpu;
use brigade_sync::fork::PerProcess;
use brigade_sync::time;
use brigade_sync::{AsymmetricFence, unmodelled};
use brigade_task::Job;

use super::current;
use super::ends::ledger::Ledger;
use super::idle::{Help, Idle, NoThread, Snapshot, Watch};
use super::key::Key;
use super::owned_tasks::OwnedTasks;
use super::queues::injectors::BATCH;
use super::queues::{Accepts, Queues};
use super::semaphore::Semaphore;
use super::sleep::events::{Events, WATCH_PERIOD};
use super::sleep::resources::Resources;
use super::threads::{Launch, Threads};
use super::timers::{Entry, TimerKey, Timers};
use crate::values::{Config, Growth, Priority, Size, Threads as Range};

/// Pools in the order of their keys.
type Pools = Vec<(Key, Weak<Core>)>;

/// The pools of this process, until they are freed.
static POOLS: PerProcess<unmodelled::Mutex<Pools>> = PerProcess::new();

/// The message of a forked child's abort.
const ORPHAN: &str = "brigade: a job, or the body of a scope, has forked and goes on in the child, where its pool is not; \
    it must call exec or _exit there";

/// Retries of a failed thread start by a blocking worker, while no thread can run the waiting work. The
/// pauses before them double, from 1 ms. A system refuses threads either briefly or for long; a brief refusal
/// may delay a job by about 100 ms.
const RETRIES: u32 = 7;

/// The state shared by the owner, the handles and the workers of one pool.
///
/// Each part has its own state and methods. The protocols of several parts are methods of this type, each in
/// its own file. This file has the injection of work and the choice of a worker for it, `admission` the
/// admission of submissions, `resume` the requeueing of futures, and `end` the end of a pool. The eleven
/// fields are these parts and nothing else.
pub(crate) struct Core {
    pub(crate) key: Key,
    pub(crate) config: Arc<Config>,
    pub(super) queues: Queues,
    pub(super) idle: Idle,
    /// Boxed, because a pool may be built on a small stack, where a build without optimization keeps several
    /// copies of this type.
    pub(super) threads: Box<Threads>,
    /// Boxed as `threads`.
    pub(super) events: Box<Events>,
    /// Entered by a thread so that its I/O resources belong to this pool.
    pub(super) resources: Resources,
    pub(super) tasks: OwnedTasks,
    /// Boxed as `threads`.
    pub(super) ledger: Box<Ledger>,
    /// The permits for queued jobs, if the pool is bounded.
    permits: Option<Arc<Semaphore>>,
    /// Records the activity of the workers while the pool is traced.
    #[cfg(feature = "trace")]
    pub(super) tracer: brigade_trace::Tracer,
}

impl Drop for Core {
    fn drop(&mut self) {
        // In a forked child the list does not contain the parent's pools.
        if self.key.is_here() {
            POOLS.get().lock().retain(|&(key, _)| key != self.key);
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
        config.pool_name.given = Some(config.pool_name());
        let config = Arc::new(config);
        let core = Arc::new_cyclic(|me: &Weak<Self>| {
            let resources = resources(me.clone());
            let me = me.clone();
            let entry = move |index| -> Launch {
                let Some(core) = me.upgrade() else { unreachable!("it starts a thread") };
                Box::new(move |runs| if runs { run(core, index) } else { core.start_lost(index) })
            };
            Self {
                key,
                queues: Queues::new(&config, cpus),
                idle: Idle::new(&config, cpus),
                threads: Box::new(Threads::new(config.clone(), Box::new(entry))),
                events: Box::new(Events::new(config.size.max.min(cpus), config.is_paused)),
                resources,
                tasks: OwnedTasks::new(),
                ledger: Box::default(),
                permits,
                #[cfg(feature = "trace")]
                tracer: brigade_trace::Tracer::default(),
                config,
            }
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

    /// Aborts a forked child before it locks the parent's pool or waits for its threads.
    pub(crate) fn end_if_orphan(&self) {
        if !self.key.is_here() {
            brigade_sync::fork::abort(ORPHAN);
        }
    }

    /// Accepts a job from outside. Returns the job if the pool is closed, or has no thread and fails to start
    /// a worker.
    #[inline(always)]
    pub(crate) fn inject(&self, job: Job) -> Result<(), Job> {
        if self.idle.may_be_empty() {
            return self.inject_as(Priority::Normal, job);
        }
        self.queues.injectors.mine().push(job)?;
        if self.idle.after_exchange().has_reserves() {
            self.help();
        }
        Ok(())
    }

    /// Like [`inject`](Self::inject), for a job of any class, and for a pool that may have no worker.
    #[cold]
    #[inline(never)]
    pub(crate) fn inject_as(&self, class: Priority, job: Job) -> Result<(), Job> {
        if self.is_closed() {
            return Err(job);
        }
        let Ok(reserved) = self.reserve() else { return Err(job) };
        self.queues.push(class, job, Accepts::IfOpen, &self.idle)?;
        // Still reserved: if the only worker left now, the job would depend on a new start, which may fail.
        if reserved.as_ref().is_some_and(|reserved| reserved.has_started) {
            self.offer_more_help();
        } else {
            self.ask_for_help(self.idle.after_publishing());
        }
        Ok(())
    }

    /// Accepts several jobs from outside, or returns the jobs pushed after the close.
    pub(crate) fn inject_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        // A closed pool needs no thread to reject jobs.
        let reserved = if self.is_closed() { Ok(None) } else { self.reserve() };
        if reserved.is_err() {
            return Err(jobs);
        }
        let count = jobs.len();
        let result = self.queues.injectors.mine().push_batch(jobs);
        let accepted = count - result.as_ref().map_or_else(Vec::len, |()| 0);
        self.help_with(accepted, self.idle.after_publishing());
        result
    }

    /// Ensures that the pool has a worker until the returned guard is dropped. Returns `None` if the pool
    /// always has one.
    ///
    /// # Errors
    /// If no worker can be started.
    pub(super) fn reserve(&self) -> Result<Option<Reserved<'_>>, NoThread> {
        if !self.idle.may_be_empty() {
            return Ok(None);
        }
        let start = self.idle.hold()?;
        let reserved = Reserved { core: self, has_started: start.is_some() };
        let started = start.map_or(Ok(()), |index| self.start(index));
        started.map(|()| Some(reserved)).map_err(|_| NoThread)
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
        let _ = self.idle.after_publishing();
        let may_grow = self.may_grow(self.queues.len());
        let has_more_than = |jobs| self.queues.has_more_than(jobs);
        self.bring(self.idle.pick(false, has_more_than, may_grow), Self::wake_beside);
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
        let seen = self.idle.snapshot();
        let searching = seen.searching();
        // Returns if the searchers suffice. Little else is read here, because an elastic pool below its largest
        // size gets here for each job.
        if searching > 0
            && !seen.is_below_core()
            && (seen.parked() > 0 || !self.queues.has_more_than(searching))
        {
            // More jobs wait than the searchers take at once: these may be waiting for the caller's CPU.
            let has_backlog = seen.parked() > 0
                && self.idle.has_free_cpus(1 + searching)
                && self.queues.injectors.mine().len() > searching * BATCH;
            let another = if has_backlog { self.idle.pick_parked() } else { None };
            another.into_iter().for_each(|index| wake(self, index));
            return another;
        }
        let queued = if seen.is_below_max() { self.queues.len() } else { 0 };
        let may_grow = self.may_grow(queued);
        let may_help = may_grow || seen.parked() > 0 || seen.is_understaffed();
        if !may_help {
            return None;
        }
        self.bring(self.idle.pick(true, |coming| queued > coming, may_grow), wake)
    }

    /// Like [`help`](Self::help), for several jobs at once. Returns the last woken worker.
    pub(super) fn help_with(&self, jobs: usize, seen: Snapshot) -> Option<usize> {
        let mut woken = None;
        for _ in 0..if seen.has_reserves() { jobs } else { 0 } {
            let help = self.idle.pick_another(self.may_grow(self.queues.len()));
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

    /// Sets the token of a picked worker.
    pub(super) fn wake(&self, index: usize) {
        let sleeper = &self.queues.peers.at(index).sleeper;
        self.tell_wake(index, || sleeper.unpark(&self.events.driver));
    }

    /// Like [`wake`](Self::wake), for a caller that continues to run: the worker leaves this CPU to the
    /// caller if a different CPU is free.
    pub(super) fn wake_beside(&self, index: usize) {
        let outside = usize::from(!current::is_worker_of(self.key));
        let is_free = self.config.may_spread() && self.idle.has_free_cpus(1 + outside);
        let sleeper = &self.queues.peers.at(index).sleeper;
        sleeper.set_waker(if is_free { current_cpu() } else { None });
        self.wake(index);
        sleeper.set_waker(None);
    }

    /// Starts at most `most` threads, until the pool has its core size.
    pub(crate) fn start_core(&self, most: usize) -> io::Result<()> {
        for _ in 0..most {
            match self.idle.pick_core() {
                Some(index) => self.start(index)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Removes a worker whose thread will never run.
    fn start_lost(&self, index: usize) {
        let shares = self.fail(index);
        self.start_failed();
        self.cancel_shares(shares);
        self.retry_start();
    }

    /// Starts a worker with a picked index. If that fails, the worker is removed. The start is retried once
    /// if no thread can run the waiting work, whose submitter may have relied on this worker.
    fn start(&self, index: usize) -> io::Result<()> {
        self.start_once(index).inspect_err(|_| _ = self.retry_start())
    }

    /// Starts a worker with a picked index. If that fails, the worker is removed.
    fn start_once(&self, index: usize) -> io::Result<()> {
        self.queues.peers.open(index, &self.config);
        let result = self.threads.start(index);
        let shares = if result.is_err() { self.fail(index) } else { Vec::new() };
        self.idle.started(index, result.is_ok());
        if result.is_err() {
            self.start_failed();
            self.cancel_shares(shares);
        }
        result
    }

    /// Wakes a parked worker for jobs that relied on a failed start. Starts no worker, because a start has
    /// just failed.
    fn start_failed(&self) {
        // A worker waiting inside a job may be the last worker.
        self.events.candidates.call_last();
        if self.queues.has_work() {
            if let Some(index) = self.idle.pick_parked() {
                self.wake(index);
            }
        }
        self.settle();
    }

    /// Starts a worker if no thread can run the waiting work. Returns `false` if the start failed.
    #[cold]
    fn retry_start(&self) -> bool {
        let has_work = self.queues.has_work() || self.events.are_wanted();
        let index = if has_work { self.idle.pick_if_stuck() } else { None };
        index.is_none_or(|index| self.start_once(index).is_ok())
    }

    /// Gets a worker for queued jobs, timers and I/O events after the calling worker was blocked.
    pub(super) fn replace_blocked(&self) {
        if self.idle.snapshot().is_understaffed() {
            // A worker that forked before it could see this state has asked for no worker.
            self.queues.fence_forks();
        }
        if self.queues.has_work() {
            self.help();
        }
        self.call_holder();
        if self.idle.snapshot().is_understaffed() && self.idle.has_failed() {
            let mut pauses = (0..RETRIES).map(|retry| Duration::from_millis(1 << retry));
            _ = pauses.any(|pause| {
                time::sleep(pause);
                self.retry_start()
            });
        }
    }

    /// How many workers there may be.
    pub(crate) fn size(&self) -> Size {
        self.idle.size()
    }

    pub(crate) fn resize(&self, range: Range) {
        self.idle.resize(self.config.size_of(range));
        // Surplus workers leave at once; the remaining workers learn whether their keep-alive now applies.
        // All are picked before the first is woken, because a woken worker soon sleeps again.
        let parked: Vec<_> = core::iter::from_fn(|| self.idle.pick_parked()).collect();
        parked.into_iter().for_each(|index| self.wake(index));
        self.queues.fence_forks();
        self.help_with(self.queues.len(), self.idle.snapshot());
    }

    /// The permits for queued jobs; `None` if any number may be queued.
    pub(crate) fn permits(&self) -> Option<&Arc<Semaphore>> {
        self.permits.as_ref()
    }

    /// Sets a timer. Returns the entry if the pool no longer accepts it, has no thread and can't start one,
    /// or belongs to another process.
    pub(crate) fn set_timer(&self, at: Instant, entry: Entry) -> Result<TimerKey, Entry> {
        let Some(Ok(_reserved)) = self.key.is_here().then(|| self.reserve()) else {
            return Err(entry);
        };
        let worker = current::index_in(self.key).unwrap_or(0);
        let set = self.events.timers.set(worker, at, entry);
        // During the attempt the closure counted as pending, so the end of the pool may have waited for it.
        let (key, is_first) = set.inspect_err(|_| self.settle_finish())?;
        if is_first {
            self.event_added(Some(at));
        }
        Ok(key)
    }

    /// The timers of this pool.
    pub(crate) fn timers(&self) -> &Timers {
        &self.events.timers
    }

    /// Makes the driver holder look again, or gets a holder. Called after a timer due at `at`, or a new
    /// driver, has been published.
    pub(super) fn event_added(&self, at: Option<Instant>) {
        if self.idle.after_publishing().driver_held() {
            if let Some(index) = self.idle.pick_driver_holder() {
                self.wake(index);
            }
        } else if !self.events.candidates.are_there() || !self.events.candidates.call_poller() {
            // The monitor may look too late for this timer.
            let is_soon = |at| at <= self.timers().clock().now() + WATCH_PERIOD;
            if at.is_some_and(is_soon) || !self.idle.snapshot().attended() {
                self.call_holder();
            }
        }
    }

    /// Ensures that timers and I/O events are handled while the caller, which has just polled, runs jobs. If
    /// no worker polls, the monitor wakes a parked worker for them.
    pub(super) fn see_to_driver(&self) {
        if !self.events.are_wanted() {
            return;
        }
        let seen = self.idle.after_publishing();
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
        if !self.events.are_wanted() {
            return;
        }
        let seen = self.idle.after_publishing();
        if seen.driver_held() {
            return;
        }
        if seen.parked() > 0 || seen.is_understaffed() {
            self.events.note_call();
            // As for a single queued job.
            self.bring(self.idle.pick(true, |coming| coming == 0, false), Self::wake_beside);
        } else if self.events.candidates.are_there() {
            self.events.candidates.call();
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
        self.core.idle.release();
    }
}
