//! Pools of all kinds, from their start to their end.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brigade::{
    Builder, Growth, Handle, Idle, LocalPool, Metrics, NewThread, OnPanic, Order, Pool, Queueing,
    Shutdown, Thread, WhenFull,
};
use brigade_sync::time;
use fastrand::Rng;

use crate::act::{act, note};
use crate::futures::{future, local};
use crate::machine::{self, PerRun};
use crate::program::{Call, Pair};
use crate::verb::{By, Full, How, Lifetime, Micros, Setting, Settings, Verb};
use crate::world::{World, contained, micros};

/// How often the hooks of a pool were called.
#[derive(Default)]
struct Hooks {
    starts: AtomicU64,
    stops: AtomicU64,
    outcomes: AtomicU64,
}

/// The number of the next pool, its name: a job knows its pool by that.
static NAMES: AtomicU64 = AtomicU64::new(0);

/// How the name of a pool without threads ends.
pub(crate) const THREADLESS: &str = " without threads";

/// The closure that a hook for outcomes calls, once.
static HOOK: PerRun<Option<Box<dyn FnOnce() + Send>>> = PerRun::new(None);

/// Whether starts of threads may fail.
static MAY_FAIL: PerRun<bool> = PerRun::new(false);

/// Has the next outcome of a job of a pool with a hook call something, or nothing more.
pub(crate) fn hook(call: Option<Box<dyn FnOnce() + Send>>) {
    HOOK.set(call);
}

/// From now on no start of a thread fails, unless a pool is made whose starts do.
pub(crate) fn start_well() {
    MAY_FAIL.set(false);
}

/// Whether starts of threads may fail.
pub(crate) fn may_fail() -> bool {
    MAY_FAIL.get()
}

/// A pool with hooks.
pub(crate) struct Built {
    pub(crate) pool: Pool,
    hooks: Arc<Hooks>,
}

impl Built {
    /// How many threads have started.
    pub(crate) fn starts(&self) -> u64 {
        self.hooks.starts.load(Relaxed)
    }
}

impl Settings {
    /// Its threads beyond the core leave after a millisecond.
    pub(crate) fn leaves_soon(&self) -> bool {
        self.has(|setting| *setting == Setting::ShortKeepAlive)
            && !self.has(|setting| *setting == Setting::Spin)
    }

    fn has(&self, is: impl Fn(&Setting) -> bool) -> bool {
        self.2.iter().any(is)
    }

    /// The pool cancels jobs when it is full.
    fn evicts(&self) -> bool {
        self.has(|setting| {
            matches!(setting, Setting::Capacity(_, Full::DropsOldest | Full::DropsNewest))
        })
    }

    /// Its jobs run in waits.
    pub(crate) fn is_threadless(&self) -> bool {
        self.has(|setting| *setting == Setting::WithoutThreads)
    }

    /// Its spawner fails at times.
    pub(crate) fn fails(&self) -> bool {
        self.has(|setting| matches!(setting, Setting::FailingStarts(_) | Setting::FewStarts(_)))
    }

    /// Threads outside run its jobs, and poll its futures, when it is full. If it is closed or has no thread, the futures use the timers
    /// of the default pool, which never ends.
    pub(crate) fn runs_in_caller(&self) -> bool {
        self.has(|setting| matches!(setting, Setting::Capacity(_, Full::RunsInCaller)))
    }

    /// A full pool rejects no job that waits for room, even if all room is reserved.
    fn accepts(&self) -> bool {
        !self.has(|setting| {
            let Setting::Capacity(_, full) = setting else { return false };
            matches!(full, Full::Rejects | Full::BlocksFor(_) | Full::DropsOldest)
        })
    }

    pub(crate) fn builder(&self) -> Builder {
        let Self(least, most, settings) = self;
        let threads = usize::from(*least)..=usize::from(*most);
        let builder = Pool::builder();
        let builder = if self.is_threadless() { builder } else { builder.threads(threads) };
        settings.iter().fold(builder, |builder, setting| setting.apply(builder))
    }

