//! Pools of all kinds, from their start to their end.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brigade::{
    Builder, Growth, Idle, JoinHandle, LocalPool, Metrics, NewThread, OnPanic, Order, Pool,
    Queueing, Shutdown, Thread, WhenFull,
};
use brigade_sync::time;
use fastrand::Rng;

use crate::act::{act, note};
use crate::futures::{future, local};
use crate::world::{Output, World, contained, millis};

type Kept = Vec<JoinHandle<Output>>;

/// How often the hooks of a pool were called.
#[derive(Default)]
struct Hooks {
    starts: AtomicU64,
    stops: AtomicU64,
    outcomes: AtomicU64,
}

/// A pool, and the consequences of its configuration.
struct Built {
    pool: Pool,
    hooks: Arc<Hooks>,
    /// It has a hook for outcomes.
    tells: bool,
    /// It cancels jobs when it is full.
    evicts: bool,
    /// Its spawner fails at times.
    fails: bool,
    /// Threads outside run its jobs, and poll its futures, when it is full. If it is closed or has no thread, the futures use the timers
    /// of the default pool, which never ends.
    in_caller: bool,
}

/// Makes a pool; its jobs may submit to another `pair`ed with it, and the other way round.
fn build(random: &mut Rng, pair: bool) -> io::Result<Built> {
    let threads = [(1, 1), (2, 2), (2, 2), (3, 3), (1, 3), (0, 2)][random.usize(0..6)];
    let hooks = Arc::new(Hooks::default());
    let [start, stop] = [hooks.clone(), hooks.clone()];
    let mut builder = Pool::builder()
        .threads(threads.0..=threads.1)
        .pool_name(random.u32(..).to_string())
        .on_panic(OnPanic::Call(Arc::new(drop)))
        .on_start(move |index| {
            note(|| format!("starts as worker {index}"));
            start.starts.fetch_add(1, Relaxed);
        })
        .on_stop(move |index| {
            note(|| format!("stops as worker {index}"));
            stop.stops.fetch_add(1, Relaxed);
        });
    let mut said = format!("threads {threads:?}");
    let mut add = |text: &str| said.push_str(text);
    if random.u8(0..3) == 0 {
        builder = builder.queueing(Queueing::Shared);
        add(" shared");
    }
    if random.bool() {
        builder = builder.order(Order::Lifo);
        add(" lifo");
    }
    let idle = match random.u8(0..4) {
        0 => Idle::Spin,
        1 => Idle::SpinThenPark(Duration::from_micros(20)),
        _ => Idle::default(),
    };
    builder = builder.idle(idle);
    add(&format!(" {idle:?}"));
    let [mut evicts, mut in_caller] = [false, false];
    if random.u8(0..3) == 0 {
        let full = match random.u8(0..6) {
            // Two full pools may wait for each other.
            0 | 2 if pair => WhenFull::Reject,
            0 => WhenFull::Block,
            1 => WhenFull::Reject,
            2 => WhenFull::BlockFor(millis(random)),
            3 => WhenFull::RunInCaller,
            4 => WhenFull::DropOldest,
            _ => WhenFull::DropNewest,
        };
        evicts = matches!(full, WhenFull::DropOldest | WhenFull::DropNewest);
        in_caller = full == WhenFull::RunInCaller;
        let capacity = random.usize(1..4);
        builder = builder.capacity(capacity).when_full(full);
        add(&format!(" capacity {capacity} {full:?}"));
    }
    let tells = random.u8(0..4) == 0;
    if tells {
        let hooks = hooks.clone();
        builder = builder.on_outcome(move |_| _ = hooks.outcomes.fetch_add(1, Relaxed));
        add(" on_outcome");
    }
    let fails = !in_caller && random.u8(0..6) == 0;
    builder = threads_of(builder, random, &mut said, fails);
    note(|| format!("builds {said}"));
    Ok(Built { pool: builder.build()?, hooks, tells, evicts, fails, in_caller })
}

