//! The packed state of a pool's workers: how many there are of each kind, and flags for submitters.
//!
//! | bits | field | changed |
//! |---|---|---|
//! | 0–15 | searching: workers that look for work elsewhere | by each of them, and by the thread that wakes it |
//! | 16–31 | parked: workers that sleep, or are about to, and have not been picked | under the roster's lock |
//! | 32–46 | live: workers with a thread, or about to get it, and guests | under the roster's lock |
//! | 47 | `COVERED`: no more workers are parked than guests run, so a fork wakes none | under the roster's lock |
//! | 48 | `WATCHED`: the monitor looks at the queues every millisecond | under the monitor's lock |
//! | 49 | `BELOW_CORE`: work starts a worker, even beside idle workers | under the roster's lock |
//! | 50 | `BELOW_MAX`: work starts a worker if none is idle | under the roster's lock |
//! | 51 | `TRACED`: workers record trace events; never without the feature `trace` | when a trace begins and ends |
//! | 52 | `DRAINS`: the pool does not finish its futures; never without `CLOSED` | once |
//! | 53 | `CLOSED`: nothing is accepted from outside | once |
//! | 54 | `DISCARD`: nothing is accepted, and queued jobs are cancelled; never without `CLOSED` | once |
//! | 55 | `TERMINATED`: workers leave; never while a worker runs or work is queued | once |
//! | 56 | `QUIET_AWAITED`: a thread waits until the pool is idle | under the roster's lock |
//! | 57 | `UNDERSTAFFED`: as `BELOW_MAX`, under any growth rule; never without `BELOW_MAX` | under the roster's lock |
//! | 58 | `DRIVER_HELD`: a parked worker waits for timers and I/O events | under the roster's lock |
//! | 59 | `ATTENDED`: the monitor checks the handling of timers and I/O events every 8 ms | under the monitor's lock |
//! | 60 | `NO_HEAVY_FENCE`: the system refuses the heavy fence; forks are published instead | under the roster's lock |
//! | 61 | `POLLS`: the pool drains, and has polled a future since; workers then note whether they poll futures | once |
//! | 62 | `SURPLUS`: the pool was made smaller, and workers leave between two jobs | under the roster's lock |
//! | 63 | `PRIORITIZED`: high jobs are queued | under the lock of their lane |
//!
//! The last two are the highest bits, because a worker tests both before each job: a single shift does.
//!
//! Live workers that are neither searching nor parked are *running*, including blocked workers, workers whose thread is
//! being started, and guests.

/// One searching worker.
pub(super) const SEARCHING: u64 = 1 << 0;
/// One parked worker.
pub(super) const PARKED: u64 = 1 << 16;
/// One live worker.
pub(super) const LIVE: u64 = 1 << 32;
pub(super) const COVERED: u64 = 1 << 47;
pub(super) const WATCHED: u64 = 1 << 48;
pub(super) const BELOW_CORE: u64 = 1 << 49;
pub(super) const BELOW_MAX: u64 = 1 << 50;
/// Beside the bits of cancelled work: a worker tests all of them before it runs a job, at the price of a single
/// test.
pub(super) const TRACED: u64 = if cfg!(feature = "trace") { 1 << 51 } else { 0 };
pub(super) const DRAINS: u64 = 1 << 52;
pub(super) const CLOSED: u64 = 1 << 53;
pub(super) const DISCARD: u64 = 1 << 54;
pub(super) const TERMINATED: u64 = 1 << 55;
pub(super) const QUIET_AWAITED: u64 = 1 << 56;
pub(super) const UNDERSTAFFED: u64 = 1 << 57;
pub(super) const DRIVER_HELD: u64 = 1 << 58;
pub(super) const ATTENDED: u64 = 1 << 59;
pub(super) const NO_HEAVY_FENCE: u64 = 1 << 60;
pub(super) const POLLS: u64 = 1 << 61;
pub(super) const SURPLUS: u64 = 1 << 62;
pub(super) const PRIORITIZED: u64 = 1 << 63;

/// The bits of a number of workers.
const COUNT: u64 = (1 << 16) - 1;
/// The bits of the number of workers and guests.
const COUNT_LIVE: u64 = LIVE * (COUNT / 2);

