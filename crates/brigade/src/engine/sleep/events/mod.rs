//! The events of a pool besides its queues: timers and I/O.
//!
//! Neither has a thread. A parked worker sleeps on both at once, as the driver holder. Without a holder, each
//! worker that runs out of work polls them before it searches, and every worker also polls between two jobs from time
//! to time. `engine/park/DRIVER.md` has the rule, and the proof that no event is missed.

pub(in crate::engine) mod blocked;
pub(in crate::engine) mod driver;

use core::time::Duration;

use blocked::Candidates;
use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::{AtomicBool, AtomicU64};
use brigade_task::contain;
pub(crate) use driver::Driving;
#[cfg(feature = "io")]
pub(crate) use driver::closed;

use crate::engine::sleep::resources::Resources;
use crate::engine::timers::Timers;

/// The longest time between two checks by the monitor that events are handled. Each check takes the CPU from a running
/// thread, which on a busy machine may get it back a time slice later; Go's `sysmon` looks at its poller every 10 ms.
pub(in crate::engine) const WATCH_PERIOD: Duration = Duration::from_millis(8);

/// The timers and the driver of a pool.
pub(crate) struct Events {
    pub(crate) timers: Timers,
    pub(in crate::engine) driver: Driving,
    /// Threads that may poll timers and the driver while they wait inside a job.
    pub(in crate::engine) candidates: Candidates,
    /// How often workers have polled.
    polls: AtomicU64,
    /// Whether the next worker to park must hold the driver, even beside running workers.
    is_holder_called: AtomicBool,
    /// Entered by a thread so that its I/O resources belong to this pool.
    pub(in crate::engine) resources: Resources,
}

impl Events {
    pub(in crate::engine) fn new(threads: usize, is_paused: bool, resources: Resources) -> Self {
        Self {
            timers: Timers::new(threads, is_paused),
            driver: Driving::new(),
            candidates: Candidates::default(),
            polls: AtomicU64::new(0),
            is_holder_called: AtomicBool::new(false),
            resources,
        }
    }

    /// Notes that a worker polls.
    pub(in crate::engine) fn note_poll(&self) {
        self.polls.fetch_add(1, Ordering::Relaxed);
    }

    /// How often workers have polled.
    pub(in crate::engine) fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Calls for a driver holder: the next worker to park holds the driver, even beside running workers, which may be
    /// in long jobs. A hint: if it is missed, the monitor calls again.
    pub(in crate::engine) fn note_call(&self) {
        self.is_holder_called.store(true, Ordering::Relaxed);
    }

    /// Whether a holder has been called since the last call of this method.
    pub(in crate::engine) fn take_call(&self) -> bool {
        self.is_holder_called.load(Ordering::Relaxed)
            && self.is_holder_called.swap(false, Ordering::Relaxed)
    }

    /// Whether there are timers or a driver to wait for.
    #[inline]
    pub(in crate::engine) fn are_wanted(&self) -> bool {
        self.driver.is_made() || !self.timers.is_empty()
    }

    /// Wakes every task that waits for a timer or an I/O resource. The pool has ended, so none waits there again.
    pub(in crate::engine) fn end(&self) {
        // Both first: a woken task may be dropped here, and the destructor may wait for either.
        let (entries, mut wakers) = (self.timers.end(), Vec::new());
        self.driver.close(&mut |waker| wakers.push(waker));
        for entry in entries {
            entry.give_up();
        }
        for waker in wakers {
            contain(|| waker.wake());
        }
    }
}
