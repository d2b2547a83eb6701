//! The packed state of a pool's workers: how many there are of each kind, and flags for submitters.
//!
//! | bits | field | changed |
//! |---|---|---|
//! | 0–15 | searching: workers that look for work elsewhere | by each of them, and by the thread that wakes it |
//! | 16–31 | parked: workers that sleep, or are about to, and have not been picked | under the roster's lock |
//! | 32–47 | live: workers with a thread, or about to get it | under the roster's lock |
//! | 48 | `WATCHED`: the monitor looks at the queues every millisecond | under the monitor's lock |
//! | 49 | `BELOW_CORE`: work starts a worker, even beside idle workers | under the roster's lock |
//! | 50 | `BELOW_MAX`: work starts a worker if none is idle | under the roster's lock |
//! | 51 | `TRACED`: workers record trace events; never without the feature `trace` | when a trace begins and ends |
//! | 53 | `CLOSED`: nothing is accepted from outside | once |
//! | 54 | `DISCARD`: nothing is accepted, and queued jobs are cancelled; never without `CLOSED` | once |
//! | 55 | `TERMINATED`: workers leave; never while a worker runs or work is queued | once |
//! | 56 | `QUIET_AWAITED`: a thread waits until the pool is idle | under the roster's lock |
//! | 57 | `UNDERSTAFFED`: as `BELOW_MAX`, under any growth rule; never without `BELOW_MAX` | under the roster's lock |
//! | 58 | `DRIVER_HELD`: a parked worker waits for timers and I/O events | under the roster's lock |
//! | 59 | `ATTENDED`: the monitor checks the handling of timers and I/O events every 8 ms | under the monitor's lock |
//! | 60 | `NO_HEAVY_FENCE`: the system refuses the heavy fence; forks are published instead | under the roster's lock |
//! | 61 | `YIELDS`: the pool drains, and a future has yielded; workers then note the kind of their jobs | once |
//! | 62 | `SURPLUS`: the pool was made smaller, and workers leave between two jobs | under the roster's lock |
//! | 63 | `PRIORITIZED`: high jobs are queued | under the lock of their lane |
//!
//! The last two are the highest bits, because a worker tests both before each job: a single shift does.
//!
//! Live workers that are neither searching nor parked are *running*, including blocked workers and workers
//! whose thread is being started.

/// One searching worker.
pub(super) const SEARCHING: u64 = 1;
/// One parked worker.
pub(super) const PARKED: u64 = 1 << 16;
/// One live worker.
pub(super) const LIVE: u64 = 1 << 32;
pub(super) const WATCHED: u64 = 1 << 48;
pub(super) const BELOW_CORE: u64 = 1 << 49;
pub(super) const BELOW_MAX: u64 = 1 << 50;
/// Beside the bits of cancelled work: a worker tests all of them before it runs a job, at the price of a single
/// test.
pub(super) const TRACED: u64 = if cfg!(feature = "trace") { 1 << 51 } else { 0 };
pub(super) const CLOSED: u64 = 1 << 53;
pub(super) const DISCARD: u64 = 1 << 54;
pub(super) const TERMINATED: u64 = 1 << 55;
pub(super) const QUIET_AWAITED: u64 = 1 << 56;
pub(super) const UNDERSTAFFED: u64 = 1 << 57;
pub(super) const DRIVER_HELD: u64 = 1 << 58;
pub(super) const ATTENDED: u64 = 1 << 59;
pub(super) const NO_HEAVY_FENCE: u64 = 1 << 60;
pub(super) const YIELDS: u64 = 1 << 61;
pub(super) const SURPLUS: u64 = 1 << 62;
pub(super) const PRIORITIZED: u64 = 1 << 63;

const COUNT: u64 = 0xffff;

/// A value of the state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot(pub(super) u64);

impl Snapshot {
    /// The number of searching workers.
    pub(crate) fn searching(self) -> usize {
        (self.0 & COUNT) as usize
    }

    /// The number of parked workers.
    pub(crate) fn parked(self) -> usize {
        ((self.0 / PARKED) & COUNT) as usize
    }

    /// The number of workers with a thread, or about to get it.
    pub(crate) fn live(self) -> usize {
        ((self.0 / LIVE) & COUNT) as usize
    }

    /// The number of workers that are neither searching nor parked, including blocked workers.
    pub(crate) fn running(self) -> usize {
        self.live().saturating_sub(self.searching() + self.parked())
    }

    /// Whether every worker is parked.
    pub(crate) fn all_parked(self) -> bool {
        self.parked() == self.live()
    }

    /// Whether work must wake or start a worker: none searches and one could be woken, or the pool may have
    /// more.
    #[inline]
    pub(crate) fn wants_help(self) -> bool {
        (self.0 & COUNT == 0 && self.0 & (COUNT * PARKED) != 0)
            || self.0 & (BELOW_CORE | BELOW_MAX) != 0
    }

