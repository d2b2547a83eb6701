//! A program: threads, jobs and futures that use pools.

use crate::verb::{Body, By, How, Lifetime, Micros, Settings, Verb};
use crate::{ending, io, judge, meeting, pools, waits};

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
    /// Jobs that wait for work that they have made.
    Working(Waits),
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
    SpawnsLocal(Body),
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
    pub(crate) busy: Vec<Busy>,
    pub(crate) outside: (Vec<Level>, Wait),
    /// The thread outside has begun as a guest of the pool before that ends.
    pub(crate) is_guest: bool,
    pub(crate) pause: Pause,
    /// Without it the pool is dropped.
    pub(crate) how: Option<How>,
    /// Another thread cancels a job whose drop takes long.
    pub(crate) cancels: bool,
    /// The pool has no threads, and no jobs that wait.
    pub(crate) local: Option<LocalEnd>,
}

/// Futures that are woken for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Busy {
    /// Two that wake each other.
    Pair,
    /// One that awaits a child after another.
    Parent,
    /// One that yields.
    Yields,
}

/// The end of a pool without threads, beside threads that wait for its jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LocalEnd {
    ByTheOwner,
    /// Whether the job waits before it closes the pool.
    ByItsJob(bool),
}

/// A call, part or job around a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    InBlocking,
    InScope,
    InPlace,
    InPlacesJob,
    InInstall,
    InFork,
    InSubmit,
    InSpawn,
    InBlockOn,
    InMail,
    InALocalFuture,
    InADrop,
    InTheDropOfAFuture,
    InAWaker,
    InACancelledJob,
    InEnter,
    /// In a fork of a thread that is no worker, or of a worker's.
    InAGuest,
    InAnotherPool,
    InALocalPool,
}

/// The way in which something is waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wait {
    ByJoin,
    ByBlockOn,
    BySet,
    BySetNext,
    // Waits with a limit, which is far.
    ByJoinFor,
    BySetFor,
    ByTimeout,
    /// At the end of a scope: if the pool ends.
    ByScope,
}

impl Wait {
    pub(crate) fn is_timed(self) -> bool {
        matches!(self, Self::ByJoinFor | Self::BySetFor | Self::ByTimeout)
    }

    /// Whether it is a call with a time limit, which runs nothing for the wait.
    pub(crate) fn has_limit(self) -> bool {
        matches!(self, Self::ByJoinFor | Self::BySetFor)
    }

    pub(crate) fn is_by_set(self) -> bool {
        matches!(self, Self::BySet | Self::BySetNext | Self::BySetFor)
    }
}

/// Jobs that wait for work that they have made.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    /// Their pool, and another pool.
    pub(crate) pools: (Settings, Settings),
    /// Their pool has no threads.
    pub(crate) is_driven: bool,
    pub(crate) jobs: Vec<Task>,
    /// Threads of no pool.
    pub(crate) outside: Vec<Task>,
    /// A job of the pool's hook for outcomes, once.
    pub(crate) hook: Option<Task>,
    /// How often these jobs come.
    pub(crate) crowd: u8,
    /// Jobs after a pause, from the start of which no start of a thread fails.
    pub(crate) later: Vec<Task>,
}

/// A job: the levels around its waits, the waits, and what goes on beside them.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) levels: Vec<Level>,
    pub(crate) waits: Vec<(Thing, Wait)>,
    pub(crate) beside: Option<Restless>,
}

impl Task {
    /// Leaves out what would take too many steps if a crowd of jobs did it.
    pub(crate) fn calm_down(&mut self) {
        self.beside = None;
        self.waits.retain(|(thing, _)| *thing != Thing::AComputation);
    }
}

/// Something that a job makes and waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Thing {
    AClosure,
    ALongClosure(Micros),
    AReadyFuture,
    AYield,
    ASleep(Micros),
    /// A future that a job of the other pool wakes.
    AGate(Micros),
    ATimer(Micros),
    AShare,
    /// A job for this worker.
    AMail,
    ALocalFuture(Micros),
    AnotherPoolsClosure,
    AnotherPoolsSleep(Micros),
    /// A job of a pool that this thread owns, and of one of two such pools.
    ALocalPools,
    AnOlderLocalPools,
    AScopesFuture(Micros),
    AScopesReadyFuture,
    /// A future that reads what a job of the other pool writes.
    AByte(Micros),
    /// Nothing: the job computes for long.
    AComputation,
    /// Room of the other pool.
    ARoom,
    /// A job of the other pool whose drop waits for room of it, if the full pool drops the job for another one.
    AnEviction,
    /// The end of all jobs of the other pool.
    AnIdlePool,
    /// A job of the same pool, without a handle, in a call that blocks.
    AMessage,
    /// A job of the other pool, while a lock is held that other jobs take.
    ALock,
}

/// Futures that are always woken, while a job waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Restless {
    InTheQueue,
    OneYields,
    TwoWakeEachOther,
}

/// Runs a program.
pub(crate) fn run(Program(kernel, kind): &Program) {
    io::begin(*kernel);
    pools::start_well();
    pools::hook(None);
    judge::begin();
    match kind {
        Kind::One(lifetime) => pools::lifetime(lifetime),
        Kind::Two(pair) => pools::pair(pair),
        Kind::Driven(outside, calls) => pools::driven(outside, calls),
        Kind::Meeting(pool, rounds) => meeting::run(pool, rounds),
        Kind::Waiting(ending) => ending::run(ending),
        Kind::Working(waits) => waits::run(waits),
    }
    judge::end();
}
