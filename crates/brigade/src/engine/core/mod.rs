//! What the owner, the handles and the workers of one pool share, and the protocols between them. It must not know the side of a
//! worker.

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

use super::bounded::Bound;
use super::bounded::semaphore::Semaphore;
use super::current;
use super::ends::ledger::Ledger;
use super::idle::{Help, Idle, NoThread, Snapshot, Watch};
use super::key::Key;
use super::owned_tasks::OwnedTasks;
use super::queues::{Accepts, Queues};
use super::sleep::events::{Events, WATCH_PERIOD};
use super::sleep::resources::Resources;
use super::sleep::signal::Signal;
use super::sorted_map::SortedMap;
use super::threads::{Launch, Threads};
use super::timers::{Entry, TimerKey, Timers};
use crate::values::{Config, Growth, Priority, Size, Threads as Range};

/// The pools of this process that have not been dropped.
static POOLS: PerProcess<unmodelled::Mutex<SortedMap<Key, Weak<Core>>>> = PerProcess::new();

/// The message with which a forked child is aborted.
const ORPHAN: &str = "brigade: a job, or the body of a scope, has forked and goes on in the child, where its pool is not; \
    it must call exec or _exit there";

/// How often a worker that blocks retries a failed thread start, while work waits that no thread can run: after pauses that double, from
/// 1 ms. A system refuses a thread either briefly or for long; the former may delay a job by some 100 ms.
const RETRIES: u32 = 7;

/// What the owner, the handles and the workers of one pool share.
///
/// Each part has its own state and methods. The protocols that need several parts are methods of this type, each in its own
/// file. This file has the injection of work and the choice of a worker for it, `admission` the admission of submissions,
/// `resume` the requeueing of futures, and `end` the end of a pool. The twelve fields are these parts and nothing else.
pub(crate) struct Core {
    pub(crate) key: Key,
    pub(crate) config: Arc<Config>,
    pub(super) queues: Queues,
    pub(super) idle: Idle,
    /// Boxed, as a pool may be built on a small stack, and a build without optimization has several copies of this type there.
    pub(super) threads: Box<Threads>,
    /// Boxed as `threads`.
    pub(super) events: Box<Events>,
    /// What a thread enters so that its I/O resources belong to this pool.
    pub(super) resources: Resources,
    pub(super) tasks: OwnedTasks,
    /// Boxed as `threads`.
    pub(super) ledger: Box<Ledger>,
    /// What limits the queues, if the pool is bounded.
    bound: Option<Bound>,
    /// Notified when the pool has been quiet or has ended, or when work off the pool has ended after that.
    pub(super) rest: Signal,
    /// The trace of what the workers do, if there is one.
    #[cfg(feature = "trace")]
    pub(super) tracer: brigade_trace::Tracer,
}

/// A worker that a thread is started for.
struct WorkerThread {
    core: Arc<Core>,
    index: usize,
    run: fn(Arc<Core>, usize),
}

impl Launch for WorkerThread {
    fn run(self: Box<Self>) {
        (self.run)(self.core, self.index);
    }

    fn lost(self: Box<Self>) {
        let shares = self.core.fail(self.index);
        self.core.start_failed();
        self.core.cancel_shares(shares);
        self.core.retry_start();
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // In a forked child the parent's pools are not in the list.
        if self.key.is_here() {
            let former = POOLS.get().lock().remove_if(self.key, |_| true);
            drop(former);
        }
    }
}

