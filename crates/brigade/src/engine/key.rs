//! The keys that name pools.
//!
//! A key is used once, so a handle never names a different pool. It also names the process of the pool. In a forked
//! child the threads of the parent's pools don't exist, and their work at the fork remains unfinished. Of such a pool
//! only the key is read.

use std::io;

use brigade_sync::atomic::Ordering;
use brigade_sync::fork::{self, OnChild};
use brigade_sync::unmodelled::AtomicU64;

/// The message of a forked child's abort.
const ORPHAN: &str = "brigade: a job, or the body of a scope, has forked and goes on in the child, where its pool is not; \
    it must call exec or _exit there";

/// Names a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u64);

/// One generation of a key, of which 16 bits are kept: a process may mistake a pool made 65,536 nested forks away for its
/// own. Below them are the number of the pool, enough for a million pools a second for a year, and the flags.
const GENERATION: u64 = 1 << 48;

/// The bit for a bounded pool, so that submissions to unbounded pools need no look-up.
const BOUNDED: u64 = 1 << 0;

/// The bit for a pool with observed jobs, for the same reason.
const OBSERVED: u64 = 1 << 1;

/// The bit for a pool whose jobs run in the waits of its callers.
const THREADLESS: u64 = 1 << 2;

/// The distance between the numbers of two pools; the flags lie below it.
const STEP: u64 = 1 << 3;

/// What a key tells of its pool without a look-up.
#[derive(Default)]
pub(crate) struct Kind {
    pub(crate) is_bounded: bool,
    pub(crate) is_observed: bool,
    pub(crate) is_threadless: bool,
}

impl Key {
    /// Names no pool.
    pub(crate) const NONE: Self = Self(0);

    /// Returns a key not used by any earlier pool. From now on, `C` is called in each forked child.
    ///
    /// # Errors
    /// If the fork handler can't be installed.
    pub(crate) fn new<C: OnChild>(of: Kind) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(STEP);
        fork::watch::<C>()?;
        let flag = |is, flag| if is { flag } else { 0 };
        let number = NEXT.fetch_add(STEP, Ordering::Relaxed)
            | flag(of.is_bounded, BOUNDED)
            | flag(of.is_observed, OBSERVED)
            | flag(of.is_threadless, THREADLESS);
        Ok(Self((u64::from(fork::generation() as u16) * GENERATION) | number))
    }

    /// Whether a job is queued as it is: the pool is neither bounded nor observed, and has threads.
    ///
    /// A single test of some bits, because each submission makes it.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        self.0 & (BOUNDED | OBSERVED | THREADLESS) == 0
    }

    /// The key of a pool that queues a job [as it is](Self::is_plain); otherwise a key of no pool.
    pub(super) fn if_plain(self) -> Self {
        if self.is_plain() { self } else { Self::NONE }
    }

    /// The key, if the pool's jobs run in the waits of its callers.
    #[inline]
    pub(crate) fn if_threadless(self) -> Option<Self> {
        (self.0 & THREADLESS != 0).then_some(self)
    }

    /// Whether the pool's jobs are observed.
    #[cfg(feature = "observe")]
    #[inline(always)]
    pub(crate) fn is_observed(self) -> bool {
        self.0 & OBSERVED != 0
    }

    /// Aborts a forked child before it locks the parent's pool or waits for its threads.
    pub(crate) fn end_if_orphan(self) {
        if !self.is_here() {
            fork::abort(ORPHAN);
        }
    }

    /// Whether the pool was made by this process, not by a process from which it was forked.
    #[inline(always)]
    pub(crate) fn is_here(self) -> bool {
        (self.0 / GENERATION) as u16 == fork::generation() as u16
    }
}
