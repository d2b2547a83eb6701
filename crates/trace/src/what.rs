//! What the threads of a pool do, as they tell it for a trace.

use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;

use brigade_observe::ThreadInfo;

/// The indices of guests begin here: threads that are no workers, and run parts of their own calls. Those of workers are lower.
pub const GUESTS: usize = 8192;

/// What a thread with an index is called, and its number.
pub(crate) fn title_of(index: usize) -> (&'static str, usize) {
    match index.checked_sub(GUESTS) {
        Some(number) => ("guest", number),
        None => ("worker", index),
    }
}

/// The action of a thread, for some time or at a moment.
#[derive(Clone, Debug)]
pub enum What {
    /// Runs a job, or polls a future.
    Job(Label),
    /// Is blocked; the pool may have another thread in its place.
    Blocked,
    /// Looks for a job.
    Search(Since),
    /// Sleeps, and waits for timers and I/O if it holds the driver.
    Parked {
        /// Whether it holds the driver.
        holds_driver: bool,
        /// The action before.
        since: Since,
    },
    /// Wakes a worker.
    Wake {
        /// The index of the worker.
        worker: usize,
        /// The number of the wake-up.
        number: u64,
        /// The thread, if it is foreign.
        by: Option<Arc<ThreadInfo>>,
    },
    /// Has taken jobs or forks from another worker, or forks from a guest; none of them runs yet.
    Stolen {
        /// The index of the worker or guest.
        from: usize,
        /// How many.
        jobs: usize,
        /// Whether these are forks.
        are_forks: bool,
    },
    /// Has taken jobs from the shared queue.
    Taken(usize),
    /// Has fired timers.
    Timers(usize),
    /// Has polled I/O and found events.
    Events(usize),
    /// Goes on with a job inside which it has searched.
    Resumes,
    /// Begins as a worker in this role.
    Starts(&'static str),
    /// Is no longer a worker.
    Ends,
}

/// The action of a worker before it began to search, or to sleep.
#[derive(Clone, Copy, Debug)]
pub enum Since {
    /// It ran.
    Running,
    /// It slept, or was about to, and saw something to do itself.
    Parked,
    /// It slept until the wake-up with this number, which the trace knows.
    Woken(u64),
}

/// The identity of a job, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Label {
    /// The name of the job.
    pub name: Option<Cow<'static, str>>,
    /// Where the job was submitted.
    pub place: Option<&'static Location<'static>>,
}
