//! A program: threads, jobs and futures that do what a seed says with one pool.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use brigade::{
    Fairness, Growth, Handle, Idle, JoinError, JoinHandle, NewThread, OnPanic, Order, Pool,
    Priority, Queueing, Reason, Shutdown, TaskSet, Thread, WhenFull,
};
use brigade_sync::time;
use fastrand::Rng;

use crate::ledger::{Claim, Ledger, Token};

mod io;

/// What all of a program's threads share.
#[derive(Clone)]
struct World {
    /// The pool ends while others use it.
    early: bool,
    pool: Handle,
    ledger: Ledger,
    /// How many operations are left.
    fuel: Arc<AtomicI32>,
    /// The pool ends before its jobs have run, or may refuse them.
    discards: Arc<AtomicBool>,
    /// The pool may have been closed.
    ends: Arc<AtomicBool>,
}

/// The payload of a panic that belongs to the program.
struct Planned;

/// What a job returns.
struct Output {
    value: u64,
    _token: Token,
}

thread_local! {
    /// Whether programs say what they do.
    static SAYS: Cell<bool> = const { Cell::new(false) };
}

/// Has programs say what they do.
pub(crate) fn say() {
    SAYS.set(true);
}

fn millis(random: &mut Rng) -> Duration {
    Duration::from_micros(random.u64(0..3000))
}

fn build(random: &mut Rng) -> (Pool, String) {
    let threads = match random.u8(0..6) {
        0 => (1, 1),
        1 | 2 => (2, 2),
        3 => (3, 3),
        4 => (1, 3),
        _ => (0, 2),
    };
    let mut builder =
        Pool::builder().threads(threads.0..=threads.1).on_panic(OnPanic::Call(Arc::new(drop)));
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
    match random.u8(0..4) {
        0 => {
            builder = builder.idle(Idle::Spin);
            add(" spin");
        }
        1 => {
            builder = builder.idle(Idle::SpinThenPark(Duration::from_micros(20)));
            add(" spin-then-park");
        }
        _ => {}
    }
    if random.u8(0..3) == 0 {
        let full = match random.u8(0..3) {
            0 => WhenFull::Block,
            1 => WhenFull::Reject,
            _ => WhenFull::BlockFor(millis(random)),
        };
        let capacity = random.usize(1..4);
        builder = builder.capacity(capacity).when_full(full);
        add(&format!(" capacity {capacity} {full:?}"));
    }
    match random.u8(0..4) {
        0 => builder = builder.lazy(),
        1 => builder = builder.prestart(),
        _ => {}
    }
    if random.bool() {
        builder = builder.spare_threads(random.usize(0..3));
    }
    if random.u8(0..4) == 0 {
        builder = builder.keep_alive(Duration::from_millis(1)).allow_core_timeout(random.bool());
        add(" keep-alive");
    }
    match random.u8(0..5) {
        0 => builder = builder.growth(Growth::WhenBlocked),
        1 => builder = builder.growth(Growth::WhenQueued(2)),
        _ => {}
    }
    if random.bool() {
        builder = builder.fairness(Fairness::Every(random.u32(1..4)));
    }
    if random.u8(0..4) == 0 {
        builder = builder.observe_jobs();
        add(" observed");
    }
    if random.u8(0..4) == 0 {
        builder = builder.caller_participates(random.bool());
    }
    (builder.build().expect("a pool"), said)
}

