//! The copyable handle of a pool.

use core::ops::RangeInclusive;
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use crate::config::{Report, Shutdown, ShutdownOptions, Threads};
use crate::engine::{CURRENT, Core, blocking, enter, entered};
use crate::key::Key;
use crate::metrics::Metrics;
use crate::registry::{self, reach};
use crate::rejected::Reason;

/// A handle that names a pool: submits to it, waits for it and manages it, from anywhere.
///
/// It is `Copy`, and 8 bytes large, so it moves into every job. It does not keep the pool alive. Once the pool has been shut
/// down or dropped, the `try_` methods return the job as [`Rejected`](crate::Rejected), the others panic, and nothing ever
/// reaches another pool. The same holds in the child of a fork, where the pool's threads don't exist
/// ([`Reason::Forked`](crate::Reason::Forked)).
///
/// From a job of the same pool a submission goes to the worker's own queue. From anywhere else, a job of another pool
/// included, it goes to the queue of the pool that the handle names.
///
/// A library takes `impl Into<Handle>` from its caller, which is a [`Handle`], a [`&Pool`](crate::Pool) or a `&Handle`.
///
/// ```
/// fn sum_of_squares(pool: impl Into<brigade::Handle>, numbers: u64) -> Result<u64, brigade::JoinError> {
///     let pool = pool.into();
///     let squares: Vec<_> = (1..=numbers).map(|n| pool.submit(move || n * n)).collect();
///     squares.into_iter().map(|square| square.join()).sum()
/// }
///
/// let pool = brigade::Pool::new(2);
/// assert_eq!(sum_of_squares(&pool, 3)?, 14);
/// let handle = pool.handle();
/// assert_eq!(pool.submit(move || sum_of_squares(handle, 4)).join()??, 30);
///
/// drop(pool);
/// assert!(handle.try_execute(|| unreachable!()).is_err());
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(crate) key: Key,
}

impl From<&Handle> for Handle {
    fn from(handle: &Handle) -> Self {
        *handle
    }
}

impl Handle {
    pub(crate) fn new(key: Key) -> Self {
        Self { key }
    }

    /// Returns the pool that this thread has [entered](Self::enter), on a worker else the worker's pool; `None` on any other
    /// thread.
    ///
    /// ```
    /// use brigade::Handle;
    /// let pool = brigade::Pool::new(1);
    /// assert_eq!(Handle::current(), None);
    /// assert_eq!(pool.submit(Handle::current).join()?, Some(pool.handle()));
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[inline]
    pub fn current() -> Option<Self> {
        let key = entered().or_else(|| CURRENT.with(|worker| worker.map(|worker| worker.key())));
        key.map(Self::new)
    }

