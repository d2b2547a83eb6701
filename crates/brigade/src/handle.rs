//! The copyable handle of a pool.

use crate::engine::CURRENT;
use crate::key::Key;
use crate::registry::{At, reach};

/// A handle that names a pool, to submit to it from anywhere.
///
/// It is `Copy`, and 8 bytes large. It does not keep the pool alive: once the pool has been shut down or dropped, every
/// submission is returned as [`Rejected`](crate::Rejected), and never reaches another pool. The same holds in the child of a
/// fork, where the pool's threads don't exist ([`Reason::Forked`](crate::Reason::Forked)).
///
/// From a job of the same pool a submission goes to the worker's own queue. From anywhere else, a job of another pool
/// included, it goes to the queue of the pool that the handle names.
///
/// ```
/// let pool = brigade::Pool::new(2);
/// let handle = pool.handle();
/// let sum = pool.submit(move || {
///     let child = handle.submit(|| 20).expect("the pool runs this, so it is there");
///     child.join().unwrap() + 22
/// });
/// assert_eq!(sum.join()?, 42);
/// pool.shutdown(brigade::Shutdown::Drain);
/// assert!(handle.execute(|| unreachable!()).is_err());
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(crate) key: Key,
}

impl Handle {
    pub(crate) fn new(key: Key) -> Self {
        Self { key }
    }

    /// Returns the pool of the worker that this is called on; `None` on any other thread.
    pub fn current() -> Option<Self> {
        CURRENT.with(|worker| worker.map(|worker| Self::new(worker.key())))
    }

    /// Whether the pool has been closed, shut down or dropped, is being so, or belongs to a process that this one was forked
    /// from.
    pub fn is_closed(&self) -> bool {
        reach(self.key, |at: At<'_>| at.core().is_none_or(|core| core.is_closed()))
    }
}