impl Core {
    /// Assembles a pool without threads; each thread will call `run`, and enter the `resources`. From now on it can be [found](Self::find).
    pub(crate) fn new(
        key: Key,
        config: Config,
        bound: Option<Bound>,
        run: fn(Arc<Self>, usize),
        resources: fn(Weak<Self>) -> Resources,
    ) -> Arc<Self> {
        // For forks, if that costs nothing now: a process may have one thread before its first pool, and never after.
        AsymmetricFence::prepare();
        let cpus = config.inherited.parallelism();
        let config = Arc::new(config);
        let core = Arc::new_cyclic(|me: &Weak<Self>| {
            let resources = resources(me.clone());
            let me = me.clone();
            let entry = move |index| -> Box<dyn Launch> {
                let Some(core) = me.upgrade() else { unreachable!("it starts a thread") };
                Box::new(WorkerThread { core, index, run })
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
                bound,
                rest: Signal::default(),
                #[cfg(feature = "trace")]
                tracer: brigade_trace::Tracer::new(config.trace_events),
                config,
            }
        });
        *POOLS.get().lock().get_or_default(key) = Arc::downgrade(&core);
        core
    }

    /// The pool that a key names; `None` if it has been freed, or belongs to another process.
    #[cold]
    pub(crate) fn find(key: Key) -> Option<Arc<Self>> {
        if !key.is_here() {
            return None;
        }
        POOLS.get().lock().get(key).and_then(Weak::upgrade)
    }

    /// Aborts a forked child that is about to take a lock of the parent's pool, or to wait for its threads.
    pub(crate) fn end_if_orphan(&self) {
        if !self.key.is_here() {
            brigade_sync::fork::abort(ORPHAN);
        }
    }

    /// Accepts a job from outside, or returns it if the pool is closed or has no thread and can't start one.
    #[inline(always)]
    pub(crate) fn inject(&self, job: Job) -> Result<(), Job> {
        if self.idle.may_be_empty() {
            return self.inject_as(Priority::Normal, job);
        }
        self.queues.injectors.push(job)?;
        self.ask_for_help(self.idle.after_exchange());
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
        // Still reserved: if the only worker left now, the job would depend on another start, which may fail.
        if reserved.as_ref().is_some_and(|reserved| reserved.has_started) {
            self.offer_more_help();
        } else {
            self.ask_for_help(self.idle.after_publishing());
        }
        Ok(())
    }

