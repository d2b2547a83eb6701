//! What programs expect of executors 0.10; a test's name is its claim.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]
// They are about the default features, and about what some of the others add.
#![cfg(all(
    feature = "cb-channel-exec",
    feature = "defaults",
    feature = "threadpool-exec",
    feature = "workstealing-exec"
))]

mod api;
mod conformance;
mod ending;
mod futures;
mod locals;
#[cfg(feature = "numa-aware")]
mod numa;
mod own_pool;
mod parker;
#[cfg(all(feature = "thread-pinning", target_os = "linux"))]
mod pinning;
mod run_now;
mod seed_page;

use std::sync::mpsc;
use std::thread::available_parallelism;

use brigade_testkit::Gate;
use executors::Executor;

/// A kind of executor with threads.
struct Row<E> {
    name: &'static str,
    threads: usize,
    make: fn() -> E,
}

/// As many threads as a default executor has.
fn default_threads() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Calls a function for each kind of executor that runs futures.
macro_rules! on_futures {
    ($check:ident) => {{
        use executors::crossbeam_channel_pool as channel;
        use executors::crossbeam_workstealing_pool as stealing;
        use executors::parker;
        macro_rules! row {
            ($name:expr, $threads:expr, $make:expr) => {
                $check(&crate::Row { name: $name, threads: $threads, make: || $make });
            };
        }
        row!("small_pool", 2, stealing::small_pool(2));
        row!("large_pool", 3, stealing::large_pool(3));
        row!("dyn_pool", 2, stealing::dyn_pool(2));
        row!("pool_with_auto_parker", 40, stealing::pool_with_auto_parker(40));
        row!("the stealing ThreadPool", 1, stealing::ThreadPool::new(1, parker::small()));
        row!(
            "its default",
            crate::default_threads(),
            <stealing::ThreadPool<parker::DynParker>>::default()
        );
        row!("the channel's ThreadPool", 2, channel::ThreadPool::new(2));
        row!("its default", crate::default_threads(), channel::ThreadPool::default());
    }};
}
use on_futures;

/// Calls a function for each kind of executor with threads.
macro_rules! on_each {
    ($check:ident) => {{
        use executors::threadpool_executor::ThreadPoolExecutor as OfThreadpool;
        crate::on_futures!($check);
        macro_rules! row {
            ($name:expr, $threads:expr, $make:expr) => {
                $check(&crate::Row { name: $name, threads: $threads, make: || $make });
            };
        }
        row!("ThreadPoolExecutor", 2, OfThreadpool::new(2));
        row!("its default", crate::default_threads(), OfThreadpool::default());
    }};
}
use on_each;

/// Occupies `count` threads until the gate is open, and returns once they are occupied.
fn occupy(pool: &impl Executor, count: usize, gate: &Gate) {
    let (started, starts) = mpsc::channel();
    for _ in 0..count {
        let (started, gate) = (started.clone(), gate.clone());
        pool.execute(move || {
            started.send(()).unwrap();
            gate.wait();
        });
    }
    (0..count).for_each(|_| starts.recv().unwrap());
}
