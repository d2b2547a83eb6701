//! The traits of pools; each implementation follows the pool's documentation.
//!
//! A pool defines how a thread outside submits and how a task submits from inside. Both are generic, so
//! that the compiler inlines them as in a user's program.

use std::io;
use std::time::Duration;

/// A way to submit jobs to one pool.
pub(crate) trait Submit: Clone + Send + 'static {
    /// Submits `job`. The tally detects a pool that drops it instead.
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F);
}

/// A running pool.
pub(crate) trait Pool: Sized + 'static {
    /// How a thread that is no worker of the pool submits.
    type Outside: Submit;
    /// How a task submits from inside the pool; every task carries one.
    type Inside: Submit;

    /// A submitter for threads outside.
    fn outside(&self) -> Self::Outside;

    /// A submitter for tasks.
    fn inside(&self) -> Self::Inside;

    /// Ends the pool after it has run its jobs, as far as the pool offers that. Without a method for it the pool is dropped.
    fn shutdown(self) {}
}

/// A pool that is its own handle: its clones submit to it, outside and inside.
pub(crate) trait Own: Submit {
    /// See [`Pool::shutdown`].
    fn shutdown(self) {}
}

/// A running pool that is its own handle.
pub(crate) struct Cloned<P>(pub(crate) P);

impl<P: Own> Pool for Cloned<P> {
    type Outside = P;
    type Inside = P;

    fn outside(&self) -> P {
        self.0.clone()
    }

    fn inside(&self) -> P {
        self.0.clone()
    }

    fn shutdown(self) {
        self.0.shutdown();
    }
}

/// How large an elastic pool may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Threads that stay.
    pub(crate) core: usize,
    /// Threads in all.
    pub(crate) max: usize,
    /// How long a thread stays idle that need not stay.
    pub(crate) keep_alive: Duration,
}

/// Core threads of the pools called `-50`: fewer than most workloads ask for.
pub(crate) const FEW: usize = 2;
/// The most threads of those pools, unless a workload asks for more.
pub(crate) const MANY: usize = 50;
/// How long a thread beyond the core size may idle in a pool that is not told: longer than any run.
/// brigade's own number and rusty_pool's.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Starts a pool with this many threads.
pub(crate) type Start<T> = fn(usize) -> io::Result<T>;
/// Starts a pool of this size, which grows and shrinks.
pub(crate) type StartSized<T> = fn(Size) -> io::Result<T>;

/// An operation on a pool, generic over the pool.
pub(crate) trait VisitPool {
    /// Its result.
    type Output;

    /// Threads that the pool will have.
    fn threads(&self) -> usize;

    /// Runs it with a pool that `start` starts.
    fn visit<T: Pool>(self, start: Start<T>) -> Self::Output;
}

/// An operation on an elastic pool, generic over the pool.
pub(crate) trait VisitElastic {
    /// Its result.
    type Output;

    /// Runs it with a pool that `start` starts.
    fn visit<T: Pool>(self, start: StartSized<T>) -> Self::Output;
}

/// A way to start pools that may be of several types.
pub(crate) trait Offer {
    /// Calls the visitor with the one that has as many threads as it asks for.
    fn offer<V: VisitPool>(self, visitor: V) -> V::Output;
}

impl<T: Pool> Offer for Start<T> {
    fn offer<V: VisitPool>(self, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

/// See [`Offer::offer`].
pub(crate) fn offer<V: VisitPool>(visitor: V, start: impl Offer) -> V::Output {
    start.offer(visitor)
}
