//! Brings a workload and a target together, each with its own type, so that the compiler sees
//! through both: nothing on the way of a task is a call through a pointer.

use std::any::Any;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use executors::parker::{DynamicThreadData, LargeThreadData, SmallThreadData, StaticParker};

use crate::census::Census;
use crate::fault::Fault;
use crate::resident;
use crate::supervise::{Failure, supervise};
use crate::tally::Tally;
use crate::targets::elastic::{ElasticKind, Size, TokioBlocking};
#[cfg(target_os = "linux")]
use crate::targets::handovers::BurstPool;
use crate::targets::handovers::{
    BrigadeBurst, BrigadePool, CrossbeamUnbounded, CrossbeamZero, Handover, HandoverKind,
    Receivers, Spmc,
};
use crate::targets::pools::{
    self, AsyncExecutor, Brigade, Channel, ExecutorsThreadpool, Futures, Rayon, RustyPool,
    Stealing, Submit, Target, Threadpool, Tokio,
};
use crate::targets::queues::{CrossbeamFifo, CrossbeamLifo, DequeKind, InjectorKind, Item, Job};
use crate::targets::runtimes::{
    Brigade as BrigadeRuntime, BrigadeOneThread, Runtime, RuntimeKind, Smol, Threads,
    Tokio as TokioRuntime, TokioCurrentThread,
};
use crate::targets::{ALL, Kind};
use crate::workloads::{
    Bench, BucketBrigade, DequeWorkload, ElasticWorkload, HandoverWorkload, InjectorWorkload,
    PoolWorkload, Queue, Row, RuntimeWorkload, Workload,
};

/// `executors-stealing` with its parker for few threads.
type FewStealing = Stealing<StaticParker<SmallThreadData>>;
/// `executors-stealing` with its parker for many threads.
type ManyStealing = Stealing<StaticParker<LargeThreadData>>;
/// `executors-stealing` with its parker for any number of threads.
type AnyStealing = Stealing<StaticParker<DynamicThreadData>>;

/// How one run is made.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// What to do wrong on purpose.
    pub(crate) fault: Fault,
    /// How long to wait for a target that runs nothing.
    pub(crate) patience: Duration,
}

/// Runs `row` once on a fresh target of this kind, which is of the row's family; the values are in
/// the order of the row's metrics.
pub(crate) fn run(row: &Row, kind: Kind, terms: Terms) -> Result<Vec<f64>, Failure> {
    match (row, kind) {
        (Row::Throughput(workload), Kind::Pool(kind)) => on_pool(workload, kind, terms),
        (Row::Latency(workload), Kind::Pool(kind)) => on_pool(workload, kind, terms),
        (Row::Submit(workload), Kind::Pool(kind)) => on_pool(workload, kind, terms),
        (Row::Wake(workload), Kind::Pool(kind)) => on_pool(workload, kind, terms),
        (Row::FanOut(workload), Kind::Pool(kind)) => on_pool(workload, kind, terms),
        (Row::Elastic(workload), Kind::Elastic(kind)) => on_elastic(workload, kind, terms),
        (Row::Queue(Queue::PushPop(workload)), Kind::Deque(kind)) => {
            on_deque(workload, kind, terms)
        }
        (Row::Queue(Queue::Executor(workload)), Kind::Deque(kind)) => {
            on_deque(workload, kind, terms)
        }
        (Row::Queue(Queue::Steal(workload)), Kind::Deque(kind)) => on_deque(workload, kind, terms),
        (Row::Queue(Queue::Fill(workload)), Kind::Injector(kind)) => {
            on_injector(workload, kind, terms)
        }
        (Row::Burst(workload), Kind::Handover(kind)) => on_handover(workload, kind, terms),
        (Row::BucketBrigade(workload), Kind::Runtime(RuntimeKind::Floor)) => {
            counted(workload, terms, BucketBrigade::floor)
        }
        (Row::BucketBrigade(workload), kind) => here(workload, kind, terms),
        (Row::Creation(workload), kind) => here(workload, kind, terms),
        (Row::Echo(workload), kind) => here(workload, kind, terms),
        (Row::Memory(workload), kind) => {
            let target = ALL.iter().find(|entry| entry.kind == kind);
            resident::apart(workload, target.expect("each kind is in the table"), terms)
        }
        _ => unreachable!("{} is not measured on {kind:?}", row.name()),
    }
}

/// Runs `workload` once on a fresh runtime of this kind, in this process.
pub(crate) fn here<W: RuntimeWorkload>(
    workload: &W,
    kind: Kind,
    terms: Terms,
) -> Result<Vec<f64>, Failure> {
    let run = match kind {
        Kind::Runtime(RuntimeKind::Brigade) => runtime::<W, BrigadeRuntime>,
        Kind::Runtime(RuntimeKind::BrigadeOneThread) => runtime::<W, BrigadeOneThread>,
        Kind::Runtime(RuntimeKind::Tokio) => runtime::<W, TokioRuntime>,
        Kind::Runtime(RuntimeKind::TokioCurrentThread) => runtime::<W, TokioCurrentThread>,
        Kind::Runtime(RuntimeKind::Smol) => runtime::<W, Smol>,
        Kind::Runtime(RuntimeKind::Threads) => runtime::<W, Threads>,
        _ => unreachable!("{kind:?} does not run futures"),
    };
    counted(workload, terms, run)
}