    /// Accepts several jobs from outside, or returns those that came after the close.
    pub(crate) fn inject_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        // A closed pool needs no thread to reject jobs.
        let reserved = if self.is_closed() { Ok(None) } else { self.reserve() };
        if reserved.is_err() {
            return Err(jobs);
        }
        let count = jobs.len();
        let result = self.queues.injectors.push_batch(jobs);
        let accepted = count - result.as_ref().map_or_else(Vec::len, |()| 0);
        self.help_with(accepted, self.idle.after_publishing());
        result
    }

    /// Ensures that the pool has a worker until the returned value is dropped, if it is a pool that may have none.
    ///
    /// # Errors
    /// If none can be started.
    pub(super) fn reserve(&self) -> Result<Option<Reserved<'_>>, NoThread> {
        if !self.idle.may_be_empty() {
            return Ok(None);
        }
        let start = self.idle.hold()?;
        let reserved = Reserved { core: self, has_started: start.is_some() };
        let started = start.map_or(Ok(()), |index| self.start(index));
        started.map(|()| Some(reserved)).map_err(|_| NoThread)
    }

    /// Wakes or starts a worker for work that the caller has just published, if that is necessary by the state that it has *seen* since.
    #[inline(always)]
    pub(super) fn ask_for_help(&self, seen: Snapshot) {
        if seen.wants_help() {
            self.help();
        }
    }

    /// Like [`ask_for_help`](Self::ask_for_help), for a job for which a worker has been started. That may be parked by now, or run
    /// another job.
    fn offer_more_help(&self) {
        let _ = self.idle.after_publishing();
        let may_grow = self.may_grow(self.queues.len());
        let has_more_than = |jobs| self.queues.has_more_than(jobs);
        self.bring(self.idle.pick(false, has_more_than, may_grow), Self::wake_beside);
    }

    /// Wakes or starts a worker for published work, according to the wake-up rule and the growth policy. Returns the worker that it
    /// has woken.
    #[cold]
    #[inline(never)]
    pub(super) fn help(&self) -> Option<usize> {
        self.help_by(Self::wake_beside)
    }

    /// Like [`help`](Self::help), by a given wake.
    pub(super) fn help_by(&self, wake: fn(&Self, usize)) -> Option<usize> {
        let seen = self.idle.snapshot();
        let searching = seen.searching();
        // Whether there is more than the searchers will take. Nothing more is read here: an elastic pool that is not full
        // reaches this for each job.
        if searching > 0
            && !seen.is_below_core()
            && (seen.parked() > 0 || !self.queues.has_more_than(searching))
        {
            return None;
        }
        let queued = if seen.is_below_max() { self.queues.len() } else { 0 };
        let may_grow = self.may_grow(queued);
        let may_help = may_grow || seen.parked() > 0 || seen.is_understaffed();
        if !may_help {
            return None;
        }
        self.bring(self.idle.pick(true, |coming| queued > coming, may_grow), wake)
    }

    /// Like [`help`](Self::help), for several jobs at once. Returns the last worker that it has woken.
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

    /// Whether the pool may grow beyond its core size with this many queued jobs.
    fn may_grow(&self, queued: usize) -> bool {
        match self.config.growth {
            Growth::OnSubmit => true,
            Growth::WhenQueued(jobs) => queued >= jobs,
            Growth::WhenBlocked => false,
        }
    }

    /// Wakes and starts the workers that were picked; returns the one that was woken.
    fn bring(&self, help: Help, wake: fn(&Self, usize)) -> Option<usize> {
        // First, as a start may take long: it calls the user's spawner.
        help.wake.into_iter().for_each(|index| wake(self, index));
        if let Some(index) = help.start {
            // It has been tried again.
            let _ = self.start(index);
        }
        help.wake
    }

    /// Sets the token of a worker that was picked.
    pub(super) fn wake(&self, index: usize) {
        let sleeper = &self.queues.peers.at(index).sleeper;
        self.tell_wake(index, || sleeper.unpark(&self.events.driver));
    }

    /// Like [`wake`](Self::wake), by a thread that goes on; the worker leaves this CPU to it if another one is free.
    pub(super) fn wake_beside(&self, index: usize) {
        let outside = usize::from(!current::is_worker_of(self.key));
        let is_free = self.config.may_spread() && self.idle.has_free_cpus(1 + outside);
        let sleeper = &self.queues.peers.at(index).sleeper;
        sleeper.set_waker(if is_free { current_cpu() } else { None });
        self.wake(index);
        sleeper.set_waker(None);
    }

    /// Starts threads until the pool has its core size, but at most this many.
    pub(crate) fn start_core(&self, most: usize) -> io::Result<()> {
        for _ in 0..most {
            match self.idle.pick_core() {
                Some(index) => self.start(index)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Starts a worker with an index that was picked. If that fails, the worker is removed again, and the start retried for work that
    /// is queued: whoever has queued it may have relied on this worker.
    fn start(&self, index: usize) -> io::Result<()> {
        self.start_once(index).inspect_err(|_| _ = self.retry_start())
    }

    /// Starts a worker with an index that was picked. If that fails, the worker is removed again.
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

    /// Wakes another worker for jobs that relied on one whose start has failed. Starts none, as that has just failed.
    fn start_failed(&self) {
        // A worker that waits inside a job may be the only one that is left.
        self.events.candidates.call_last();
        if self.queues.has_work() {
            if let Some(index) = self.idle.pick_parked() {
                self.wake(index);
            }
        }
        self.settle();
    }

    /// Starts a worker if work waits that no thread can run; `true` if there is nothing left to try.
    #[cold]
    fn retry_start(&self) -> bool {
        let has_work = self.queues.has_work() || self.events.are_wanted();
        let index = if has_work { self.idle.pick_if_stuck() } else { None };
        index.is_none_or(|index| self.start_once(index).is_ok())
    }

    /// Gets another worker for queued jobs, timers and I/O events after one has been blocked.
    pub(super) fn replace_blocked(&self) {
        if self.idle.snapshot().is_understaffed() {
            // A worker that has forked before it could see that was not asked to start another.
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

    /// Changes the size of the pool.
    pub(crate) fn resize(&self, range: Range) {
        let resize = || self.idle.resize(self.config.size_of(range));
        self.threads.following.stop(resize);
        self.act_on_size();
    }

    /// Changes the size of the pool if it follows what has changed. Called by busy workers from time to time.
    pub(super) fn follow(&self) {
        let resize = |threads: usize| self.idle.resize(self.config.size_of(threads.into()));
        if self.threads.following.look(resize) {
            self.act_on_size();
        }
    }

    /// Has the workers act on a new size.
    #[cold]
    fn act_on_size(&self) {
        // Surplus workers leave at once, and the others learn whether their keep-alive now applies. All are picked first: a
        // worker that is woken soon sleeps again.
        let parked: Vec<_> = core::iter::from_fn(|| self.idle.pick_parked()).collect();
        parked.into_iter().for_each(|index| self.wake(index));
        self.queues.fence_forks();
        self.help_with(self.queues.len(), self.idle.snapshot());
    }

    /// What limits the queues; `None` if any number of jobs may be queued.
    pub(crate) fn bound(&self) -> Option<&Bound> {
        self.bound.as_ref()
    }

    /// How many jobs may be queued; `None` if any number may.
    pub(crate) fn permits(&self) -> Option<&Arc<Semaphore>> {
        self.bound().map(|bound| &bound.permits)
    }

    /// Sets a timer. Returns it if the pool has ended, has no thread and can't start one, or belongs to another process.
    pub(crate) fn set_timer(&self, at: Instant, entry: Entry) -> Result<TimerKey, Entry> {
        let Some(Ok(_reserved)) = self.key.is_here().then(|| self.reserve()) else {
            return Err(entry);
        };
        let worker = current::index_in(self.key).unwrap_or(0);
        let set = self.events.timers.set(worker, at, entry);
        // While it was tried it counted as one that the end of the pool waits for.
        let (key, is_first) = set.inspect_err(|_| self.settle_finish())?;
        if is_first {
            self.event_added(Some(at));
        }
        Ok(key)
    }

    /// The timers, to change or remove one.
    pub(crate) fn timers(&self) -> &Timers {
        &self.events.timers
    }

    /// Has the driver holder look again, or gets one. Called after a new timer, which is due `at` some time, or a new driver has been
    /// published.
    pub(super) fn event_added(&self, at: Option<Instant>) {
        if self.idle.after_publishing().driver_held() {
            if let Some(index) = self.idle.pick_driver_holder() {
                self.wake(index);
            }
        } else if !self.events.candidates.are_there() || !self.events.candidates.call_poller() {
            // The monitor may look too late for it.
            let is_soon = |at| at <= self.timers().clock().now() + WATCH_PERIOD;
            if at.is_some_and(is_soon) || !self.idle.snapshot().attended() {
                self.call_holder();
            }
        }
    }

    /// Has timers and I/O events handled while the caller, which has polled them, goes on to run: by a parked worker if the monitor sees that no
    /// worker polls.
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

    /// Has a worker hold the driver, if there is anything to wait for and a worker that could.
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
            // As for one job that is queued.
            self.bring(self.idle.pick(true, |coming| coming == 0, false), Self::wake_beside);
        } else if self.events.candidates.are_there() {
            self.events.candidates.call();
        }
    }
}

/// Guarantees that the pool has a worker until this is dropped.
pub(super) struct Reserved<'a> {
    core: &'a Core,
    /// Whether that worker has been started for this.
    has_started: bool,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.core.idle.release();
    }
}