/// Runs the program of this seed.
pub(crate) fn run(seed: u64, operations: i32) {
    let mut random = Rng::with_seed(seed ^ 0x9e37_79b9);
    let (pool, said) = build(&mut random);
    io::begin(&mut random.fork());
    let says = SAYS.get();
    if says {
        println!("{said}");
    }
    // Sometimes the pool ends while others use it.
    let early = random.u8(0..6) == 0;
    let how = match random.u8(0..6) {
        0 => Shutdown::Finish,
        1 => Shutdown::Discard,
        _ => Shutdown::Drain,
    };
    let world = World {
        early,
        pool: pool.handle(),
        ledger: Ledger::default(),
        fuel: Arc::new(AtomicI32::new(operations)),
        discards: Arc::default(),
        ends: Arc::default(),
    };
    let outside: Vec<Thread> =
        (0..random.u8(0..3)).map(|_| beside(&world, random.fork())).collect();
    contained(|| act(&world, &mut random, 0));
    // Only one way to end a pool runs all that was accepted, timers included, and accepts more from inside.
    let end = random.u8(0..3);
    if early || how != Shutdown::Finish || end != 1 {
        world.discards.store(true, Relaxed);
    }
    let mut outside = Some(outside);
    world.ends.store(early, Relaxed);
    let mut join = || outside.take().into_iter().flatten().for_each(Thread::join);
    if !early {
        join();
    }
    if end == 2 && !early {
        assert!(pool.wait_idle());
    }
    world.ends.store(true, Relaxed);
    match end {
        0 => drop(pool),
        1 => {
            let report = pool.shutdown(how);
            assert_eq!(report.still_running, 0);
            drop(pool);
        }
        _ => {
            pool.close();
            drop(pool);
        }
    }
    join();
    let metrics = world.pool.metrics();
    assert_eq!((metrics.queued, metrics.running), (0, 0));
    world.ledger.check(world.discards.load(Relaxed));
}

/// A thread outside that does the same.
fn beside(world: &World, mut random: Rng) -> Thread {
    let world = world.clone();
    let main = move || contained(|| act(&world, &mut random, 0));
    NewThread::new("outside".into(), None, main).start().expect("a thread")
}

/// Calls what may panic as the program has planned, outside the pool.
fn contained(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        if !payload.is::<Planned>() {
            resume_unwind(payload);
        }
    }
}

/// The body of a job.
fn body(world: &World, depth: u32, random: &mut Rng) -> impl FnOnce() -> Output + Send + use<> {
    let token = world.ledger.token("a job");
    let (world, mut random) = (world.clone(), random.fork());
    move || {
        token.runs();
        act(&world, &mut random, depth + 1);
        if random.u8(0..12) == 0 {
            resume_unwind(Box::new(Planned));
        }
        Output { value: 7, _token: world.ledger.token("an output") }
    }
}

/// The same without a result, and what is known of it.
fn job(world: &World, depth: u32, random: &mut Rng) -> (Claim, impl FnOnce() + Send + use<>) {
    let token = world.ledger.token("a job");
    let claim = token.claim();
    let (world, mut random) = (world.clone(), random.fork());
    let run = move || {
        token.runs();
        act(&world, &mut random, depth + 1);
        if random.u8(0..12) == 0 {
            resume_unwind(Box::new(Planned));
        }
    };
    (claim, run)
}

fn ended(world: &World, result: Result<Output, JoinError>, may_be_cancelled: bool) {
    match result {
        Ok(output) => assert_eq!(output.value, 7),
        Err(JoinError::Panicked(panic)) => {
            let payload = panic.into_payload();
            assert!(payload.is::<Planned>(), "a panic that is none of the program");
        }
        // A wait that might not end.
        Err(JoinError::WouldDeadlock) => {}
        Err(error) => {
            assert!(may_be_cancelled || world.discards.load(Relaxed), "{error:?} without a cancel");
        }
    }
}

/// Does some of what a seed says.
fn act(world: &World, random: &mut Rng, depth: u32) {
    let mut kept: Vec<JoinHandle<Output>> = Vec::new();
    for _ in 0..random.u8(0..4) {
        if depth > 3 || world.fuel.fetch_sub(1, Relaxed) <= 0 {
            break;
        }
        step(world, random, depth, &mut kept);
    }
    for mut handle in kept {
        match random.u8(0..5) {
            0 => drop(handle),
            1 => {
                handle.cancel();
                ended(world, handle.join(), true);
            }
            2 => {
                if let Some(result) = handle.join_timeout(millis(random)) {
                    ended(world, result, false);
                }
            }
            _ => ended(world, handle.join(), false),
        }
    }
}