/// Sets when threads start and end.
fn threads_of(mut builder: Builder, random: &mut Rng, said: &mut String, fails: bool) -> Builder {
    let mut add = |text: &str| said.push_str(text);
    match random.u8(0..4) {
        0 => builder = builder.prestart(0),
        1 => builder = builder.prestart(usize::MAX),
        _ => {}
    }
    if random.bool() {
        builder = builder.spare_threads(random.usize(0..3));
    }
    if random.u8(0..4) == 0 {
        builder = builder.keep_alive(Duration::from_millis(1));
        add(" keep-alive");
    }
    match random.u8(0..5) {
        0 => builder = builder.growth(Growth::WhenBlocked),
        1 => builder = builder.growth(Growth::WhenQueued(2)),
        _ => {}
    }
    if random.u8(0..4) == 0 {
        builder = builder.fairness(random.u32(1..4));
    }
    if random.u8(0..4) == 0 {
        builder = builder.observe_jobs();
        add(" observed");
    }
    if fails {
        // Five times in a row at most: a submission tries six times more.
        let failing = Mutex::new((random.fork(), 0));
        builder = builder.spawner(move |thread| {
            let mut failing = failing.lock().expect("no panic");
            let fails = failing.1 < 5 && failing.0.bool();
            failing.1 = if fails { failing.1 + 1 } else { 0 };
            let loses = failing.0.bool();
            drop(failing);
            match (fails, loses) {
                (false, _) => thread.start(),
                (true, false) => Err(io::Error::other("no thread: planned")),
                // It drops the thread that it has got.
                (true, true) => Ok(Thread::not_joined()),
            }
        });
        add(" failing");
    }
    builder
}

/// A thread outside that does something with a pool.
fn beside(world: &World, mut random: Rng) -> Thread {
    let world = world.clone();
    let main = move || contained(|| act(&world, &mut random));
    NewThread::new("outside".into(), None, main).start().expect("a thread")
}

/// Uses a pool, beside so many threads that use it too, and ends it.
pub(crate) fn lifetime(random: &mut Rng, operations: i32, threads: u8) {
    // Where no thread can be started there is no pool.
    let Ok(Built { pool, hooks, tells, evicts, fails, in_caller }) = build(random, false) else {
        return;
    };
    // Sometimes it ends while others use it.
    let early = random.u8(0..6) == 0 && !in_caller;
    let how = match random.u8(0..6) {
        0 | 1 => Shutdown::Finish,
        2 => Shutdown::Discard,
        _ => Shutdown::Drain,
    };
    let is_sure = !early && !fails;
    let mut world = World::new(pool.handle(), operations, evicts || early, is_sure);
    world.is_discarded = how == Shutdown::Discard;
    let outside: Vec<Thread> = (0..threads).map(|_| beside(&world, random.fork())).collect();
    contained(|| act(&world, random));
    let mut outside = Some(outside);
    let mut join = || outside.take().into_iter().flatten().for_each(Thread::join);
    if !early {
        join();
    }
    let ended = end(&world, pool, how, random, early);
    let hooked = || [&hooks.starts, &hooks.stops].map(|hook| hook.load(Relaxed));
    let [starts, stops] = hooked();
    assert!(ended == Ended::Maybe || starts == stops, "a thread outlives its pool");
    join();
    if ended == Ended::Maybe {
        wait_for_end(&world, hooked);
    }
    if let (Ended::Counted(metrics), false) = (ended, early) {
        let Metrics { accepted, returned, panicked, cancelled, .. } = metrics;
        assert_eq!(accepted, returned + panicked + cancelled, "{metrics:?}");
        let outcomes = hooks.outcomes.load(Relaxed);
        // Parts of scopes and forks are counted, and have none.
        assert!(!tells || outcomes <= accepted, "{outcomes} outcomes of {metrics:?}");
    }
    let metrics = world.pool.metrics();
    assert_eq!((metrics.queued, metrics.running), (0, 0));
    let [starts, stops] = hooked();
    assert_eq!(starts, stops, "a hook was not called");
    world.ledger.check(world.loses());
}

