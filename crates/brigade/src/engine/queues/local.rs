//! A worker's own queue, in the configured order.

use brigade_queue::{Either, Injector, StealError, Stealer, Worker};
use brigade_task::Job;

use crate::values::{Config, Order, Queueing};

/// Slots of a worker's queue. At 32 bytes each they fill a quarter of a first-level cache; an overflowing
/// queue has work for every worker anyway. Go and tokio use the same number. Few in a seeded run, so that its
/// small programs fill them.
const CAPACITY: usize = if cfg!(brigade_seeded) { 4 } else { 256 };

/// The owner's end.
pub(crate) enum Local {
    Ring(Worker<Job, Either>),
    /// Every job goes to the pool's queue.
    Shared,
}

/// The end for all other threads.
pub(crate) enum Remote {
    Ring(Stealer<Job, Either>),
    Shared,
}

/// Uses the ring, if there is one.
macro_rules! with_ring {
    ($queue:expr, $ring:ident => $call:expr, else $shared:expr) => {
        match $queue {
            Self::Ring($ring) => $call,
            Self::Shared => $shared,
        }
    };
}

impl Local {
    pub(crate) fn new(config: &Config) -> Self {
        if config.queueing == Queueing::Shared {
            return Self::Shared;
        }
        let order = match config.order {
            Order::Lifo => Either::Lifo,
            Order::Fifo => Either::Fifo,
        };
        Self::Ring(Worker::with_order(CAPACITY, order).expect("memory for a worker's queue"))
    }

    pub(crate) fn remote(&self) -> Remote {
        match self {
            Self::Ring(ring) => Remote::Ring(ring.stealer()),
            Self::Shared => Remote::Shared,
        }
    }

    /// Queues a job and returns the number of queued jobs, or returns the job if the queue is full.
    #[inline(always)]
    pub(crate) fn push(&self, job: Job) -> Result<usize, Job> {
        with_ring!(self, ring => ring.push_counted(job), else Err(job))
    }

    /// Like [`push`](Self::push), for callers that can afford a call.
    #[inline(never)]
    pub(crate) fn push_again(&self, job: Job) -> Result<usize, Job> {
        self.push(job)
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<Job> {
        with_ring!(self, ring => ring.pop(), else None)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        with_ring!(self, ring => ring.len(), else 0)
    }

    /// Whether there is no ring.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared)
    }

    /// Whether the newest job is run first.
    pub(crate) fn is_lifo(&self) -> bool {
        with_ring!(self, ring => ring.order() == Either::Lifo, else false)
    }

    /// Takes the newest job, if [`pop`](Self::pop) takes the newest first.
    pub(crate) fn pop_newest(&self) -> Option<Job> {
        if self.is_lifo() { self.pop() } else { None }
    }

    /// Moves the older half to the injector; returns the number of moved jobs.
    pub(crate) fn overflow_to(&self, injector: &Injector<Job>) -> usize {
        with_ring!(self, ring => injector.take_overflow(ring), else 0)
    }

    /// Takes up to `most` jobs from the injector: returns the first and queues the rest.
    pub(crate) fn refill(&self, injector: &Injector<Job>, most: usize) -> Option<Job> {
        with_ring!(self, ring => injector.pop_batch_into(ring, most), else injector.pop())
    }

    /// Steals half of another worker's jobs: returns the oldest and queues the rest.
    pub(crate) fn steal_from(&self, victim: &Remote) -> Result<Job, StealError> {
        match (self, victim) {
            // A single attempt: the search tries the remaining victims before it retries this victim.
            (Self::Ring(ring), Remote::Ring(victim)) => {
                victim.steal_half_and_pop(ring).map(|(job, _)| job)
            }
            _ => Err(StealError::Empty),
        }
    }
}

impl Remote {
    pub(crate) fn len(&self) -> usize {
        with_ring!(self, ring => ring.len(), else 0)
    }

    /// A number that changes whenever the queue changes.
    pub(crate) fn epoch(&self) -> u64 {
        with_ring!(self, ring => ring.version(), else 0)
    }

    /// Takes the oldest job.
    pub(crate) fn steal(&self) -> Result<Job, StealError> {
        with_ring!(self, ring => ring.steal_one(), else Err(StealError::Empty))
    }
}