    pub(crate) fn build(&self) -> io::Result<Built> {
        note(|| format!("builds {self:?}"));
        let hooks = Arc::new(Hooks::default());
        let [start, stop, outcome] = [hooks.clone(), hooks.clone(), hooks.clone()];
        let kind = if self.is_threadless() { THREADLESS } else { "" };
        let mut builder = self
            .builder()
            .pool_name(format!("{}{kind}", NAMES.fetch_add(1, Relaxed)))
            .on_panic(OnPanic::Call(Arc::new(drop)))
            .on_start(move |index| {
                note(|| format!("starts as worker {index}"));
                start.starts.fetch_add(1, Relaxed);
            })
            .on_stop(move |index| {
                note(|| format!("stops as worker {index}"));
                stop.stops.fetch_add(1, Relaxed);
            });
        if self.has(|setting| *setting == Setting::OnOutcome) {
            builder = builder.on_outcome(move |_| {
                outcome.outcomes.fetch_add(1, Relaxed);
                let call = HOOK.with_borrow_mut(Option::take);
                call.into_iter().for_each(|call| call());
            });
        }
        let pool = builder.build()?;
        machine::made(pool.handle());
        Ok(Built { pool, hooks })
    }
}

impl Setting {
    fn apply(self, builder: Builder) -> Builder {
        match self {
            Self::Shared => builder.queueing(Queueing::Shared),
            Self::Lifo => builder.order(Order::Lifo),
            Self::Spin => builder.idle(Idle::Spin),
            Self::SpinThenPark(time) => builder.idle(Idle::SpinThenPark(micros(time))),
            Self::Capacity(capacity, full) => {
                builder.capacity(capacity.into()).when_full(full.into())
            }
            // The hooks come with the pool.
            Self::OnOutcome => builder,
            Self::FailingStarts(seed) => builder.spawner(failing(seed)),
            Self::FewStarts(most) => {
                let left = AtomicU64::new(most.into());
                let takes = |left: u64| left.checked_sub(1);
                builder.spawner(move |thread| match left.fetch_update(Relaxed, Relaxed, takes) {
                    Ok(_) => thread.start(),
                    Err(_) => Err(io::Error::other("no more threads: planned")),
                })
            }
            Self::StartsNone => builder.prestart(0),
            Self::StartsAll => builder.prestart(usize::MAX),
            Self::Spare(threads) => builder.spare_threads(threads.into()),
            Self::ShortKeepAlive => builder.keep_alive(Duration::from_millis(1)),
            Self::WhenBlocked => builder.growth(Growth::WhenBlocked),
            Self::WhenQueued(jobs) => builder.growth(Growth::WhenQueued(jobs.into())),
            Self::Fairness(jobs) => builder.fairness(jobs.into()),
            Self::ObserveJobs => builder.observe_jobs(),
            Self::OnStall => builder.on_stall(Duration::from_micros(100), |stall| _ = stall),
            Self::OnDrop(how) => builder.on_drop(Shutdown::from(how)),
            Self::WithoutThreads => builder.without_threads(),
            Self::RunsThreads => builder
                .spawner(|thread| NewThread::new("spawned".into(), None, || thread.run()).start()),
        }
    }
}

/// A spawner that fails at times: five times in a row at most, as a submission tries six times more.
fn failing(seed: u8) -> impl Fn(NewThread) -> io::Result<Thread> + Send + Sync {
    let failing = Mutex::new((Rng::with_seed(seed.into()), 0));
    MAY_FAIL.set(true);
    move |thread| {
        let mut failing = failing.lock().expect("no panic");
        let fails = failing.1 < 5 && failing.0.bool() && may_fail();
        failing.1 = if fails { failing.1 + 1 } else { 0 };
        let way = failing.0.u8(0..3);
        drop(failing);
        match (fails, way) {
            (false, _) => thread.start(),
            (true, 0) => Err(io::Error::other("no thread: planned")),
            // It drops the thread that it has got.
            (true, 1) => Ok(Thread::not_joined()),
            // Another thread drops it later.
            (true, _) => {
                let loses = move || {
                    time::sleep(Duration::from_millis(1));
                    drop(thread);
                };
                drop(NewThread::new("loses".into(), None, loses).start()?);
                Ok(Thread::not_joined())
            }
        }
    }
}

/// Threads outside that do something with a pool.
fn beside(world: &World, outside: &[Vec<Verb>]) -> Vec<Thread> {
    let start = |verbs: &Vec<Verb>| {
        let (world, verbs) = (world.outside(), verbs.clone());
        let main = move || contained(|| act(&world, &verbs));
        NewThread::new("outside".into(), None, main).start().expect("a thread")
    };
    outside.iter().map(start).collect()
}

