//! The pools under test, and their tables.

mod async_executor;
mod brigade;
#[cfg(feature = "full")]
mod brigade_executors;
mod executors;
mod futures;
mod rayon;
mod rusty_pools;
mod threadpools;
mod tokio;
mod tokio_blocking;

use std::hint::black_box;
use std::time::Duration;

use ::brigade::{Cpus, Idle, Order, Placement, Priority, Queueing, Victims};

use crate::target::pool::{MANY, Size, VisitElastic, VisitPool};
use crate::target::{Class, family};

family! {
    /// Thread pools.
    Pools: VisitPool;
    own("brigade", "the default pool") => visit(|n| brigade::with(n, |b| b));
    own("brigade-fifo", "local queues oldest first").further()
        => visit(|n| brigade::with(n, |b| b.order(Order::Fifo)));
    own("brigade-lifo", "local queues newest first").further()
        => visit(|n| brigade::with(n, |b| b.order(Order::Lifo)));
    own("brigade-shared", "one shared queue").further()
        => visit(|n| brigade::with(n, |b| b.queueing(Queueing::Shared)));
    own("brigade-park", "idle workers park at once").further()
        => visit(|n| brigade::with(n, |b| b.idle(Idle::Park)));
    own("brigade-spin10us", "idle workers spin 10 µs, then park").further()
        => visit(|n| brigade::with(n, |b| b.idle(Idle::SpinThenPark(Duration::from_micros(10)))));
    own("brigade-spin", "idle workers never park").further()
        => visit(|n| brigade::with(n, |b| b.idle(Idle::Spin)));
    own("brigade-kernel", "the kernel places woken workers").further()
        => visit(|n| brigade::with(n, |b| b.placement(Placement::Kernel)));
    own("brigade-shared-kernel", "one shared queue, the kernel places woken workers").further()
        => visit(|n| brigade::with(n, |b| b.queueing(Queueing::Shared).placement(Placement::Kernel)));
    own("brigade-bounded", "a queue of 1,000 tasks, for which submitters wait").further()
        => visit(|n| brigade::with(n, |b| b.capacity(1000)));
    own("brigade-pinned", "each worker on a core of its own").further()
        => visit(|n| brigade::with(n, |b| b.pin(Cpus::cores())));
    // On a single node, where all CPUs are equally near, the same as the target before.
    own("brigade-nearest", "the same, and thieves try their neighbours first").further()
        => visit(|n| brigade::with(n, |b| b.pin(Cpus::cores()).victims(Victims::Nearest)));
    // For `fairness`: jobs from outside have the class, and jobs submitted by a job are normal.
    own("brigade-high", "high jobs from outside").further()
        => visit(|n| brigade::rare(n, [|job| job.priority(Priority::High), |job| job.priority(Priority::Normal)]));
    own("brigade-low", "low jobs from outside").further()
        => visit(|n| brigade::rare(n, [|job| job.priority(Priority::Low), |job| job.priority(Priority::Normal)]));
    own("brigade-named", "tasks with a name").further()
        => visit(|n| brigade::rare(n, [|job| job.name("task"), |job| job.name("task")]));
    own("brigade-observed", "what runs is known, for a dump").further()
        => visit(|n| brigade::with(n, |b| b.observe_jobs()));
    own("brigade-outcomes", "a hook is told how each task ends").further()
        => visit(|n| brigade::with(n, |b| b.on_outcome(|outcome| _ = black_box(outcome.end))));
    own("brigade-stalls", "a thread looks for tasks that run for 100 ms").further()
        => visit(|n| brigade::with(n, |b| b.on_stall(Duration::from_millis(100), |stall| _ = black_box(stall.job.ran))));
    #[cfg(feature = "full")]
    own("brigade-histograms", "waiting and running times are recorded").further()
        => visit(|n| brigade::with(n, |b| b.histograms()));
    #[cfg(feature = "full")]
    own("brigade-tracing", "a span for each task, without a subscriber").further()
        => visit(|n| brigade::with(n, |b| b.trace_jobs()));
    own("brigade-trace", "a trace of what the threads do is recorded").further() => visit(brigade::traced);
    own("brigade-elastic", "threads but the first are started by tasks").further().cold()
        => visit(|n| brigade::sized(Size::of(n)));
    own("brigade-elastic-50", "the same, with 2 to 50 threads or more")
        .further().cold().with_threads(|threads, _| threads + MANY as u64)
        => visit(|n| brigade::sized(Size::from_few(n)));
    peer("executors-channel", "executors: crossbeam_channel_pool") => visit(executors::channel);
    peer("executors-stealing", "executors: crossbeam_workstealing_pool") => by(executors::by_threads);
    peer("executors-threadpool", "executors: threadpool_executor") => visit(executors::threadpool);
    peer("executors-local", "executors-stealing, tasks by try_execute_locally").further() => visit(executors::local);
    // A feature is of a whole program, so these are built by `ci/lab.sh executors`.
    peer("executors-no-park", "executors-stealing with the feature ws-no-park")
        .elsewhere("brigade-lab-executors-no-park", "executors-stealing");
    peer("executors-counted", "executors-stealing without ws-timed-fairness")
        .elsewhere("brigade-lab-executors-counted", "executors-stealing");
    #[cfg(feature = "full")]
    own("brigade-executors-channel", "executors' channel pool on brigade").further()
        => visit(brigade_executors::channel);
    #[cfg(feature = "full")]
    own("brigade-executors-ws", "executors' stealing pool on brigade").further() => visit(brigade_executors::auto);
    #[cfg(feature = "full")]
    own("brigade-executors-tp", "executors' threadpool on brigade").further() => visit(brigade_executors::threadpool);
    #[cfg(feature = "full")]
    own("brigade-executors-local", "that, tasks by try_execute_locally").further() => visit(brigade_executors::local);
    #[cfg(feature = "full")]
    own("brigade-executors-no-park", "brigade-executors-ws with ws-no-park")
        .elsewhere("brigade-lab-executors-no-park", "brigade-executors-ws");
    peer("rusty_pool", "rusty_pool: core size and maximum alike") => visit(rusty_pools::fixed);
    peer("rusty_pool-elastic", "rusty_pool: the same, started by tasks").further().cold()
        => visit(|n| rusty_pools::sized(Size::of(n)));
    peer("rusty_pool-50", "rusty_pool: the same, with 2 to 50 threads or more")
        .further().cold().with_threads(|threads, _| threads + MANY as u64)
        => visit(|n| rusty_pools::sized(Size::from_few(n)));
    #[cfg(feature = "full")]
    own("brigade-rusty_pool", "rusty_pool's interface on brigade").further() => visit(rusty_pools::fixed_on_brigade);
    #[cfg(feature = "full")]
    own("brigade-rusty_pool-elastic", "that, started by tasks").further().cold()
        => visit(|n| rusty_pools::sized_on_brigade(Size::of(n)));
    #[cfg(feature = "full")]
    own("brigade-rusty_pool-50", "that, with 2 to 50 threads or more")
        .further().cold().with_threads(|threads, _| threads + MANY as u64)
        => visit(|n| rusty_pools::sized_on_brigade(Size::from_few(n)));
    peer("threadpool", "threadpool") => visit(threadpools::threadpool);
    #[cfg(feature = "full")]
    own("brigade-threadpool", "threadpool's interface on brigade").further() => visit(threadpools::brigade_threadpool);
    peer("rayon", "rayon: spawn in a pool of its own") => visit(rayon::start);
    peer("tokio", "tokio: the multi-thread runtime") => visit(tokio::start);
    peer("async-executor", "async-executor: a static executor, run by threads")
        => visit(async_executor::start);
    peer("futures-threadpool", "futures: ThreadPool") => visit(futures::start);
}

family! {
    /// Thread pools that grow, and shrink when idle.
    ElasticPools: VisitElastic;
    own("brigade", "the default pool") => visit(brigade::sized);
    // It does not grow: at least one thread.
    own("brigade-fixed", "a pool of the core size, or one thread").further()
        => visit(|size| brigade::with(size.core.max(1), |b| b));
    peer("rusty_pool", "rusty_pool") => visit(rusty_pools::sized);
    #[cfg(feature = "full")]
    own("brigade-rusty_pool", "rusty_pool's interface on brigade").further() => visit(rusty_pools::sized_on_brigade);
    peer("threadpool", "threadpool: always at its largest").of(Class::Ready) => visit(|size| threadpools::threadpool(size.max));
    #[cfg(feature = "full")]
    own("brigade-threadpool", "threadpool's interface on brigade").further()
        => visit(|size| threadpools::brigade_threadpool(size.max));
    peer("tokio-blocking", "tokio: spawn_blocking, no core size") => visit(tokio_blocking::sized);
}

#[cfg(test)]
mod tests;