/// Runs `workload` once on a fresh pool of this kind.
fn on_pool<W: PoolWorkload>(
    workload: &W,
    kind: pools::Kind,
    terms: Terms,
) -> Result<Vec<f64>, Failure> {
    use pools::Kind;

    match kind {
        Kind::Brigade(policy) if policy.is_elastic() => {
            cold_pool(workload, terms, move |n| Brigade::start(n, policy))
        }
        Kind::Brigade(policy) => pool(workload, terms, move |n| Brigade::start(n, policy)),
        Kind::ExecutorsChannel => pool(workload, terms, |n| Ok(Channel::start(n))),
        Kind::ExecutorsStealing => match workload.threads() {
            n if n <= FewStealing::MOST => pool(workload, terms, |n| Ok(FewStealing::start(n))),
            n if n <= ManyStealing::MOST => pool(workload, terms, |n| Ok(ManyStealing::start(n))),
            _ => pool(workload, terms, |n| Ok(AnyStealing::start(n))),
        },
        Kind::ExecutorsThreadpool => pool(workload, terms, |n| Ok(ExecutorsThreadpool::start(n))),
        Kind::RustyPool => pool(workload, terms, |n| Ok(RustyPool::start(n))),
        Kind::RustyPoolElastic => cold_pool(workload, terms, |n| Ok(RustyPool::lazy(n))),
        Kind::RustyPool50 => cold_pool(workload, terms, |n| Ok(RustyPool::few_to_many(n))),
        Kind::Threadpool => pool(workload, terms, |n| Ok(Threadpool::start(n))),
        Kind::Rayon => pool(workload, terms, Rayon::start),
        Kind::Tokio => pool(workload, terms, Tokio::start),
        Kind::AsyncExecutor => pool(workload, terms, AsyncExecutor::start),
        Kind::Futures => pool(workload, terms, Futures::start),
    }
}

/// Runs `workload` once on a fresh elastic pool of this kind.
fn on_elastic<W: ElasticWorkload>(
    workload: &W,
    kind: ElasticKind,
    terms: Terms,
) -> Result<Vec<f64>, Failure> {
    match kind {
        ElasticKind::Brigade => elastic(workload, terms, Brigade::elastic),
        ElasticKind::RustyPool => elastic(workload, terms, |size| Ok(RustyPool::elastic(size))),
        ElasticKind::Threadpool => elastic(workload, terms, |size| Ok(Threadpool::start(size.max))),
        ElasticKind::TokioBlocking => elastic(workload, terms, TokioBlocking::start),
    }
}

/// Runs `workload` once on fresh deques of this kind.
fn on_deque<W: DequeWorkload>(
    workload: &W,
    kind: DequeKind,
    terms: Terms,
) -> Result<Vec<f64>, Failure> {
    let run = match kind {
        DequeKind::BrigadeLifo => W::run::<brigade_queue::lifo::Worker<Item>>,
        DequeKind::BrigadeFifo => W::run::<brigade_queue::fifo::Worker<Item>>,
        DequeKind::St3Lifo => W::run::<st3::lifo::Worker<Item>>,
        DequeKind::St3Fifo => W::run::<st3::fifo::Worker<Item>>,
        DequeKind::CrossbeamLifo => W::run::<CrossbeamLifo>,
        DequeKind::CrossbeamFifo => W::run::<CrossbeamFifo>,
    };
    counted(workload, terms, run)
}

/// Runs `workload` once on a fresh injector of this kind.
fn on_injector<W: InjectorWorkload>(
    workload: &W,
    kind: InjectorKind,
    terms: Terms,
) -> Result<Vec<f64>, Failure> {
    let run = match kind {
        InjectorKind::Brigade => W::run::<brigade_queue::Injector<Job>>,
        InjectorKind::BrigadeSharded => W::run::<brigade_queue::ShardedInjector<Job>>,
        InjectorKind::Crossbeam => W::run::<crossbeam_deque::Injector<Job>>,
        InjectorKind::SegQueue => W::run::<crossbeam_queue::SegQueue<Job>>,
    };
    counted(workload, terms, run)
}

/// Runs `workload` once on fresh threads that wait for this kind.
fn on_handover<W: HandoverWorkload>(
    workload: &W,
    kind: HandoverKind,
    terms: Terms,
) -> Result<Vec<f64>, Failure> {
    let run = match kind {
        HandoverKind::BrigadeBurst => handover::<W, Receivers<BrigadeBurst>>,
        HandoverKind::BrigadePool => handover::<W, BrigadePool>,
        #[cfg(target_os = "linux")]
        HandoverKind::BurstPool => handover::<W, Receivers<BurstPool>>,
        HandoverKind::Spmc => handover::<W, Receivers<Spmc>>,
        HandoverKind::Crossbeam => handover::<W, Receivers<CrossbeamUnbounded>>,
        HandoverKind::CrossbeamZero => handover::<W, Receivers<CrossbeamZero>>,
    };
    counted(workload, terms, run)
}

