//! What a pool tells about its jobs: hooks, and records of what its threads do. `README.md` beside this file has the design.
//!
//! This module has the values. `watch.rs` measures the jobs, and `submission` and `spawn` wrap those of observed pools.

mod dump;
mod outcome;
mod record;
mod stall;
#[cfg(feature = "histograms")]
mod times;
#[cfg(not(feature = "histograms"))]
#[path = "no_times.rs"]
mod times;
#[cfg(feature = "tracing")]
mod trace;
#[cfg(not(feature = "tracing"))]
#[path = "no_trace.rs"]
mod trace;

use core::any::Any;
use core::fmt;
use core::time::Duration;
use std::borrow::Cow;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Arc;

use brigade_task::drop_contained;

use crate::key::Key;
pub use dump::{Dump, JobDump, WaitDump, WorkerDump};
pub use outcome::{End, Outcome};
pub(crate) use record::{Record, Stretch};
pub use stall::Stall;
pub(crate) use stall::{Detector, Looks};
#[cfg(feature = "histograms")]
pub use times::{Histograms, Times};
pub(crate) use trace::{JobSpan, Submitter};

/// What is told about a pool's jobs, as its builder has it.
#[derive(Clone, Default)]
pub(crate) struct Observe {
    /// The name of the pool, if it was given one of its own.
    pub(crate) name: Option<Arc<str>>,
    /// What the names of its threads begin with, if that is known.
    pub(crate) prefix: Option<Arc<str>>,
    /// Begins to watch a job, if anything is told. By its address, as only a program that observes a pool contains what it calls.
    pub(crate) begin_watch: Option<BeginWatch>,
    /// Whether the times of jobs are recorded.
    pub(crate) times: bool,
    /// Whether each job has a span.
    #[cfg(feature = "tracing")]
    pub(crate) traces: bool,
    pub(crate) on_outcome: Option<OutcomeHook>,
    pub(crate) on_stall: Option<(Duration, StallHook)>,
}

/// A hook that is told how a job ended.
pub(crate) type OutcomeHook = Arc<dyn Fn(&Outcome<'_>) + Send + Sync>;

/// A hook that is told of a job that runs for long.
pub(crate) type StallHook = Arc<dyn Fn(&Stall) + Send + Sync>;

impl Observe {
    /// Whether jobs are wrapped when they are submitted.
    pub(crate) fn is_on(&self) -> bool {
        self.begin_watch.is_some()
    }

    /// The name of the pool.
    pub(crate) fn pool_name(&self) -> Arc<str> {
        let given = self.name.as_ref().or(self.prefix.as_ref());
        given.cloned().unwrap_or_else(|| "brigade".into())
    }

    /// What the jobs of the pool with this key will share, if anything is told.
    pub(crate) fn observer(&self, key: Key) -> Option<Arc<Observer>> {
        self.is_on().then(|| Arc::new(Observer::new(key, self.clone())))
    }
}

/// What a pool knows of a job since its submission.
pub(crate) struct JobInfo {
    pub(crate) observer: Arc<Observer>,
    pub(crate) name: Option<Cow<'static, str>>,
    /// Where it was submitted.
    pub(crate) place: &'static Location<'static>,
    pub(crate) submitter: Submitter,
}

/// Begins to watch a job; the last argument says whether it has a handle.
pub(crate) type BeginWatch = fn(Arc<JobInfo>, bool) -> Box<dyn Watching>;

/// The watch over one job, which is in the job: dropped with a job that does not run, it tells that the job was cancelled.
pub(crate) trait Watching: Send {
    /// The job starts, or its future is polled.
    fn enter(&mut self);

    /// Calls a closure in the span of the job.
    fn in_span(&self, call: &mut dyn FnMut());

    /// That returns, or panics with this payload; whether it is the end of the job.
    fn leave(&mut self, panic: Option<&(dyn Any + Send)>, is_over: bool);

    /// The job was not accepted: it has no end.
    fn withdraw(&mut self);
}

/// What the jobs of one observed pool share.
pub(crate) struct Observer {
    pub(crate) key: Key,
    /// The name of the pool.
    pub(crate) pool: Arc<str>,
    pub(crate) observe: Observe,
    /// The record of the threads that are not the pool's: they run jobs that they join, or for which there is no room.
    pub(crate) outside: Record,
    /// The thread that looks for stalls, if there is one.
    pub(crate) detector: Detector,
}

impl Observer {
    fn new(key: Key, observe: Observe) -> Self {
        let (outside, detector) = (Record::default(), Detector::default());
        Self { key, pool: observe.pool_name(), observe, outside, detector }
    }

    /// Tells the hook how a job ended.
    ///
    /// # Errors
    /// If the hook panicked, which is contained.
    pub(crate) fn tell(&self, outcome: &Outcome<'_>) -> Result<(), ()> {
        let Some(hook) = &self.observe.on_outcome else { return Ok(()) };
        panic::catch_unwind(AssertUnwindSafe(|| hook(outcome))).map_err(drop_contained)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("pool", &self.pool).finish_non_exhaustive()
    }
}
