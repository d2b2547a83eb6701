//! A program: threads, jobs and futures that use pools.

use crate::verb::{Body, By, How, Lifetime, Micros, Settings, Verb};
use crate::{ending, io, meeting, pools};

/// A program and the faults of its kernel.
#[derive(Clone, Debug)]
pub(crate) struct Program(pub(crate) Kernel, pub(crate) Kind);

/// The faults of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kernel {
    Good,
    Faulty,
    /// The driver of a pool may fail for good.
    Fatal,
}

/// The kind of a program.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A pool, and threads that use it.
    One(Lifetime),
    /// Two pools whose jobs wait for each other's.
    Two(Pair),
    /// A pool without threads: the operations of other threads, and the calls of its owner.
    Driven(Vec<Vec<Verb>>, Vec<Call>),
    /// Jobs that meet.
    Meeting(Settings, Vec<Round>),
    /// Jobs that wait until their pool ends.
    Waiting(Ending),
}

#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) pools: (Settings, Settings),
    pub(crate) outside: Vec<Vec<Verb>>,
    pub(crate) verbs: Vec<Verb>,
    /// The calls that end the pools.
    pub(crate) by: (By, By),
}

/// A call of the owner of a `LocalPool`.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    RunUntilIdle,
    TickAll,
    RunUntil(Body),
    RunUntilLocal(Body),
    /// Operations outside of a call.
    Outside(Vec<Verb>),
}

/// As many jobs as the pool has threads meet the calling thread.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) pause: Pause,
    /// How many other jobs are queued before, which end at once.
    pub(crate) others: u8,
    pub(crate) way: Way,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Pause {
    Nothing,
    Yields,
    Sleeps(Micros),
}

/// The way in which the jobs of a meeting come to the pool.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    OneByOne,
    InABatch,
    /// The first submits the others.
    ByTheFirst,
    /// Each submits the next.
    InAChain,
    ByOtherThreads,
    AsFutures,
    AsTimers(Vec<Micros>),
    InAScope,
    /// As futures that are woken all at once, by this thread or by a job.
    ThroughAGate(Pause, bool),
}

/// Jobs and a thread outside wait for futures that nothing wakes.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) pool: Settings,
    pub(crate) jobs: Vec<(Vec<Level>, Wait)>,
    pub(crate) outside: Wait,
    pub(crate) pause: Pause,
    /// Without it the pool is dropped.
    pub(crate) how: Option<How>,
}

/// A call, part or job around a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    InBlocking,
    InScope,
    InPlace,
    InInstall,
    InSubmit,
    InSpawn,
    InBlockOn,
}

/// The way in which a future is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    ByJoin,
    ByBlockOn,
    BySet,
}

/// Runs a program.
pub(crate) fn run(Program(kernel, kind): &Program) {
    io::begin(*kernel);
    match kind {
        Kind::One(lifetime) => pools::lifetime(lifetime),
        Kind::Two(pair) => pools::pair(pair),
        Kind::Driven(outside, calls) => pools::driven(outside, calls),
        Kind::Meeting(pool, rounds) => meeting::run(pool, rounds),
        Kind::Waiting(ending) => ending::run(ending),
    }
}