/// Runs the workload, supervised, and checks that every task ran once.
fn counted<W: Workload>(
    workload: &W,
    terms: Terms,
    run: impl FnOnce(&W, &Bench) -> Result<Vec<f64>, Failure> + Send + 'static,
) -> Result<Vec<f64>, Failure> {
    let (workload, expected) = (workload.clone(), workload.expected());
    let tally = Tally::leak();
    // That nothing ends while the workload itself pauses is no standstill of the target.
    let patience = terms.patience + workload.quiet();
    supervise(tally, expected.tasks, patience, move || {
        let values = run(&workload, &Bench { tally, fault: terms.fault })?;
        tally.check(expected)?;
        tally.retire();
        Ok(values)
    })
}

/// Time for a target that can't wait for its threads to run what it should not have.
const AFTERMATH: Duration = Duration::from_millis(1);

/// Starts the pool, warms it up, runs the workload, and ends the pool.
fn pool<W: PoolWorkload, T: Target>(
    workload: &W,
    terms: Terms,
    start: impl FnOnce(usize) -> io::Result<T> + Send + 'static,
) -> Result<Vec<f64>, Failure> {
    counted(workload, terms, |workload, bench| {
        let threads = workload.threads();
        let target = started(|| start(threads))?;
        warm(&target, threads, bench.tally)?;
        let values = workload.run(&target, bench)?;
        end(target);
        Ok(values)
    })
}

/// Starts the pool, runs the workload, during which the pool starts its threads, and ends it.
fn cold_pool<W: PoolWorkload, T: Target>(
    workload: &W,
    terms: Terms,
    start: impl FnOnce(usize) -> io::Result<T> + Send + 'static,
) -> Result<Vec<f64>, Failure> {
    counted(workload, terms, |workload, bench| {
        let target = started(|| start(workload.threads()))?;
        let values = workload.run(&target, bench)?;
        end(target);
        Ok(values)
    })
}

/// Starts the elastic pool, warms up its core, runs the workload, and ends the pool.
fn elastic<W: ElasticWorkload, T: Target>(
    workload: &W,
    terms: Terms,
    start: impl FnOnce(Size) -> io::Result<T> + Send + 'static,
) -> Result<Vec<f64>, Failure> {
    counted(workload, terms, |workload, bench| {
        let (size, others) = (workload.size(), Census::take().map_err(Failure::Refused)?);
        let target = started(|| start(size))?;
        warm(&target, size.core, bench.tally)?;
        let values = workload.run(&target, &others, bench)?;
        end(target);
        Ok(values)
    })
}

/// Starts the threads, runs the workload, and ends the threads.
fn handover<W: HandoverWorkload, H: Handover>(
    workload: &W,
    bench: &Bench,
) -> Result<Vec<f64>, Failure> {
    let inbox = workload.inbox(bench);
    let mut target = started(|| H::start(workload.receivers(), inbox))?;
    thread::sleep(SETTLE);
    let values = workload.run(&mut target, inbox, bench)?;
    target.shutdown();
    Ok(values)
}

/// Starts the runtime, runs the workload, which warms it up itself, and ends the runtime.
fn runtime<W: RuntimeWorkload, R: Runtime>(
    workload: &W,
    bench: &Bench,
) -> Result<Vec<f64>, Failure> {
    let runtime = started(|| R::start(workload.threads()))?;
    let values = workload.run(&runtime, bench)?;
    runtime.shutdown();
    Ok(values)
}

/// What `start` starts.
fn started<T>(start: impl FnOnce() -> io::Result<T>) -> Result<T, Failure> {
    // Half of the peers answer a thread that can't be started with a panic.
    panic::catch_unwind(AssertUnwindSafe(start))
        .unwrap_or_else(|panic| Err(io::Error::other(words(&*panic))))
        .map_err(Failure::Refused)
}

/// Ends the pool.
fn end<T: Target>(target: T) {
    target.shutdown();
    thread::sleep(AFTERMATH);
}

/// What a panic said, if it said something.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked").to_owned()
}

/// Jobs per thread that a fresh pool runs before it is measured.
const WARM_UP_JOBS: usize = 4;
/// Time for the threads to be through with starting up and to fall asleep.
const SETTLE: Duration = Duration::from_millis(3);

/// Lets a fresh pool run a few jobs, so that no run is about starting threads.
fn warm<T: Target>(target: &T, threads: usize, tally: &Tally) -> Result<(), Failure> {
    let left = Arc::new(AtomicUsize::new(threads * WARM_UP_JOBS));
    let outside = target.outside();
    for _ in 0..threads * WARM_UP_JOBS {
        let left = Arc::clone(&left);
        outside.submit(move || {
            left.fetch_sub(1, Ordering::Relaxed);
        });
    }
    while left.load(Ordering::Relaxed) > 0 {
        tally.go_on()?;
        thread::sleep(SETTLE / 10);
    }
    thread::sleep(SETTLE);
    Ok(())
}
