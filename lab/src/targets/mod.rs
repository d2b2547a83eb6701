//! What is under test: pools, queues without a pool, and channels to threads that wait.
//!
//! Targets come in families, each with a trait of its own, and a workload measures one family. A
//! name is one within its family: `brigade-lifo` is a pool to a workload for pools, and a queue to
//! one for queues. Targets know nothing of workloads.

pub(crate) mod elastic;
pub(crate) mod handovers;
pub(crate) mod pools;
pub(crate) mod queues;
pub(crate) mod runtimes;

use self::pools::{MANY, Policy};

/// Targets that can take each other's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Thread pools.
    Pool,
    /// Queues that one thread owns and others steal from.
    Deque,
    /// Queues that any thread pushes to and pops from.
    Injector,
    /// Thread pools that grow, and shrink when there is nothing to do.
    Elastic,
    /// Channels to threads that wait, and pools that are used as such.
    Handover,
    /// What runs futures, and threads that do the same.
    Runtime,
}

impl Family {
    /// All of them, as `list` shows them.
    pub(crate) const ALL: [Self; 6] = [
        Family::Pool,
        Family::Elastic,
        Family::Deque,
        Family::Injector,
        Family::Handover,
        Family::Runtime,
    ];

    /// The heading of its targets in `list`.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Family::Pool => "pools",
            Family::Elastic => "elastic pools, for elastic",
            Family::Deque => "deques, for queue",
            Family::Injector => "injectors, for queue --pattern injector",
            Family::Handover => "handovers, for burst",
            Family::Runtime => "runtimes, for bucket-brigade, creation, memory and echo",
        }
    }

    /// Its targets, in the order of the table.
    pub(crate) fn targets(self) -> impl Iterator<Item = &'static Entry> {
        ALL.iter().filter(move |entry| entry.kind.family() == self)
    }
}

/// Which target it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// This pool.
    Pool(pools::Kind),
    /// This deque.
    Deque(queues::DequeKind),
    /// This injector.
    Injector(queues::InjectorKind),
    /// This elastic pool.
    Elastic(elastic::ElasticKind),
    /// This channel, or this pool as one.
    Handover(handovers::HandoverKind),
    /// This runtime, or threads as one.
    Runtime(runtimes::RuntimeKind),
}

impl Kind {
    /// The family it belongs to.
    fn family(self) -> Family {
        match self {
            Kind::Pool(_) => Family::Pool,
            Kind::Deque(_) => Family::Deque,
            Kind::Injector(_) => Family::Injector,
            Kind::Elastic(_) => Family::Elastic,
            Kind::Handover(_) => Family::Handover,
            Kind::Runtime(_) => Family::Runtime,
        }
    }
}

/// A target as the command line knows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What `--target` calls it.
    pub(crate) name: &'static str,
    /// What it is, in a line.
    pub(crate) about: &'static str,
    /// Which target that is.
    pub(crate) kind: Kind,
}

impl Entry {
    /// Whether others compare themselves with it: everything but brigade.
    pub(crate) fn is_peer(&self) -> bool {
        match self.kind {
            Kind::Pool(kind) => !matches!(kind, pools::Kind::Brigade(_)),
            Kind::Deque(kind) => {
                !matches!(kind, queues::DequeKind::BrigadeLifo | queues::DequeKind::BrigadeFifo)
            }
            Kind::Injector(kind) => !matches!(
                kind,
                queues::InjectorKind::Brigade | queues::InjectorKind::BrigadeSharded
            ),
            Kind::Elastic(kind) => kind != elastic::ElasticKind::Brigade,
            Kind::Handover(kind) => !matches!(
                kind,
                handovers::HandoverKind::BrigadeBurst | handovers::HandoverKind::BrigadePool
            ),
            // Nobody can do with less than the floor, so it is no peer to be compared with.
            Kind::Runtime(kind) => !matches!(
                kind,
                runtimes::RuntimeKind::Brigade
                    | runtimes::RuntimeKind::BrigadeOneThread
                    | runtimes::RuntimeKind::Floor
            ),
        }
    }

