//! The timers set by some of the workers.

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_timer::Agenda;

use super::NONE;
use super::entry::Entry;

/// The timers set by some of the workers.
pub(in crate::engine) struct Part {
    pub(in crate::engine) pending: Mutex<Pending>,
    /// A time no later than the earliest deadline, in nanoseconds since the start of the pool's timers, or
    /// [`NONE`]. Written under the lock.
    bound: AtomicU64,
}

/// The data under the lock.
#[derive(Default)]
pub(in crate::engine) struct Pending {
    /// The timers; `None` until the first is set.
    pub(in crate::engine) agenda: Option<Box<dyn Agenda<Entry>>>,
    pub(in crate::engine) accepts: TimersOf,
}

/// Which timers may still be set.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum TimersOf {
    #[default]
    All,
    /// The pool is closed; its jobs and futures continue for a while.
    Wakers,
    /// The pool has ended.
    Nothing,
}

impl Part {
    pub(in crate::engine) fn new() -> Self {
        Self { pending: Mutex::default(), bound: AtomicU64::new(NONE) }
    }

    /// A time no later than the earliest deadline, as last [noted](Self::note_bound).
    pub(in crate::engine) fn bound(&self) -> u64 {
        // Ordering: Relaxed: without the lock it is a hint.
        self.bound.load(Ordering::Relaxed)
    }

    /// Notes a time no later than the earliest deadline. The caller holds the lock.
    pub(in crate::engine) fn note_bound(&self, nanos: u64) {
        self.bound.store(nanos, Ordering::Relaxed);
    }
}

impl Pending {
    /// Whether this timer may still be set.
    pub(in crate::engine) fn accepts(&self, entry: &Entry) -> bool {
        self.accepts < if entry.is_closure() { TimersOf::Wakers } else { TimersOf::Nothing }
    }
}