    /// Whether a worker could be woken or started for a fork.
    #[inline]
    pub(crate) fn has_reserves_for_forks(self) -> bool {
        self.0 & ((COUNT * PARKED) | BELOW_CORE | UNDERSTAFFED) != 0
    }

    /// Whether a fork must wake or start a worker. A pool does not grow beyond its core size for forks.
    #[inline]
    pub(crate) fn wants_help_for_forks(self) -> bool {
        self.has_reserves_for_forks()
            && (self.0 & COUNT == 0 || self.0 & (BELOW_CORE | UNDERSTAFFED) != 0)
    }

    /// Whether a fork must be more than pushed: it needs another worker, or must be published.
    #[inline]
    pub(crate) fn announces_forks(self) -> bool {
        // The first test decides most often.
        self.0 & ((COUNT * PARKED) | BELOW_CORE | UNDERSTAFFED | NO_HEAVY_FENCE) != 0
            && (self.0 & COUNT == 0 || self.0 & (BELOW_CORE | UNDERSTAFFED | NO_HEAVY_FENCE) != 0)
    }

    /// Whether the system refuses the heavy fence.
    pub(crate) fn lacks_heavy_fence(self) -> bool {
        self.0 & NO_HEAVY_FENCE != 0
    }

    /// Whether work starts a worker even beside idle workers.
    #[inline]
    pub(crate) fn is_below_core(self) -> bool {
        self.0 & BELOW_CORE != 0
    }

    /// Whether work starts a worker if none is idle.
    pub(crate) fn is_below_max(self) -> bool {
        self.0 & BELOW_MAX != 0
    }

    /// Whether even a single job starts a worker: the pool is below its core size, or a blocked worker has no
    /// replacement.
    pub(crate) fn is_understaffed(self) -> bool {
        self.0 & (BELOW_CORE | UNDERSTAFFED) != 0
    }

    /// Whether a worker could be woken or started.
    pub(crate) fn has_reserves(self) -> bool {
        self.0 & ((COUNT * PARKED) | BELOW_CORE | BELOW_MAX) != 0
    }

    /// Whether there is a single worker and no more may be started: it need not announce work.
    #[inline]
    pub(crate) fn is_alone(self) -> bool {
        self.0 & ((COUNT * LIVE) | BELOW_CORE | BELOW_MAX) == LIVE
    }

    /// Whether a worker must act before the next job: it may be surplus, or high jobs are queued.
    #[inline]
    pub(crate) fn interrupts(self) -> bool {
        self.0 & (SURPLUS | PRIORITIZED) != 0
    }

    /// Whether workers leave between two jobs.
    #[inline]
    pub(crate) fn has_surplus(self) -> bool {
        self.0 & SURPLUS != 0
    }

    /// Whether high jobs are queued.
    #[inline]
    pub(crate) fn is_prioritized(self) -> bool {
        self.0 & PRIORITIZED != 0
    }

    /// Whether the monitor looks at the queues, and could wake a worker for a job found there.
    pub(crate) fn watched(self) -> bool {
        self.0 & WATCHED != 0 && self.parked() > 0
    }

    /// Whether a parked worker waits for timers and I/O events.
    #[inline]
    pub(crate) fn driver_held(self) -> bool {
        self.0 & DRIVER_HELD != 0
    }

    /// Whether the monitor checks timers and I/O events, and could wake a worker to handle them.
    pub(crate) fn attended(self) -> bool {
        self.0 & ATTENDED != 0 && self.parked() > 0
    }

    /// Whether nothing is accepted from outside any more.
    pub(crate) fn closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Whether queued work is cancelled and a worker accepts none: the pool is being discarded, or has
    /// terminated since the worker announced itself as parked.
    #[inline]
    pub(crate) fn discards(self) -> bool {
        self.0 & (DISCARD | TERMINATED) != 0
    }

    /// Whether a worker must do more with a job than run it: the job must be cancelled or traced, or futures
    /// that yield depend on it.
    #[inline]
    pub(crate) fn runs_not_only(self) -> bool {
        self.0 & (DISCARD | TERMINATED | TRACED | YIELDS) != 0
    }

    /// Whether workers record trace events.
    #[cfg(feature = "trace")]
    #[inline]
    pub(crate) fn is_traced(self) -> bool {
        self.0 & TRACED != 0
    }

    /// Whether workers leave for good.
    pub(crate) fn terminated(self) -> bool {
        self.0 & TERMINATED != 0
    }

    /// Whether a thread waits until the pool is idle.
    #[inline]
    pub(crate) fn quiet_awaited(self) -> bool {
        self.0 & QUIET_AWAITED != 0
    }
}