    /// Whether it takes part in every workload when `--target` is not given: everything but the
    /// further configurations of a pool or a channel.
    pub(crate) fn is_default(&self) -> bool {
        match self.kind {
            Kind::Pool(pools::Kind::Brigade(policy)) => policy == Policy::Default,
            Kind::Pool(pools::Kind::RustyPoolElastic | pools::Kind::RustyPool50) => false,
            Kind::Handover(handovers::HandoverKind::CrossbeamZero) => false,
            _ => true,
        }
    }

    /// How many threads it may have at most beyond those that a workload asks for.
    pub(crate) fn further_threads(&self) -> usize {
        match self.kind {
            Kind::Pool(pools::Kind::Brigade(Policy::Elastic50) | pools::Kind::RustyPool50) => MANY,
            _ => 0,
        }
    }
}

/// A line of the table below: a pool.
const fn pool(name: &'static str, kind: pools::Kind, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Pool(kind) }
}

/// A line of the table below: brigade's pool in one of its configurations.
const fn brigade(name: &'static str, policy: Policy, about: &'static str) -> Entry {
    pool(name, pools::Kind::Brigade(policy), about)
}

/// A line of the table below: a deque.
const fn deque(name: &'static str, kind: queues::DequeKind, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Deque(kind) }
}

/// A line of the table below: an injector.
const fn injector(name: &'static str, kind: queues::InjectorKind, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Injector(kind) }
}

/// A line of the table below: a pool that grows and shrinks.
const fn elastic(name: &'static str, kind: elastic::ElasticKind, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Elastic(kind) }
}

/// A line of the table below: what hands values to threads that wait.
const fn handover(name: &'static str, kind: handovers::HandoverKind, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Handover(kind) }
}

/// A line of the table below: what runs futures, or threads that do the same.
const fn runtime(name: &'static str, kind: runtimes::RuntimeKind, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Runtime(kind) }
}

