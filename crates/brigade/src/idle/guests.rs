//! Threads that fork as workers of a pool, and are none. `engine/FORKS.md` has the protocol, and `loom_tests` its models.

use brigade_sync::atomic::{AtomicUsize, Ordering, fence};

/// The guests of a pool, for those who decide whether something may fork, or will run what waits.
///
/// A guest is *awake* unless it sleeps until what it waits for has ended. It *helps* while it is awake and steals a part or runs one
/// that it has stolen.
#[derive(Default)]
pub(crate) struct Guests {
    awake: AtomicUsize,
    helping: AtomicUsize,
}

impl Guests {
    /// Counts a guest as awake, before its next fork.
    pub(crate) fn wake(&self) {
        self.awake.fetch_add(1, Ordering::SeqCst);
        // Ordering: a worker that parks looks for guests after its announcement and a fence. So it sees this one, and passes the
        // heavy fence before it looks for forks, or the guest sees the announcement when it forks.
        fence(Ordering::SeqCst);
    }

    /// Counts it as asleep, or gone: nothing that it has forked is left.
    pub(crate) fn sleep(&self) {
        self.awake.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a guest may fork.
    pub(crate) fn are_awake(&self) -> bool {
        self.awake.load(Ordering::SeqCst) > 0
    }

    /// Counts a guest as helping, before it steals.
    pub(crate) fn begin_help(&self) {
        self.helping.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts it as no longer helping, after what it has stolen has ended.
    pub(crate) fn end_help(&self) {
        self.helping.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a guest may run what a worker waits for, and can't find on a queue. If not, and a guest has run it, the worker's next
    /// look finds that it has ended.
    pub(crate) fn are_helping(&self) -> bool {
        // Ordering: Acquire: the look that has not found it may have been Relaxed, and the steal that it saw came after
        // `begin_help`.
        fence(Ordering::Acquire);
        self.helping.load(Ordering::SeqCst) > 0
    }
}