/// Adds methods to [`Snapshot`] that say whether any of these bits is set.
macro_rules! any_of {
    ($($(#[$attribute:meta])* $name:ident: $bits:expr;)*) => {
        impl Snapshot {$(
            $(#[$attribute])*
            #[inline]
            pub(crate) fn $name(self) -> bool {
                self.0 & $bits != 0
            }
        )*}
    };
}

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
        ((self.0 & COUNT_LIVE) / LIVE) as usize
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
    pub(crate) fn wants_wake(self) -> bool {
        (self.0 & COUNT == 0 && self.0 & (COUNT * PARKED) != 0)
            || self.0 & (BELOW_CORE | BELOW_MAX) != 0
    }

    /// Whether a worker could be woken or started for a fork.
    pub(crate) fn has_reserves_for_forks(self) -> bool {
        self.is_understaffed() || (self.parked() > 0 && !self.is_covered())
    }

    /// Whether a fork must wake or start a worker. A pool does not grow beyond its core size for forks.
    #[inline]
    pub(crate) fn wants_wake_for_forks(self) -> bool {
        self.has_reserves_for_forks()
            && (self.0 & COUNT == 0 || self.0 & (BELOW_CORE | UNDERSTAFFED) != 0)
    }

    /// Whether a fork must be more than pushed: it needs another worker, or must be published.
    #[inline]
    pub(crate) fn notifies_of_forks(self) -> bool {
        // The first test decides most often.
        self.0 & ((COUNT * PARKED) | BELOW_CORE | UNDERSTAFFED | NO_HEAVY_FENCE) != 0
            && (self.0 & (COUNT | COVERED) == 0
                || self.0 & (BELOW_CORE | UNDERSTAFFED | NO_HEAVY_FENCE) != 0)
    }

    /// Whether a submission is rejected, from a job of this pool (`inside`) or from elsewhere.
    pub(crate) fn rejects(self, inside: bool) -> bool {
        if inside { self.discards() } else { self.closed() }
    }

    /// Whether there is a single worker and no more may be started: it need not announce work.
    #[inline]
    pub(crate) fn is_alone(self) -> bool {
        self.0 & (COUNT_LIVE | BELOW_CORE | BELOW_MAX) == LIVE
    }

    /// Whether the monitor looks at the queues, and could wake a worker for a job found there.
    pub(crate) fn watched(self) -> bool {
        self.0 & WATCHED != 0 && self.parked() > 0
    }

    /// Whether the monitor checks timers and I/O events, and could wake a worker to handle them.
    pub(crate) fn attended(self) -> bool {
        self.0 & ATTENDED != 0 && self.parked() > 0
    }
}

any_of! {
    /// Whether the system refuses the heavy fence.
    lacks_heavy_fence: NO_HEAVY_FENCE;

    /// Whether work starts a worker even beside idle workers.
    is_below_core: BELOW_CORE;

    /// Whether work starts a worker if none is idle.
    is_below_max: BELOW_MAX;

    /// Whether even a single job starts a worker: the pool is below its core size, or a blocked worker has no
    /// replacement.
    is_understaffed: BELOW_CORE | UNDERSTAFFED;

    /// Whether a worker could be woken or started.
    has_reserves: (COUNT * PARKED) | BELOW_CORE | BELOW_MAX;

    /// Whether a worker must act before the next job: it may be surplus, or high jobs are queued.
    interrupts: SURPLUS | PRIORITIZED;

    /// Whether workers leave between two jobs.
    has_surplus: SURPLUS;

    /// Whether high jobs are queued.
    is_prioritized: PRIORITIZED;

    /// Whether a fork wakes no worker, because guests run in place of those that are parked.
    is_covered: COVERED;

    /// Whether a parked worker waits for timers and I/O events.
    driver_held: DRIVER_HELD;

    /// Whether nothing is accepted from outside any more.
    closed: CLOSED;

    /// Whether queued work is cancelled and a worker accepts none: the pool is being discarded, or has
    /// terminated since the worker announced itself as parked.
    discards: DISCARD | TERMINATED;

    /// Whether a worker must do more with a job than run it: the job must be cancelled or traced, or the end of the
    /// pool depends on its kind.
    runs_not_only: DISCARD | TERMINATED | TRACED | POLLS;

    /// Whether the pool was closed by a discard.
    #[cfg(feature = "observe")]
    was_discarded: DISCARD;

    /// Whether the pool was closed by a drain or a discard.
    #[cfg(feature = "observe")]
    was_drained: DRAINS;

    /// Whether the pool has been closed, and does not finish its futures.
    cuts_futures: DRAINS | DISCARD | TERMINATED;

    /// Whether workers note whether they poll futures.
    notes_polls: POLLS;

    /// Whether workers record trace events.
    #[cfg(feature = "trace")]
    is_traced: TRACED;

    /// Whether workers leave for good.
    terminated: TERMINATED;

    /// Whether a thread waits until the pool is idle.
    quiet_awaited: QUIET_AWAITED;
}