/// Every target there is.
pub(crate) static ALL: &[Entry] = {
    use self::elastic::ElasticKind;
    use self::handovers::HandoverKind;
    use self::pools::Kind::*;
    use self::queues::{DequeKind, InjectorKind};
    use self::runtimes::RuntimeKind;
    &[
        brigade("brigade", Policy::Default, "the default pool"),
        brigade("brigade-fifo", Policy::Fifo, "local queues oldest first"),
        brigade("brigade-lifo", Policy::Lifo, "local queues newest first"),
        brigade("brigade-shared", Policy::Shared, "one shared queue"),
        brigade("brigade-park", Policy::Park, "idle workers park at once"),
        brigade("brigade-spin10us", Policy::Spin10us, "idle workers spin 10 µs, then park"),
        brigade("brigade-spin", Policy::Spin, "idle workers never park"),
        brigade("brigade-kernel", Policy::Kernel, "the kernel places woken workers"),
        brigade("brigade-spread", Policy::Spread, "woken workers are spread over the CPUs"),
        brigade("brigade-elastic", Policy::Elastic, "threads but the first are started by tasks"),
        brigade("brigade-elastic-50", Policy::Elastic50, "the same, with 2 to 50 threads or more"),
        pool("executors-channel", ExecutorsChannel, "executors: crossbeam_channel_pool"),
        pool("executors-stealing", ExecutorsStealing, "executors: crossbeam_workstealing_pool"),
        pool("executors-threadpool", ExecutorsThreadpool, "executors: threadpool_executor"),
        pool("rusty_pool", RustyPool, "rusty_pool: core size and maximum alike"),
        pool("rusty_pool-elastic", RustyPoolElastic, "rusty_pool: the same, started by tasks"),
        pool("rusty_pool-50", RustyPool50, "rusty_pool: the same, with 2 to 50 threads or more"),
        pool("threadpool", Threadpool, "threadpool"),
        pool("rayon", Rayon, "rayon: spawn in a pool of its own"),
        pool("tokio", Tokio, "tokio: the multi-thread runtime"),
        pool("async-executor", AsyncExecutor, "async-executor: a static executor, run by threads"),
        pool("futures-threadpool", Futures, "futures: ThreadPool"),
        elastic("brigade", ElasticKind::Brigade, "the default pool"),
        elastic("rusty_pool", ElasticKind::RustyPool, "rusty_pool"),
        elastic("threadpool", ElasticKind::Threadpool, "threadpool: always at its largest"),
        elastic(
            "tokio-blocking",
            ElasticKind::TokioBlocking,
            "tokio: spawn_blocking, no core size",
        ),
        deque("brigade-lifo", DequeKind::BrigadeLifo, "brigade: lifo::Worker, bounded"),
        deque("brigade-fifo", DequeKind::BrigadeFifo, "brigade: fifo::Worker, bounded"),
        deque("st3-lifo", DequeKind::St3Lifo, "st3: lifo::Worker, bounded"),
        deque("st3-fifo", DequeKind::St3Fifo, "st3: fifo::Worker, bounded"),
        deque("crossbeam-lifo", DequeKind::CrossbeamLifo, "crossbeam-deque: Worker::new_lifo"),
        deque("crossbeam-fifo", DequeKind::CrossbeamFifo, "crossbeam-deque: Worker::new_fifo"),
        injector("brigade-injector", InjectorKind::Brigade, "brigade: Injector"),
        injector("brigade-sharded", InjectorKind::BrigadeSharded, "brigade: ShardedInjector"),
        injector("crossbeam-injector", InjectorKind::Crossbeam, "crossbeam-deque: Injector"),
        injector("segqueue", InjectorKind::SegQueue, "crossbeam-queue: SegQueue"),
        handover("brigade-burst", HandoverKind::BrigadeBurst, "brigade-burst: Sender::burst"),
        handover("brigade-pool", HandoverKind::BrigadePool, "the default pool: dispatch"),
        #[cfg(target_os = "linux")]
        handover("burst-pool", HandoverKind::BurstPool, "burst-pool: enqueue, wake_all"),
        handover("spmc", HandoverKind::Spmc, "spmc: unbounded"),
        handover("crossbeam-channel", HandoverKind::Crossbeam, "crossbeam-channel: unbounded"),
        handover(
            "crossbeam-channel-0",
            HandoverKind::CrossbeamZero,
            "crossbeam-channel: bounded(0), try_send",
        ),
        runtime("brigade", RuntimeKind::Brigade, "the default pool, with I/O"),
        runtime(
            "brigade-one-thread",
            RuntimeKind::BrigadeOneThread,
            "the default pool with one thread, with I/O",
        ),
        runtime("tokio", RuntimeKind::Tokio, "tokio: the multi-thread runtime, with I/O"),
        runtime(
            "tokio-current-thread",
            RuntimeKind::TokioCurrentThread,
            "tokio: the current-thread runtime, with I/O",
        ),
        runtime("smol", RuntimeKind::Smol, "smol: an Executor, run by threads"),
        runtime("threads", RuntimeKind::Threads, "a thread for each task, calls that block"),
        runtime(
            "floor",
            RuntimeKind::Floor,
            "one thread with the reads and writes of all, for bucket-brigade",
        ),
    ]
};

#[cfg(test)]
mod tests {
    use super::{ALL, Family};
    use std::collections::HashSet;

    #[test]
    fn every_target_has_a_name_of_its_own_in_its_family_and_a_kind_of_its_own() {
        for family in Family::ALL {
            let names: HashSet<_> = family.targets().map(|entry| entry.name).collect();
            assert_eq!(names.len(), family.targets().count(), "{family:?}");
        }
        for (index, entry) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.kind != entry.kind), "{}", entry.name);
        }
    }

    #[test]
    fn every_family_has_a_peer() {
        for family in Family::ALL {
            assert!(family.targets().any(|entry| entry.is_peer()), "{family:?}");
            assert!(family.targets().any(|entry| !entry.is_peer()), "{family:?}");
        }
    }
}
