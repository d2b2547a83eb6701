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

use crate::fault::Fault;
use crate::supervise::{Failure, supervise};
use crate::tally::Tally;
use crate::targets::{
    AsyncExecutor, Brigade, Channel, ExecutorsThreadpool, Futures, Kind, Rayon, RustyPool,
    Stealing, Submit, Target, Threadpool, Tokio,
};
use crate::workloads::{Bench, Row, Workload};

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

/// Runs `row` once on a fresh pool of this kind; the values are in the order of the row's metrics.
pub(crate) fn run(row: &Row, kind: Kind, terms: Terms) -> Result<Vec<f64>, Failure> {
    match row {
        Row::Throughput(workload) => on(workload, kind, terms),
        Row::Latency(workload) => on(workload, kind, terms),
        Row::Submit(workload) => on(workload, kind, terms),
        Row::Wake(workload) => on(workload, kind, terms),
        Row::FanOut(workload) => on(workload, kind, terms),
    }
}

/// Runs `workload` once on a fresh pool of this kind.
fn on<W: Workload>(workload: &W, kind: Kind, terms: Terms) -> Result<Vec<f64>, Failure> {
    let workload = workload.clone();
    match kind {
        Kind::Brigade(policy) => once(workload, terms, move |n| Brigade::start(n, policy)),
        Kind::ExecutorsChannel => once(workload, terms, |n| Ok(Channel::start(n))),
        Kind::ExecutorsStealing => match workload.threads() {
            n if n <= FewStealing::MOST => once(workload, terms, |n| Ok(FewStealing::start(n))),
            n if n <= ManyStealing::MOST => once(workload, terms, |n| Ok(ManyStealing::start(n))),
            _ => once(workload, terms, |n| Ok(AnyStealing::start(n))),
        },
        Kind::ExecutorsThreadpool => once(workload, terms, |n| Ok(ExecutorsThreadpool::start(n))),
        Kind::RustyPool => once(workload, terms, |n| Ok(RustyPool::start(n))),
        Kind::Threadpool => once(workload, terms, |n| Ok(Threadpool::start(n))),
        Kind::Rayon => once(workload, terms, Rayon::start),
        Kind::Tokio => once(workload, terms, Tokio::start),
        Kind::AsyncExecutor => once(workload, terms, AsyncExecutor::start),
        Kind::Futures => once(workload, terms, Futures::start),
    }
}

/// Time for a target that can't wait for its threads to run what it should not have.
const AFTERMATH: Duration = Duration::from_millis(1);

/// Starts the target, runs the workload, ends the target, and checks that every task ran once.
fn once<W: Workload, T: Target>(
    workload: W,
    terms: Terms,
    start: impl FnOnce(usize) -> io::Result<T> + Send + 'static,
) -> Result<Vec<f64>, Failure> {
    let expected = workload.expected();
    let tally = Tally::leak();
    supervise(tally, expected.tasks, terms.patience, move || {
        let threads = workload.threads();
        // Half of the peers answer a thread that can't be started with a panic.
        let target = panic::catch_unwind(AssertUnwindSafe(|| start(threads)))
            .unwrap_or_else(|panic| Err(io::Error::other(words(&*panic))))
            .map_err(Failure::Refused)?;
        warm(&target, threads, tally)?;
        let values = workload.run(&target, &Bench { tally, fault: terms.fault })?;
        target.shutdown();
        thread::sleep(AFTERMATH);
        tally.check(expected)?;
        tally.retire();
        Ok(values)
    })
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
