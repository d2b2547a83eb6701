//! The operations of a program, as values: a failing program is cut down, and printed as code for `cases.rs`.
//!
//! The names of all variants differ, so that this code can import them all.

/// A time in microseconds.
pub(crate) type Micros = u16;

/// An operation of a thread, a job, a part or a future. Its name is that of a method or function of brigade, where it has one.
#[derive(Clone, Debug)]
pub(crate) enum Verb {
    Yield,
    Sleep(Micros),
    /// Sleeps in a blocking call.
    BlockingSleep(Micros),
    Blocking(Vec<Verb>),
    Execute(Body),
    Submit(Body, End),
    /// `execute`, `submit` and `spawn`, which wait for room.
    Patiently(Body, (Body, End), (Body, End)),
    ExecuteBatch(Vec<Body>),
    SubmitBatch(Vec<(Body, End)>),
    /// Whether the returned jobs are run.
    Dispatch(Vec<Body>, bool),
    /// Terms for a single job.
    Class(Terms),
    OnWorker(u8, Body),
    Broadcast(Shares, Panics),
    /// The free functions: `execute`, on this worker only or not, and `submit`.
    Free(bool, Body, Body, End),
    Set(Tasks),
    /// In a view of the pool with a limit of one: of a closure without a handle, and of work with one.
    Limited(Body, Work, End),
    Join(Vec<Verb>, Vec<Verb>),
    Scope(Vec<Vec<Verb>>),
    /// The jobs, the operations of the scope's own thread, and whether it joins the jobs.
    InPlaceScope(Vec<Body>, Vec<Verb>, bool),
    /// A scope with futures, and with jobs that add a job; whether it is cancelled.
    MixedScope(Vec<Body>, Vec<Vec<Verb>>, bool),
    /// The free functions `scope` and `in_place_scope`.
    FreeScopes(Vec<Verb>, Vec<Verb>),
    /// With the other pool as the current pool.
    Enter(Vec<Verb>),
    /// Closes the pool, if it is to end while others use it.
    Close,
    Install(Vec<Verb>),
    /// `par_for` and the other loops: the length, the grain, and whether a call panics.
    Loops(u8, u8, bool),
    /// `map` and `map_unordered`: the length, the window, and how many results are taken.
    Maps(u8, u8, u8),
    Spawn(Body, End),
    BlockOn(Body),
    /// How long it waits for a permit, and the job that uses the permit.
    Reserve(Option<Micros>, Option<(Body, End)>),
    SpawnLocal(Body, End),
    /// Whether the timer is cancelled.
    After(Micros, Body, bool),
    Delayed(Micros, Body, End),
    Every(Periodic),
    Prestart,
    Dump,
    Resize(u8, u8),
    WaitIdle,
    WaitIdleTimeout(Micros),
    /// A pool of its own.
    Inner(Lifetime),
    Io(Transfer),
    /// Two ends of brigade's own types, and how many bytes go through.
    Talks(Link, u8),
    /// As operations of the other pool, in a program of two.
    Across(Vec<Verb>),

    // In futures only: these await.
    YieldNow,
    AsyncSleep(Micros),
    Timeout(Micros, Body),
    SubmitAwait(Body),
    /// Whether it is cancelled first.
    SpawnAwait(Body, bool),
    /// Operations that a thread may have as well, within one poll.
    Act(Vec<Verb>),
    Interval(u8),
    ReserveAwait(Body),
    SetAwait(Vec<Body>),
    IoAwait(Transfer),
    TalksAwait(Link, u8),
}

impl Verb {
    /// The name of the variant.
    pub(crate) fn name(&self) -> String {
        format!("{self:?}").chars().take_while(|letter| letter.is_alphanumeric()).collect()
    }
}

/// The body of a closure or future: its operations, and whether it panics.
#[derive(Clone, Debug)]
pub(crate) struct Body(pub(crate) Vec<Verb>, pub(crate) Panics);

/// The place where a body panics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Panics {
    Never,
    /// Does not, but its drop takes long.
    NeverAndDropsSlowly,
    AtTheEnd,
    InItsDrop,
    InTheDropOfItsOutput,
}

/// The use of a handle. Every use but the first comes after the operations beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    JoinedAtOnce,
    Joined,
    Detached,
    Cancelled,
    CancelledOnDrop,
    JoinedFor(Micros),
    TriedFirst,
}

/// A closure or a future.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Closure(Body),
    Async(Body),
}