impl From<Full> for WhenFull {
    fn from(full: Full) -> Self {
        match full {
            Full::Blocks => Self::Block,
            Full::Rejects => Self::Reject,
            Full::BlocksFor(time) => Self::BlockFor(micros(time)),
            Full::RunsInCaller => Self::RunInCaller,
            Full::DropsOldest => Self::DropOldest,
            Full::DropsNewest => Self::DropNewest,
        }
    }
}

impl From<How> for Shutdown {
    fn from(how: How) -> Self {
        match how {
            How::Drains => Self::Drain,
            How::Finishes => Self::Finish,
            How::Discards => Self::Discard,
        }
    }
}

/// Uses a pool, beside threads that use it too, and ends it.
pub(crate) fn lifetime(lifetime: &Lifetime) {
    let Lifetime { pool: settings, outside, verbs, is_early, how, by } = lifetime;
    // Where no thread can be started there is no pool.
    let Ok(Built { pool, hooks }) = settings.build() else { return };
    // Sometimes it ends while others use it.
    let early = *is_early;
    let is_sure = !early && !settings.fails();
    let world = World::new(pool.handle(), early, is_sure).evicting(settings.evicts());
    let mut world = world.accepting(settings.accepts());
    let discards = |setting: &Setting| *setting == Setting::OnDrop(How::Discards);
    world.is_discarded = *how == How::Discards || settings.has(discards);
    let outside = beside(&world, outside);
    contained(|| act(&world, verbs));
    let mut outside = Some(outside);
    let mut join = || outside.take().into_iter().flatten().for_each(Thread::join);
    if !early {
        join();
    }
    let ended = end(&world, pool, *how, *by, early);
    let hooked = || [&hooks.starts, &hooks.stops].map(|hook| hook.load(Relaxed));
    let [starts, stops] = hooked();
    assert!(ended == Ended::Maybe || starts == stops, "a thread outlives its pool");
    join();
    if ended == Ended::Maybe {
        if settings.is_threadless() {
            _ = world.pool.shutdown(Shutdown::Drain);
        }
        wait_for_end(&world, hooked);
    }
    if let (Ended::Counted(metrics), false) = (ended, early) {
        let Metrics { accepted, returned, panicked, cancelled, .. } = metrics;
        assert_eq!(accepted, returned + panicked + cancelled, "{metrics:?}");
        let outcomes = hooks.outcomes.load(Relaxed);
        // Parts of scopes and forks are counted, and have none.
        assert!(outcomes <= accepted, "{outcomes} outcomes of {metrics:?}");
    }
    let metrics = world.pool.metrics();
    assert_eq!((metrics.queued, metrics.running), (0, 0));
    let [starts, stops] = hooked();
    assert_eq!(starts, stops, "a hook was not called");
    world.ledger.check(world.loses());
}

/// Two pools whose jobs wait for each other's.
pub(crate) fn pair(Pair { pools, outside, verbs, by }: &Pair) {
    let (Ok(one), Ok(two)) = (pools.0.build(), pools.1.build()) else { return };
    let [evicts, fails] =
        [Settings::evicts, Settings::fails].map(|is| is(&pools.0) || is(&pools.1));
    let world = World::new(one.pool.handle(), false, !fails).beside(two.pool.handle());
    let world = world.evicting(evicts).accepting(pools.0.accepts() && pools.1.accepts());
    let outside = beside(&world, outside);
    contained(|| act(&world, verbs));
    outside.into_iter().for_each(Thread::join);
    // What is left may use both.
    let mut waits = 0;
    while !world.ledger.left().is_empty() {
        // A schedule may prefer this thread to those that have something to do for long.
        assert!(waits < 100_000, "it goes on: {:?} left", world.ledger.left());
        for (settings, built) in [(&pools.0, &one), (&pools.1, &two)] {
            _ = settings.is_threadless() && built.pool.wait_idle_timeout(Duration::from_millis(1));
        }
        time::sleep(Duration::from_millis(1));
        waits += 1;
    }
    for (Built { pool, hooks }, by) in [(one, by.0), (two, by.1)] {
        let handle = pool.handle();
        if end(&world, pool, How::Drains, by, true) == Ended::Maybe {
            _ = handle.shutdown(Shutdown::Drain);
        }
        let [starts, stops] = [&hooks.starts, &hooks.stops].map(|hook| hook.load(Relaxed));
        assert_eq!(starts, stops, "a thread outlives its pool");
    }
    world.ledger.check(world.loses());
}