fn refused<W>(world: &World, reason: Reason, work: W) {
    drop(work);
    let closed = reason == Reason::Closed;
    assert!(!closed || world.ends.load(Relaxed), "closed, and nobody has closed it");
}

/// Says when an operation has ended.
struct End(u8);

impl Drop for End {
    fn drop(&mut self) {
        if SAYS.get() {
            println!("thread {} has ended operation {}", brigade_sync::seeded::number(), self.0);
        }
    }
}

fn step(world: &World, random: &mut Rng, depth: u32, kept: &mut Vec<JoinHandle<Output>>) {
    let pool = &world.pool;
    let choice = random.u8(0..25);
    if SAYS.get() {
        println!(
            "thread {} begins operation {choice}, at depth {depth}",
            brigade_sync::seeded::number()
        );
    }
    let _end = End(choice);
    match choice {
        0 | 1 => {
            let (claim, run) = job(world, depth, random);
            match pool.try_execute(run) {
                Ok(()) => claim.must_run(),
                Err(rejected) => {
                    let reason = rejected.reason();
                    refused(world, reason, rejected.into_inner());
                }
            }
        }
        2..=5 => match pool.try_submit(body(world, depth, random)) {
            Ok(handle) if random.bool() => kept.push(handle),
            Ok(handle) => ended(world, handle.join(), false),
            Err(rejected) => refused(world, rejected.reason(), rejected.into_inner()),
        },
        6 => {
            let bodies: Vec<_> = (0..random.u8(0..5)).map(|_| body(world, depth, random)).collect();
            match pool.job().submit_batch(bodies) {
                Ok(handles) => {
                    handles.into_iter().for_each(|handle| ended(world, handle.join(), false))
                }
                Err(rejected) => refused(world, rejected.reason(), rejected.into_inner()),
            }
        }
        7 => {
            let priority = [Priority::High, Priority::Normal, Priority::Low][random.usize(0..3)];
            let mut terms = pool.job().priority(priority);
            let mut is_certain = true;
            if random.u8(0..3) == 0 {
                terms = terms.deadline(time::now() + millis(random));
                is_certain = false;
            }
            let (claim, run) = job(world, depth, random);
            match terms.execute(run) {
                Ok(()) if is_certain => claim.must_run(),
                Ok(()) => {}
                Err(rejected) => refused(world, rejected.reason(), rejected.into_inner()),
            }
        }
        8..=10 => match pool.try_spawn(future(world, depth, random)) {
            Ok(handle) if random.bool() => kept.push(handle),
            Ok(handle) => ended(world, handle.join(), false),
            Err(rejected) => refused(world, rejected.reason(), rejected.into_inner()),
        },
        // What a future needs of a closed pool it gets of the default one, which never ends.
        11 if world.early => {}
        11 => drop(pool.block_on(future(world, depth, random))),
        12 => {
            let (mut one, mut two) = (random.fork(), random.fork());
            let result =
                pool.join(|| act(world, &mut one, depth + 1), || act(world, &mut two, depth + 1));
            if let Err(reason) = result {
                refused(world, reason, ());
            }
        }
        13 => {
            let parts: Vec<Rng> = (0..random.u8(0..4)).map(|_| random.fork()).collect();
            let done = AtomicU32::new(0);
            let count = parts.len() as u32;
            let result = pool.scope(|scope| {
                for mut part in parts {
                    let done = &done;
                    scope.execute(move || {
                        act(world, &mut part, depth + 1);
                        done.fetch_add(1, Relaxed);
                    });
                }
            });
            match result {
                // The end of the pool may have dropped some of them.
                Ok(()) if world.discards.load(Relaxed) => {}
                Ok(()) => assert_eq!(done.load(Relaxed), count, "a scope ends before its jobs"),
                Err(reason) => refused(world, reason, ()),
            }
        }
        14 => {
            let mut set = TaskSet::new(*pool);
            if random.bool() {
                set = set.limit(random.usize(1..3));
            }
            for _ in 0..random.u8(0..4) {
                let accepted = if random.bool() {
                    set.try_submit(body(world, depth, random)).is_ok()
                } else {
                    set.try_spawn(future(world, depth, random)).is_ok()
                };
                if !accepted {
                    break;
                }
            }
            match random.u8(0..4) {
                0 => set.cancel_all(),
                1 => set.detach_all(),
                _ => {}
            }
            while let Some(result) = set.join_next() {
                ended(world, result, true);
            }
        }
        15 => {
            let (claim, run) = job(world, depth, random);
            match pool.job().after(millis(random)).execute(run) {
                Ok(timer) => {
                    if random.u8(0..3) == 0 && timer.cancel() {
                        claim.has_not_run();
                    }
                }
                Err(rejected) => refused(world, rejected.reason(), rejected.into_inner()),
            }
        }
        16 => {
            let token = world.ledger.token("a periodic job");
            let period = Duration::from_micros(random.u64(500..2000));
            match pool.job().every(period).execute(move || _ = &token) {
                Ok(timer) => {
                    time::sleep(millis(random));
                    timer.cancel();
                }
                Err(rejected) => refused(world, rejected.reason(), rejected.into_inner()),
            }
        }
        17 => {
            let begun = time::now();
            let wanted = millis(random);
            brigade::blocking(|| time::sleep(wanted));
            assert!(time::since(begun) >= wanted, "early");
        }
        18 => time::sleep(millis(random)),
        19 => brigade_sync::thread::yield_now(),
        20 => {
            let size = random.usize(1..4);
            _ = pool.resize(random.usize(1..=size)..=size);
        }
        21 => _ = pool.prestart(),
        22 | 23 => io::act(world, random, depth == 0),
        _ => _ = pool.wait_idle_timeout(millis(random)),
    }
}

