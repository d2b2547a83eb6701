//! Long-running jobs, and the thread that finds them.

use core::fmt::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::thread::{self, Thread};
use brigade_sync::time;
use brigade_sync::{Mutex, Parker};

use crate::dump::JobDump;
use crate::record::Stretch;

/// A job that has run for longer than the pool's limit; see `Builder::on_stall` of brigade.
///
/// [`Display`](fmt::Display) writes all of it on a line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stall {
    /// The name of the pool.
    pub pool: Arc<str>,
    /// The index of the worker that runs the job; `None` for a foreign thread.
    pub worker: Option<usize>,
    /// The job.
    pub job: JobDump,
}

impl Stall {
    pub(crate) fn new(pool: Arc<str>, worker: Option<usize>, stretch: &Stretch) -> Self {
        Self { pool, worker, job: JobDump::new(stretch) }
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f: &mut dyn Write = f;
        let Self { pool, worker, job } = self;
        let (name, JobDump { place, ran, thread, state, .. }) = (job.title(), job);
        write!(f, "pool {pool}: {name} from {place} has run for {ran:.1?}")?;
        match worker {
            Some(index) => write!(f, " on worker {index}")?,
            None => f.write_str(" on a thread that is not the pool's")?,
        }
        if let Some(thread) = thread {
            write!(f, " ({thread})")?;
        }
        match state {
            Some(state) => write!(f, ": {state}"),
            None => Ok(()),
        }
    }
}

/// The thread of a pool that looks for stalls.
#[derive(Default)]
pub(crate) struct Detector {
    thread: Mutex<Option<Thread>>,
    /// Has a token when the thread must end.
    ends: Parker,
}

impl Detector {
    /// Sets the detector's thread.
    pub(crate) fn set_thread(&self, thread: Thread) {
        *self.thread.lock() = Some(thread);
    }

    /// Sleeps until then (`false`), or until the thread must end (`true`).
    pub(crate) fn ends_by(&self, at: Instant) -> bool {
        self.ends.park(Some(time::until(at)))
    }

    /// Ends the thread and waits for it until the deadline at most, unless called on the thread; returns whether it has ended.
    pub(crate) fn end(&self, deadline: Option<Instant>) -> bool {
        self.ends.unpark();
        let thread = self.thread.lock().take();
        let other = thread.filter(|thread| thread.id() != Some(thread::current_id()));
        let Some(Err(late)) = other.map(|thread| thread.join_until(deadline)) else { return true };
        self.set_thread(late);
        false
    }
}