/// Two pools whose jobs wait for each other's.
pub(crate) fn pair(random: &mut Rng, operations: i32) {
    let (Ok(one), Ok(two)) = (build(random, true), build(random, true)) else { return };
    let (loses, fails) = (one.evicts || two.evicts, one.fails || two.fails);
    let world = World::new(one.pool.handle(), operations, loses, !fails);
    let world = world.beside(two.pool.handle());
    let outside: Vec<Thread> =
        (0..random.u8(0..3)).map(|_| beside(&world, random.fork())).collect();
    contained(|| act(&world, random));
    outside.into_iter().for_each(Thread::join);
    // What is left may use both.
    let mut waits = 0;
    while !world.ledger.left().is_empty() {
        // A schedule may prefer this thread to those that have something to do for long.
        assert!(waits < 100_000, "it goes on: {:?} left", world.ledger.left());
        time::sleep(Duration::from_millis(1));
        waits += 1;
    }
    for Built { pool, hooks, .. } in [one, two] {
        let handle = pool.handle();
        if end(&world, pool, Shutdown::Drain, random, true) == Ended::Maybe {
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

/// Ends a pool in a random way, `how` if that says.
fn end(world: &World, pool: Pool, how: Shutdown, random: &mut Rng, early: bool) -> Ended {
    let end = random.u8(0..6);
    note(|| format!("ends its pool: {end}, {how:?}"));
    // `Finish` alone runs all accepted jobs, timers included.
    if how != Shutdown::Finish || end > 1 {
        world.lose();
    }
    if end == 2 && !early {
        let accepted = world.ledger.accepted();
        assert!(pool.wait_idle());
        accepted.check_ended();
    }
    world.close();
    match end {
        0 | 1 => {
            let report = pool.shutdown(how);
            assert_eq!(report.still_running, 0);
            return Ended::Counted(pool.metrics());
        }
        2 => pool.close(),
        3 => {
            _ = pool.shutdown(how.timeout(millis(random)));
            return Ended::Maybe;
        }
        // On a worker of its own.
        4 => {
            _ = world.pool.try_execute(move || drop(pool));
            return Ended::Maybe;
        }
        _ => {}
    }
    Ended::Yes
}

/// Waits for a pool that ends by itself.
fn wait_for_end(world: &World, hooked: impl Fn() -> [u64; 2]) {
    for _ in 0..10_000 {
        let [starts, stops] = hooked();
        if world.pool.metrics().threads == 0 && starts == stops && world.ledger.left().is_empty() {
            return;
        }
        time::sleep(Duration::from_millis(1));
    }
    panic!("it goes on: {:?} left, {:?}", world.ledger.left(), world.pool.metrics());
}

/// A pool without threads, which this thread runs, and others use.
pub(crate) fn driven(random: &mut Rng, operations: i32) {
    let pool = LocalPool::new().expect("a pool");
    let world = World::new(pool.handle(), operations, true, true);
    let others: Vec<Thread> = (0..random.u8(0..3)).map(|_| beside(&world, random.fork())).collect();
    for _ in 0..random.u8(1..4) {
        contained(|| match random.u8(0..5) {
            // Waits outside of a call.
            4 => act(&world, random),
            0 => drop(pool.run_until(future(&world, random))),
            1 => {
                let world = &world;
                let result = pool.run_until(async {
                    let handle = brigade::spawn_local(local(world, random));
                    handle.await
                });
                world.ended(result, false);
            }
            2 => pool.run_until_idle(),
            _ => while pool.tick() {},
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

/// Another pool, from its start to its end.
pub(crate) fn inner(world: &World, random: &mut Rng, _: &mut Kept) {
    if world.depth() < 2 {
        lifetime(random, 4, 0);
    }
}

pub(crate) fn resize(world: &World, random: &mut Rng, _: &mut Kept) {
    let size = random.usize(1..4);
    match random.u8(0..4) {
        0 => _ = world.pool.prestart(),
        1 => drop(world.pool.dump()),
        _ => _ = world.pool.resize(random.usize(0..=size)..=size),
    }
    let metrics = world.pool.metrics();
    let ended = metrics.returned + metrics.panicked + metrics.cancelled;
    assert_eq!(metrics.accepted, ended + metrics.queued + metrics.running, "{metrics:?}");
}

/// Outside of the pool without a timeout: a job that waits is not idle itself.
pub(crate) fn wait_idle(world: &World, random: &mut Rng, _: &mut Kept) {
    let accepted = world.ledger.accepted();
    let was_idle = if world.depth() == 0 && random.bool() {
        world.pool.wait_idle()
    } else {
        world.pool.wait_idle_timeout(millis(random))
    };
    // The other pool is not.
    if was_idle && !world.is_pair() {
        accepted.check_ended();
    }
}
