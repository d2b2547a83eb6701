//! What distinguishes one pool from another: values, all of them chosen at run time.

use core::any::Any;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

/// Where jobs wait that a worker of the pool submits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queueing {
    /// On that worker's own queue, from which idle workers steal. Scales with the workers.
    #[default]
    Stealing,
    /// On the one queue of the pool: jobs start in the order they were accepted in.
    Shared,
}

/// Which of its own jobs a worker runs first. Thieves always take the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The newest, whose data is still in the cache. Every [injector interval](crate::Builder::injector_interval)
    /// the oldest is run instead, so none waits for ever.
    Lifo,
    /// The oldest.
    #[default]
    Fifo,
}

/// What a worker does when there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Sleeps until it is woken, at a system call to fall asleep and one to be woken.
    Park,
    /// Looks out for this long, then sleeps. One worker of a pool at a time looks out.
    SpinThenPark(Duration),
    /// Looks out all the time and never sleeps: the lowest latency, for a whole core each.
    Spin,
}

/// On which CPU a woken worker lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Where the kernel puts it.
    Kernel,
    /// Not on the CPU of the thread that wakes it, when another worker runs already. Linux only; elsewhere
    /// it is `Kernel`. The affinity that the worker's thread had is restored as it wakes.
    Spread,
}

/// What a callback for unhandled panics looks like; it gets the payload.
pub type PanicCallback = Arc<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// What happens when a job panics and nobody holds a handle for it. The worker goes on in any case.
#[derive(Clone, Default)]
pub enum OnPanic {
    /// The panic hook has reported it (to stderr, unless the program has set another hook); count it.
    #[default]
    Report,
    /// Abort the process.
    Abort,
    /// Call this on the worker. A panic of the callback is counted and otherwise ignored.
    Call(PanicCallback),
}

impl fmt::Debug for OnPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Report => "Report",
            Self::Abort => "Abort",
            Self::Call(_) => "Call(..)",
        })
    }
}

/// What a shutdown does with jobs that have been accepted and not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Runs them, and what they submit in turn.
    Drain,
    /// Drops them; their handles hear [`JoinError::Cancelled`](crate::JoinError::Cancelled).
    Discard,
}

/// What became of the jobs that a pool accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Jobs that returned or panicked.
    pub ran: u64,
    /// Jobs that were dropped before they started.
    pub discarded: u64,
    /// Jobs without an outcome yet: 0, unless a timeout cut the wait short or the pool was shut down by
    /// one of its own jobs. The workers see to them.
    pub still_running: u64,
}

/// A function of a worker's index, such as a hook.
pub(crate) type Hook = Arc<dyn Fn(usize) + Send + Sync>;

/// The values of one pool.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) threads: usize,
    pub(crate) queueing: Queueing,
    pub(crate) order: Order,
    pub(crate) injector_interval: u32,
    pub(crate) idle: Idle,
    pub(crate) placement: Placement,
    pub(crate) on_panic: OnPanic,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_stop: Option<Hook>,
}

/// Turns between looks at the injector while there is local work. Prime, so that it does not beat with a
/// workload's own period; 61 is the number of Go's scheduler (`runtime/proc.go`).
pub(crate) const INJECTOR_INTERVAL: u32 = 61;

/// The most threads a pool can have: the counters are 16 bits wide, and no machine has use for more.
pub(crate) const MAX_THREADS: usize = 4096;

impl Default for Config {
    fn default() -> Self {
        Self {
            threads: default_threads(),
            queueing: Queueing::default(),
            order: Order::default(),
            injector_interval: INJECTOR_INTERVAL,
            idle: Idle::Park,
            placement: Placement::Spread,
            on_panic: OnPanic::default(),
            on_start: None,
            on_stop: None,
        }
    }
}

/// As many threads as the process may run at once (affinity and quota count), 1 if that is not known.
fn default_threads() -> usize {
    brigade_sync::thread::parallelism().min(MAX_THREADS)
}