    /// Calls a closure on this thread; [`spawn`](crate::spawn()) and the other free functions, [timers](crate::time) and
    /// `brigade::io` resources in it belong to this pool.
    ///
    /// On a worker they belong to the worker's pool without this. Code that `call` hands to other threads is not covered. If
    /// the pool is gone `call` still runs; what it submits is rejected.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).name("mine").build()?;
    /// let job = pool.enter(|| brigade::submit(|| std::thread::current().name().map(String::from)));
    /// assert_eq!(job.join()?.as_deref(), Some("mine-0"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        enter(self.key, self.core().as_ref(), call)
    }

    /// The pool, unless its memory is gone or it is in another process.
    fn core(&self) -> Option<Arc<Core>> {
        reach(self.key, |at| at.core().cloned())
    }

    /// Reads the counters and the size. A pool that is gone, or belongs to the parent of a fork, is closed, and its counters
    /// are 0.
    ///
    /// They can be read as long as the [`Pool`](crate::Pool) exists, also when it has been shut down.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// for _ in 0..5 {
    ///     pool.execute(|| ());
    /// }
    /// pool.wait_idle();
    /// let metrics = pool.metrics();
    /// assert_eq!((metrics.accepted, metrics.returned, metrics.queued), (5, 5, 0));
    /// assert!(metrics.threads <= 2 && !metrics.is_closed);
    /// ```
    pub fn metrics(&self) -> Metrics {
        let metrics = self.core().map(|core| core.metrics());
        metrics.unwrap_or_else(|| Metrics { is_closed: true, ..Metrics::default() })
    }

    /// Returns how many threads the pool may have: from its core size to the largest. `0..=0` for a pool that is gone, or
    /// belongs to the parent of a fork.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1..=8).build()?;
    /// assert_eq!(pool.size(), 1..=8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn size(&self) -> RangeInclusive<usize> {
        let size = self.core().map(|core| core.size());
        size.map_or(0..=0, |size| size.core..=size.max)
    }

    /// Gives the pool another size, without interrupting a job and without losing one.
    ///
    /// Surplus threads end: idle ones at once, the others between two jobs. If the new size is larger, more threads start as
    /// if it had always been so: with submissions, or now if jobs wait.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a number of threads that no pool can have; see
    /// [`Builder::threads`](crate::Builder::threads). For a pool that is gone, or belongs to the parent of a fork, the
    /// [`Reason`] as an [`io::Error`].
    ///
    /// ```
    /// let pool = brigade::Pool::new(8);
    /// pool.resize(1..=2)?;
    /// assert_eq!(pool.size(), 1..=2);
    /// assert!(pool.resize(0..=0).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn resize(&self, threads: impl Into<Threads>) -> io::Result<()> {
        let refuse = |reason: String| io::Error::new(io::ErrorKind::InvalidInput, reason);
        let core = self.core().ok_or_else(|| self.gone())?;
        core.resize(threads.into().check().map_err(refuse)?);
        Ok(())
    }

    /// Whether the pool accepts nothing from outside any more, or is gone.
    #[cfg(feature = "futures")]
    pub(crate) fn is_closed(&self) -> bool {
        self.core().is_none_or(|core| core.is_closed())
    }

    /// Why there is no pool.
    fn gone(&self) -> Reason {
        if self.key.is_here() { Reason::Closed } else { Reason::Forked }
    }

    /// Waits until, at one moment after the call, no job is queued and none runs; returns `true`.
    ///
    /// Everything accepted before the call has ended by then, with all that it submitted. Jobs that other threads submit in
    /// the meantime are waited for as well: if jobs keep coming, this never returns. To wait for some jobs only, use a
    /// [`TaskSet`](crate::TaskSet) or their handles.
    ///
    /// A [future](Self::spawn) that waits to be woken does not count, as it may never be woken; join its handle for that. A
    /// job that another thread [cancels](crate::JoinHandle::cancel), or [runs because the pool is
    /// full](crate::WhenFull::RunInCaller), counts until its captures have been dropped.
    ///
    /// Returns `false` at once where it would wait for itself: on a worker of this pool and in the pool's
    /// [spawner](crate::Builder::spawner); also for a pool that is gone, and in a forked child.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static RAN: AtomicU32 = AtomicU32::new(0);
    /// let pool = brigade::Pool::new(2);
    /// pool.execute(|| {
    ///     brigade::execute(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
    ///     RAN.fetch_add(1, Ordering::Relaxed);
    /// });
    /// assert!(pool.wait_idle());
    /// assert_eq!(RAN.load(Ordering::Relaxed), 2, "the child too");
    /// ```
    pub fn wait_idle(&self) -> bool {
        self.wait(None)
    }

    /// Like [`wait_idle`](Self::wait_idle), but waits for at most `timeout`. Returns `false` if that has elapsed, and not
    /// earlier.
    ///
    /// A timeout of 0 asks whether the pool is idle now.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(2);
    /// let (end, ends) = mpsc::channel::<()>();
    /// pool.execute(move || _ = ends.recv());
    /// assert!(!pool.wait_idle_timeout(Duration::from_millis(1)));
    /// drop(end);
    /// assert!(pool.wait_idle_timeout(Duration::MAX));
    /// ```
    pub fn wait_idle_timeout(&self, timeout: Duration) -> bool {
        self.wait(Some(timeout))
    }

    fn wait(&self, timeout: Option<Duration>) -> bool {
        self.core().is_some_and(|core| {
            // On a worker of another pool, that pool may have another thread in the meantime.
            core.may_wait_idle() && blocking(|| core.wait_idle(timeout))
        })
    }

    /// Rejects new work from outside from now on; never blocks.
    ///
    /// Accepted jobs still run, and may submit more to their own pool. The threads end when all of that is done. May be
    /// called from any thread, also a worker of the pool, and more than once.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let accepted = pool.submit(|| 42);
    /// pool.close();
    /// let refused = pool.try_submit(|| 43).unwrap_err();
    /// assert_eq!(refused.reason(), brigade::Reason::Closed);
    /// assert_eq!(accepted.join()?, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn close(&self) {
        if let Some(core) = self.core() {
            core.close(Shutdown::Drain);
        }
    }

    /// Ends the pool and reports what became of its jobs; see [`Shutdown`] for the ways to end it.
    ///
    /// From now on nothing is accepted from outside. Returns when the threads have ended, thread-local destructors included.
    /// With a [timeout](Shutdown::timeout) it returns when that has elapsed, and the threads continue in the background;
    /// dropping the pool does not wait for them any more then. A timeout of 0 does not wait: it detaches the pool. Once all
    /// workers have ended, thread-local destructors are waited for, however long they take.
    ///
    /// May be called more than once and from several threads: each call waits, and the strictest way counts. On a worker of
    /// this pool it does not wait, and the report counts what still runs. For a pool that is gone, and in a forked child, it
    /// does nothing, and the report is all zeros.
    ///
    /// ```
    /// use brigade::{Pool, Shutdown};
    /// use std::time::Duration;
    /// let pool = Pool::new(1);
    /// for _ in 0..100 {
    ///     pool.execute(|| ());
    /// }
    /// let report = pool.shutdown(Shutdown::Drain);
    /// assert_eq!((report.ran, report.discarded, report.still_running), (100, 0, 0));
    /// assert_eq!(pool.shutdown(Shutdown::Discard.timeout(Duration::ZERO)).ran, 100, "again");
    /// assert!(pool.metrics().is_closed);
    /// ```
    pub fn shutdown(&self, how: impl Into<ShutdownOptions>) -> Report {
        let Some(core) = self.core() else { return Report::default() };
        let ShutdownOptions { how, timeout } = how.into();
        core.close(how);
        registry::forget(self.key);
        // A deadline too far to be represented is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if core.may_wait_for_end() && !blocking(|| core.wait_for_end(deadline)) {
            core.detach();
        }
        let metrics = core.metrics();
        Report {
            ran: metrics.returned + metrics.panicked,
            discarded: metrics.cancelled,
            still_running: metrics.queued + metrics.running,
        }
    }
}