/// A future that does what a seed says.
fn future(
    world: &World,
    depth: u32,
    random: &mut Rng,
) -> Pin<Box<dyn Future<Output = Output> + Send>> {
    let token = world.ledger.token("a future");
    let (world, mut random) = (world.clone(), random.fork());
    Box::pin(async move {
        token.runs();
        for _ in 0..random.u8(0..4) {
            if depth > 3 || world.fuel.fetch_sub(1, Relaxed) <= 0 {
                break;
            }
            match random.u8(0..9) {
                0 | 1 => brigade::yield_now().await,
                2 => {
                    let (begun, wanted) = (time::now(), millis(&mut random));
                    brigade::time::sleep(wanted).await;
                    assert!(time::since(begun) >= wanted, "early");
                }
                3 => {
                    let inner = future(&world, depth + 1, &mut random);
                    if let Ok(output) = brigade::time::timeout(millis(&mut random), inner).await {
                        assert_eq!(output.value, 7);
                    }
                }
                4 => match world.pool.try_submit(body(&world, depth, &mut random)) {
                    Ok(handle) => ended(&world, handle.await, false),
                    Err(rejected) => refused(&world, rejected.reason(), rejected.into_inner()),
                },
                5 => match world.pool.try_spawn(future(&world, depth + 1, &mut random)) {
                    Ok(handle) if random.bool() => {
                        let abort = handle.abort_handle();
                        abort.abort();
                        ended(&world, handle.await, true);
                    }
                    Ok(handle) => ended(&world, handle.await, false),
                    Err(rejected) => refused(&world, rejected.reason(), rejected.into_inner()),
                },
                6 => act(&world, &mut random, depth + 1),
                7 => io::pass(&world, &mut random).await,
                _ => {
                    let mut interval = brigade::time::interval(Duration::from_micros(500));
                    interval.tick().await;
                }
            }
        }
        if random.u8(0..16) == 0 && depth > 0 {
            resume_unwind(Box::new(Planned));
        }
        Output { value: 7, _token: world.ledger.token("an output") }
    })
}
