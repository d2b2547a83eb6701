//! The runtimes of futures, and threads as a runtime, and the table.

mod brigade;
mod executors;
#[cfg(all(feature = "full", target_os = "linux"))]
mod monoio;
mod smol;
pub(crate) mod threads;
mod tokio;
#[cfg(feature = "full")]
mod web;

use std::time::Duration;

use ::brigade::{Idle, Order, Pool};
use ::executors::crossbeam_channel_pool::ThreadPool as ChannelPool;
use ::executors::crossbeam_workstealing_pool::dyn_pool;
use ::tokio::runtime::Builder;
#[cfg(feature = "full")]
use brigade_executors::{
    crossbeam_channel_pool::ThreadPool as ChannelPoolOnBrigade,
    crossbeam_workstealing_pool::dyn_pool as dyn_pool_on_brigade,
};

use self::threads::Threads;
use crate::target::runtime::VisitRuntime;
use crate::target::{Class, family};

/// Whether this workload is a line of tasks.
fn is_line(workload: &str) -> bool {
    workload == "bucket-brigade"
}

family! {
    /// Runtimes of futures, and threads as a runtime.
    Runtimes: VisitRuntime;
    own("brigade", "the default pool, with I/O") => visit(|n| brigade::start(Pool::builder().threads(n)));
    own("brigade-one-thread", "the default pool with one thread, with I/O")
        .of(Class::OneThread).with_threads(|_, _| 1)
        => visit(|_| brigade::start(Pool::builder().threads(1)));
    own("brigade-lifo", "the default pool, local queues newest first, with I/O").further()
        => visit(|n| brigade::start(Pool::builder().threads(n).order(Order::Lifo)));
    own("brigade-spin50us", "the default pool, idle workers spin 50 µs, then park, with I/O").further()
        => visit(|n| brigade::start(Pool::builder().threads(n).idle(Idle::SpinThenPark(Duration::from_micros(50)))));
    peer("tokio", "tokio: the multi-thread runtime, with I/O")
        => visit(|n| tokio::start(Builder::new_multi_thread().worker_threads(n)));
    peer("tokio-current-thread", "tokio: the current-thread runtime, with I/O")
        .of(Class::OneThread).with_threads(|_, _| 0)
        => visit(|_| tokio::start(&mut Builder::new_current_thread()));
    #[cfg(all(feature = "full", target_os = "linux"))]
    peer("monoio", "monoio: one thread with io_uring, for bucket-brigade and echo")
        .of(Class::OneThread).with_threads(|_, _| 0).only(|workload| ["bucket-brigade", "echo"].contains(&workload))
        => visit(monoio::start);
    // async-io has an additional thread, which waits for I/O when no other does.
    peer("smol", "smol: an Executor, run by threads").with_threads(|threads, _| threads + 1) => visit(smol::start);
    peer("executors-channel", "executors: crossbeam_channel_pool, with smol's I/O")
        .further().with_threads(|threads, _| threads + 1)
        => visit(|n| Ok(executors::on(ChannelPool::new(n))));
    peer("executors-stealing", "executors: crossbeam_workstealing_pool, with smol's I/O")
        .further().with_threads(|threads, _| threads + 1)
        => visit(|n| Ok(executors::on(dyn_pool(n))));
    #[cfg(feature = "full")]
    own("brigade-executors-channel", "executors' channel pool on brigade, with smol's I/O")
        .further().with_threads(|threads, _| threads + 1)
        => visit(|n| Ok(executors::on_brigade(ChannelPoolOnBrigade::new(n))));
    #[cfg(feature = "full")]
    own("brigade-executors-ws", "executors' stealing pool on brigade, with smol's I/O")
        .further().with_threads(|threads, _| threads + 1)
        => visit(|n| Ok(executors::on_brigade(dyn_pool_on_brigade(n))));
    // Not for workloads whose tasks take turns: no thread waits for another.
    peer("threads", "a thread for each task, calls that block, channels of tokio").with_threads(|_, tasks| tasks)
        .only(|workload| ["bucket-brigade", "creation", "echo", "memory"].contains(&workload)) => visit(|_| Ok(Threads));
    // No tasks at all: one thread does their reads and writes. It is the minimum, so no peer.
    own("floor", "one thread with the reads and writes of all, for bucket-brigade").with_threads(|_, _| 0).only(is_line);
    peer("go", "Go: goroutines, for bucket-brigade over channels and creation").elsewhere("brigade-lab-go", "go")
        .only(|workload| ["bucket-brigade", "creation"].contains(&workload));
    // oneTBB's tasks can't wait for a byte without a thread each, so it is not for bucket-brigade.
    peer("cpp", "oneTBB: tasks of a task_group, for creation").elsewhere("brigade-lab-cpp", "cpp")
        .only(|workload| workload == "creation");
    // No tasks either: one thread waits for all pipes. It is no peer.
    #[cfg(target_os = "linux")]
    own("epoll", "one thread with a level-triggered epoll loop, for bucket-brigade").with_threads(|_, _| 0).only(is_line);
}

#[cfg(test)]
mod tests;
