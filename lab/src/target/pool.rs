//! The traits of pools; each implementation follows the pool's documentation.
//!
//! A pool defines how a thread outside submits and how a task submits from inside. Both are generic, so
//! the compiler inlines them as in a user's program.

use std::io;
use std::time::Duration;

use crate::failure::Outcome;

/// A way to submit jobs to a pool.
pub(crate) trait Submit: Clone + Send + 'static {
    /// Submits `job`. The tally detects a dropped job.
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F);
}

/// Lets a handle of this type submit jobs, as the pool's documentation does.
macro_rules! submits {
    ($Handle:ty, |$handle:pat_param, $job:ident| $submit:expr) => {
        impl $crate::target::pool::Submit for $Handle {
            #[inline]
            fn submit<F: FnOnce() + Send + 'static>(&self, $job: F) {
                let $handle = self;
                $submit;
            }
        }
    };
}

pub(crate) use submits;

/// A running pool.
pub(crate) struct Running<O, I> {
    /// How a foreign thread submits.
    pub(crate) outside: O,
    /// How a task submits from inside the pool; every task carries a submitter.
    pub(crate) inside: I,
    /// Ends the pool after all jobs, as far as the pool offers it.
    end: Box<dyn FnOnce()>,
}

impl<O: Submit, I: Submit> Running<O, I> {
    /// A pool with these submitters, which `end` ends when both are gone.
    pub(crate) fn new(outside: O, inside: I, end: impl FnOnce() + 'static) -> Self {
        Running { outside, inside, end: Box::new(end) }
    }

    /// Ends the pool, when the submitters here are gone.
    pub(crate) fn shutdown(self) {
        let Running { outside, inside, end } = self;
        drop((inside, outside));
        end();
    }
}

impl<H: Submit> Running<H, H> {
    /// A pool with the same handle for threads outside and for tasks; `end` ends the pool.
    pub(crate) fn alike(handle: H, end: impl FnOnce() + 'static) -> Self {
        Running::new(handle.clone(), handle, end)
    }
}

/// How large an elastic pool may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Permanent threads.
    pub(crate) core: usize,
    /// Threads in all.
    pub(crate) max: usize,
    /// How long any other thread stays idle.
    pub(crate) keep_alive: Duration,
}

impl Size {
    /// As many threads as requested, each of which may stay.
    pub(crate) fn of(threads: usize) -> Self {
        Size { core: threads, max: threads, keep_alive: KEEP_ALIVE }
    }

    /// From [`FEW`] threads to [`MANY`], or to the requested number if higher.
    pub(crate) fn from_few(threads: usize) -> Self {
        Size { core: FEW, max: threads.max(MANY), keep_alive: KEEP_ALIVE }
    }
}

/// Core threads of the pools called `-50`: fewer than most workloads ask for.
pub(crate) const FEW: usize = 2;
/// The most threads of those pools, unless a workload asks for more.
pub(crate) const MANY: usize = 50;
/// How long a thread beyond the core size may idle in a pool without a setting: longer than any
/// run. The default of brigade and of rusty_pool.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Starts a pool with this many threads.
pub(crate) type Start<O, I> = fn(usize) -> io::Result<Running<O, I>>;
/// Starts a pool of this size, which grows and shrinks.
pub(crate) type StartSized<O, I> = fn(Size) -> io::Result<Running<O, I>>;

/// An operation on a pool, generic over the pool.
pub(crate) trait VisitPool {
    /// Threads of the future pool.
    fn threads(&self) -> usize;

    /// Runs it with the pool of `start`.
    fn visit<O: Submit, I: Submit>(self, start: Start<O, I>) -> Outcome;

    /// Calls `choose` with it, for a target whose type depends on the number of threads.
    fn by(self, choose: impl FnOnce(Self) -> Outcome) -> Outcome
    where
        Self: Sized,
    {
        choose(self)
    }
}

/// An operation on an elastic pool, generic over the pool.
pub(crate) trait VisitElastic {
    /// Runs it with the pool of `start`.
    fn visit<O: Submit, I: Submit>(self, start: StartSized<O, I>) -> Outcome;
}
