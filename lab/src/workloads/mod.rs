//! The workloads. Each is a file: options, limits, metrics.
//!
//! To add a workload: a file, and a line in the table below.

pub(crate) mod bucket_brigade;
pub(crate) mod burst;
mod busy_io;
pub(crate) mod chain;
pub(crate) mod channels;
pub(crate) mod creation;
pub(crate) mod echo;
pub(crate) mod elastic;
mod fairness;
pub(crate) mod fan_out;
pub(crate) mod fork_join;
pub(crate) mod latency;
pub(crate) mod memory;
pub(crate) mod queue;
mod ramp_up;
pub(crate) mod run;
pub(crate) mod server;
mod shared;
mod steal;
pub(crate) mod submit;
pub(crate) mod throughput;
pub(crate) mod timers;
pub(crate) mod wake;

use crate::workloads::prelude::*;
use clap::Subcommand;

/// Makes the measuring subcommands from a table: the line shown by `list`, the name, and the options.
macro_rules! subcommands {
    ($($(#[$doc:meta])* $label:literal $name:ident($options:ty),)+) => {
        /// A measuring subcommand.
        #[derive(Clone, Debug, Subcommand)]
        pub(crate) enum Choice {
            $($(#[$doc])* #[command(name = $label)] $name($options),)+
        }

        impl Choice {
            /// The row it stands for.
            pub(crate) fn row(&self) -> Result<Row, Stop> {
                match self {
                    $(Choice::$name(options) => options.row($label),)+
                }
            }
        }
    };
}

subcommands! {
    /// Tasks per second of a fully loaded pool.
    "throughput" Throughput(throughput::Throughput),
    /// Time from the start of a burst to the last task, with sleep between the bursts.
    "latency" Latency(latency::Latency),
    /// Time of a submission for the submitting thread.
    "submit" Submit(submit::Submit),
    /// Time for an idle pool to start one task.
    "wake" Wake(wake::Wake),
    /// Time for as many jobs as there are idle threads to begin.
    "ramp-up" RampUp(ramp_up::RampUp),
    /// Time until all children of one task have run.
    "fan-out" FanOut(fan_out::FanOut),
    /// Time of fork-join programs.
    "fork-join" ForkJoin(fork_join::ForkJoin),
    /// Time until another thread begins a fork whose sibling computes.
    "steal" Steal(steal::Steal),
    /// Time until a job from outside starts while chains of jobs keep all workers busy.
    "fairness" Fairness(fairness::Fairness),
    /// Time for an elastic pool to grow to its full size, and the threads left later.
    "elastic" Elastic(elastic::Elastic),
    /// Time of the operations of a queue, without a pool around it.
    "queue" Queue(queue::Queue),
    /// Time for a byte to go through a line of tasks, each of which passes it to the next.
    "bucket-brigade" BucketBrigade(bucket_brigade::BucketBrigade),
    /// Time to make a task or a thread and to wait for its end.
    "creation" Creation(creation::Creation),
    /// Resident memory of a waiting task or thread.
    "memory" Memory(memory::Memory),
    /// Requests per second over TCP connections to itself.
    "echo" Echo(echo::Echo),
    /// How late timers and bytes on a socket are while jobs keep all workers busy.
    "busy-io" BusyIo(busy_io::BusyIo),
    /// CPU time and lateness of fired timers, and the price of cancelled timers.
    "timers" Timers(timers::Timers),
    /// Time and CPU time of a message through a channel between busy tasks.
    "channels" Channels(channels::Channels),
    /// Requests per second and CPU time of a request to a server for HTTP/1 or RESP.
    "server" Server(server::Server),
    /// Time for values sent together to reach waiting threads.
    "burst" Burst(burst::Burst),
    /// Time, CPU time, memory and context switches of commands of your own.
    "run" Run(run::Options),
}

/// Imports of several workloads.
pub(crate) mod prelude {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use std::sync::{Arc, Barrier};
    pub(crate) use std::time::{Duration, Instant};
    pub(crate) use std::{io, iter, thread};

    pub(crate) use clap::{Args, ValueEnum};
    pub(crate) use rand::rngs::SmallRng;
    pub(crate) use rand::{RngExt, SeedableRng};
    pub(crate) use serde::Serialize;

    pub(crate) use crate::clock::{Epoch, Lap, Meter, seconds};
    pub(crate) use crate::dispatch::{Run, counted};
    pub(crate) use crate::failure::Failure;
    pub(crate) use crate::fault::Fault;
    pub(crate) use crate::latch::Latch;
    pub(crate) use crate::limits::{self, whole};
    pub(crate) use crate::needs::Needs;
    pub(crate) use crate::program::name;
    pub(crate) use crate::row::{AsRow, Row};
    pub(crate) use crate::setup::{joined, on_thread};
    pub(crate) use crate::stats::{median, moments};
    pub(crate) use crate::stop::Stop;
    pub(crate) use crate::tally::{Sum, Tally, scramble};
    pub(crate) use crate::target::Entry;
    pub(crate) use crate::target::fork::ForkJoin;
    pub(crate) use crate::target::pool::{Running, Submit};
    pub(crate) use crate::target::runtime::{Downstream, Runtime, Sink, Source, Spawn, Upstream};
    pub(crate) use crate::targets::pools::Pools;
    pub(crate) use crate::targets::runtimes::Runtimes;
    pub(crate) use crate::usage::Usage;
    pub(crate) use crate::work::{grind, units_for};
    pub(crate) use crate::workload::{Bench, Metric, Outcome, Params, fields, metrics};
    pub(crate) use crate::workload::{PoolWorkload, RuntimeWorkload, Workload};
    pub(crate) use crate::workloads::shared::Shared;
}