/// Whether a pool has ended.
#[derive(PartialEq)]
enum Ended {
    /// It goes on without its owner.
    Maybe,
    Yes,
    /// It has, with these counters.
    Counted(Metrics),
}

/// Ends a pool by a call, `how` if that says.
fn end(world: &World, pool: Pool, how: How, by: By, early: bool) -> Ended {
    note(|| format!("ends its pool: {by:?}, {how:?}"));
    // `Finish` alone runs all accepted jobs, timers included.
    if how != How::Finishes || !matches!(by, By::ShutDown) {
        world.lose();
    }
    if matches!(by, By::Closed) && !early {
        let accepted = world.ledger.accepted();
        assert!(pool.wait_idle());
        accepted.check_ended();
    }
    world.close();
    match by {
        By::Dropped => Ended::Yes,
        By::ShutDown => {
            let report = pool.shutdown(Shutdown::from(how));
            assert_eq!(report.still_running, 0);
            Ended::Counted(pool.metrics())
        }
        By::ShutDownFor(time) => {
            _ = pool.shutdown(Shutdown::from(how).timeout(micros(time)));
            Ended::Maybe
        }
        By::Closed => {
            pool.close();
            Ended::Yes
        }
        By::DroppedInJob => {
            _ = world.pool.try_execute(move || drop(pool));
            Ended::Maybe
        }
    }
}

/// Waits for a pool that ends by itself.
fn wait_for_end(world: &World, hooked: impl Fn() -> [u64; 2]) {
    for _ in 0..10_000 {
        let [starts, stops] = hooked();
        let Metrics { threads, queued, .. } = world.pool.metrics();
        if threads == 0 && queued == 0 && starts == stops && world.ledger.left().is_empty() {
            // The start of a thread may still be tried again.
            _ = world.pool.shutdown(Shutdown::Drain);
            return;
        }
        time::sleep(Duration::from_millis(1));
    }
    panic!("it goes on: {:?} left, {:?}", world.ledger.left(), world.pool.metrics());
}

/// A pool without threads, which this thread runs, and others use.
pub(crate) fn driven(outside: &[Vec<Verb>], calls: &[Call]) {
    let pool = LocalPool::new().expect("a pool");
    let world = World::new(pool.handle(), true, true);
    let others = beside(&world, outside);
    for call in calls {
        contained(|| match call {
            Call::RunUntilIdle => pool.run_until_idle(),
            Call::TickAll => while pool.tick() {},
            Call::RunUntil(body) => drop(pool.run_until(future(&world, body))),
            Call::RunUntilLocal(body) => {
                let handle = async { brigade::spawn_local(local(&world, body)).await };
                world.ended(pool.run_until(handle), None);
            }
            Call::Outside(verbs) => act(&world, verbs),
            Call::SpawnsLocal(body) => {
                world.ended(pool.spawn_local(local(&world, body)).join(), None);
            }
        });
    }
    let is_over = || others.iter().all(Thread::is_finished);
    while !is_over() {
        pool.run_until(brigade::time::sleep(Duration::from_millis(1)));
    }
    others.into_iter().for_each(Thread::join);
    world.close();
    drop(pool);
    world.ledger.check(true);
}

/// Closes a pool that may end while others use it.
pub(crate) fn close(world: &World) {
    if !world.is_sure() && world.loses() && !world.is_pair() {
        world.lose();
        world.close();
        world.pool.close();
    }
}

/// Another pool, from its start to its end.
pub(crate) fn inner(world: &World, inner: &Lifetime) {
    if world.depth() < 2 {
        lifetime(inner);
    }
}

/// Changes a pool, whose counters add up afterwards.
pub(crate) fn changed(world: &World, change: impl FnOnce(&Handle)) {
    change(&world.pool);
    let metrics = world.pool.metrics();
    let ended = metrics.returned + metrics.panicked + metrics.cancelled;
    assert_eq!(metrics.accepted, ended + metrics.queued + metrics.running, "{metrics:?}");
}

pub(crate) fn wait_idle(world: &World, limit: Option<Micros>) {
    let accepted = world.ledger.accepted();
    let was_idle = match limit {
        None => world.pool.wait_idle(),
        Some(limit) => world.pool.wait_idle_timeout(micros(limit)),
    };
    // The other pool is not.
    if was_idle && !world.is_pair() {
        accepted.check_ended();
    }
}