/// A job with terms.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) priority: u8,
    pub(crate) deadline: Option<Micros>,
    pub(crate) is_named: bool,
    /// The number of a value that follows it.
    pub(crate) value: Option<u8>,
    /// The policy of a full pool for this job.
    pub(crate) full: Option<Full>,
    pub(crate) work: Work,
    /// A closure without it is executed.
    pub(crate) end: Option<End>,
}

/// The use of the handles of a broadcast.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shares {
    JoinEach,
    DropEach,
    CancelEach,
}

/// A set of tasks.
#[derive(Clone, Debug)]
pub(crate) struct Tasks {
    pub(crate) limit: Option<u8>,
    /// How long until its deadline.
    pub(crate) deadline: Option<Micros>,
    pub(crate) tasks: Vec<Work>,
    pub(crate) then: Then,
    pub(crate) drain: Drain,
}

/// What happens to a set before the wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    KeepAll,
    CancelAll,
    CancelFirst,
    DetachAll,
}

/// How the outcomes of a set are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Drain {
    JoinNext,
    WaitAll,
    WaitAllTimeout(Micros),
    JoinNextTimeout(Micros),
}

/// A periodic job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periodic {
    pub(crate) period: Micros,
    pub(crate) skips: bool,
    pub(crate) panics: Panics,
    /// How long it lasts.
    pub(crate) lasts: Micros,
}

/// Bytes that go through pipes and sockets.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) wires: Vec<Wire>,
    /// A seed for the order of the tasks.
    pub(crate) order: u8,
    pub(crate) here: Here,
    pub(crate) end: End,
}

/// A pipe or a pair of sockets, with the tasks of each of its sides. A task is a seed for the sizes, pauses and ways of its calls.
#[derive(Clone, Debug)]
pub(crate) enum Wire {
    Pipe(Vec<Vec<u8>>),
    Socket(Vec<Vec<u8>>),
    /// Sockets through which single bytes go in turns.
    Talk(Vec<Vec<u8>>),
}

/// Two ends that talk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link {
    APair,
    /// A listener in the file system.
    AFile,
    ThroughTcp,
    /// Whether they are connected.
    Datagrams(bool),
    APipe,
    /// An end alone, all of whose operations fail: so many of them, or for so long.
    Fails(Failing, bool),
}

/// The operation that fails, and why.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failing {
    NoFile,
    NoListener,
    AddressInUse,
    NoReader,
    ClosedPipe,
    NotConnected,
    TooLong,
    OwnError,
    NotListening,
}

/// Which of the tasks the calling thread polls. The pool has the others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Here {
    NoTask,
    LastTask,
    AllTasks,
}

/// A pool, from its start to its end.
#[derive(Clone, Debug)]
pub(crate) struct Lifetime {
    pub(crate) pool: Settings,
    /// The operations of other threads, and those of the owner.
    pub(crate) outside: Vec<Vec<Verb>>,
    pub(crate) verbs: Vec<Verb>,
    /// The pool ends while others use it.
    pub(crate) is_early: bool,
    pub(crate) how: How,
    pub(crate) by: By,
}

/// How a pool ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum How {
    Drains,
    Finishes,
    Discards,
}

/// The call that ends a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    Dropped,
    ShutDown,
    ShutDownFor(Micros),
    Closed,
    /// On a worker of its own.
    DroppedInJob,
}

/// The smallest and the largest number of threads, and all else that is not the default.
#[derive(Clone, Debug)]
pub(crate) struct Settings(pub(crate) u8, pub(crate) u8, pub(crate) Vec<Setting>);

/// A setting of a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Setting {
    Shared,
    Lifo,
    Spin,
    SpinThenPark(Micros),
    Capacity(u8, Full),
    OnOutcome,
    /// A seed for which starts of threads fail.
    FailingStarts(u8),
    /// All starts but the first fail.
    FewStarts(u8),
    StartsNone,
    StartsAll,
    Spare(u8),
    ShortKeepAlive,
    WhenBlocked,
    WhenQueued(u8),
    Fairness(u8),
    ObserveJobs,
    OnStall,
    OnDrop(How),
    /// A thread of the spawner is the worker's.
    RunsThreads,
    /// Its jobs run in waits.
    WithoutThreads,
}

/// What a full pool does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Full {
    Blocks,
    Rejects,
    BlocksFor(Micros),
    RunsInCaller,
    DropsOldest,
    DropsNewest,
}
