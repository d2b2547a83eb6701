//! The handles of pools and of jobs. This module must not know how jobs are submitted.

pub(crate) mod awaited;
mod cancel;
mod canceller;
pub(crate) mod deadlock;
pub(crate) mod join;
#[cfg(feature = "observe")]
mod observing;
mod raise;
#[cfg(feature = "trace")]
mod traces;

use core::ops::RangeInclusive;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use brigade_sync::time;

use crate::engine::{Key, Shared, catch_up, current_pool, enter, find, forget, wait_until};
use crate::values::{Metrics, Report, ShutdownOptions, Threads};
#[cfg(doc)]
use crate::values::{Reason, Shutdown};

pub use cancel::cancelled;
pub(crate) use cancel::discards;
pub use canceller::CancelHandle;
pub(crate) use canceller::{cancel, cancel_at_drop};
pub use join::JoinHandle;
pub(crate) use raise::{class_of_waits, raise_to};
#[cfg(feature = "trace")]
pub use traces::Tracing;

/// A lightweight reference to a pool. It submits jobs to the pool, waits for it and manages it from anywhere.
///
/// It is `Copy` and 8 bytes in size, so every job can have its own copy. It does not keep the pool alive. Once the
/// pool has been shut down or dropped, the `try_` methods return the job as [`Rejected`](crate::Rejected), and the
/// remaining methods for submission panic. A handle never refers to a different pool.
///
/// A submission from a job of the same pool goes to the worker's own queue. From anywhere else, including a job of a
/// different pool, it goes to the shared queue of the handle's pool.
///
/// A library can take `impl Into<Handle>`: its caller passes a [`Handle`], a [`&Pool`](crate::Pool) or a `&Handle`.
///
/// ```
/// use brigade::{Handle, JoinError, Pool};
///
/// fn sum_of_squares(pool: impl Into<Handle>, numbers: u64) -> Result<u64, JoinError> {
///     let pool = pool.into();
///     let squares: Vec<_> = (1..=numbers).map(|n| pool.submit(move || n * n)).collect();
///     squares.into_iter().map(|square| square.join()).sum()
/// }
///
/// let pool = Pool::new(2);
/// assert_eq!(sum_of_squares(&pool, 3)?, 14);
/// let handle = pool.handle();
/// assert_eq!(pool.submit(move || sum_of_squares(handle, 4)).join()??, 30);
///
/// drop(pool);
/// assert!(handle.try_execute(|| unreachable!()).is_err());
/// # Ok::<(), JoinError>(())
/// ```
///
/// # Forks
/// In the child of a fork the pool's threads don't exist. The `try_` methods return the job with
/// [`Reason::Forked`](crate::Reason::Forked), all other submissions panic, and nothing blocks; see
/// [`Pool`](crate::Pool#forks).
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

    /// Returns the current pool: the pool [entered](Self::enter) by this thread, or else the pool of this worker.
    /// Returns `None` on any other thread.
    ///
    /// # The pool of a call that names none
    /// [`enter`](Self::enter), [`block_on`](Self::block_on), [`install`](Self::install) and [`scope`](Self::scope) of a
    /// handle call their closure or future with that handle's pool as the current pool. So does a pool that runs a job,
    /// on whichever thread: a joined job that runs inside the caller is in its own pool, not in a pool that the caller
    /// has entered. All other calls leave the current pool as it is, such as
    /// [`in_place_scope`](Self::in_place_scope), which calls its closure on this thread.
    ///
    /// | call | its pool |
    /// |---|---|
    /// | [`submit`](crate::submit()), [`spawn`](crate::spawn()) and the like, [timers](crate::time), I/O | the current pool, or else the [default pool](crate::default_pool) |
    /// | [`join`](crate::join()), [`scope`](crate::scope()), [`in_place_scope`](crate::in_place_scope()), [`par_for`](crate::par_for) and the other loops | the pool of this worker, even if the worker has entered another pool; on any other thread as for `submit` |
    /// | [`spawn_local`](crate::spawn_local()) | the pool of this worker; on any other thread the [`LocalPool`](crate::LocalPool) that it owns: the current pool, or else the newest |
    ///
    /// While a thread waits for a job of a `LocalPool` that it owns, it runs that pool. Any other wait of a thread that is
    /// no worker runs the `LocalPool` that `spawn_local` would use.
    ///
    /// ```
    /// use brigade::Handle;
    /// let pool = brigade::Pool::new(1);
    /// assert_eq!(Handle::current(), None);
    /// assert_eq!(pool.submit(Handle::current).join()?, Some(pool.handle()));
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn current() -> Option<Self> {
        current_pool().map(Self::new)
    }

    /// Calls a closure on this thread with this pool as the [current](Self::current) pool, for
    /// [`spawn`](crate::spawn()) and the other free functions, [timers](crate::time) and `brigade::io` resources.
    ///
    /// On a worker, the worker's pool is current without this call. Code that `call` moves to other threads is not
    /// affected. If the pool no longer exists, `call` still runs, and its submissions are rejected.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).name("mine").build()?;
    /// let job = pool.enter(|| brigade::submit(|| std::thread::current().name().map(String::from)));
    /// assert_eq!(job.join()?.as_deref(), Some("mine-0"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        let (mut call, mut result) = (Some(call), None);
        enter(self.key, self.shared().as_ref(), &mut || result = call.take().map(|call| call()));
        let Some(result) = result else { unreachable!("it is called once") };
        result
    }

    /// Returns the pool, unless it has been freed or belongs to another process.
    fn shared(&self) -> Option<Arc<Shared>> {
        find(self.key).ok()
    }

    /// Returns the counters and the size. A pool that no longer exists, or belongs to the parent of a fork, counts as
    /// closed, and its counters are 0.
    ///
    /// The counters can be read as long as the [`Pool`](crate::Pool) exists, even after it has been shut down.
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
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let metrics = self.shared().map(|shared| shared.metrics());
        metrics.unwrap_or_else(|| Metrics { is_closed: true, ..Metrics::default() })
    }

    /// Returns how many threads the pool may have, from the core size to the maximum: `0..=0` for a pool that no
    /// longer exists, or belongs to the parent of a fork.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1..=8).build()?;
    /// assert_eq!(pool.size(), 1..=8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "num_threads")]
    pub fn size(&self) -> RangeInclusive<usize> {
        let Some(shared) = self.shared() else { return 0..=0 };
        let size = shared.idle.roster().counts.size;
        size.core..=size.max
    }

    // Of rayon's name rustc alone says nothing.
    #[doc(hidden)]
    #[must_use]
    #[deprecated(note = "here this is `*size().end()`")]
    pub fn current_num_threads(&self) -> usize {
        *self.size().end()
    }

    /// Changes the size of the pool, without interrupting or losing a job.
    ///
    /// Surplus threads end: idle threads at once, busy threads after the current job. If the new size is larger, more
    /// threads start as if the pool had been built with that size: with submissions, or now if jobs are queued.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if no pool can have this size (see
    /// [`Builder::threads`](crate::Builder::threads)), or if the pool is a [`LocalPool`](crate::LocalPool). The
    /// [`Reason`] as an [`io::Error`] if the pool no longer exists, or belongs to the parent of a fork.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(8);
    /// pool.resize(1..=2)?;
    /// assert_eq!(pool.size(), 1..=2);
    /// assert!(pool.resize(0..=0).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "set_num_threads")]
    pub fn resize(&self, threads: impl Into<Threads>) -> io::Result<()> {
        let refuse = |reason: String| io::Error::new(io::ErrorKind::InvalidInput, reason);
        let shared = find(self.key)?;
        let threads = threads.into().check().map_err(refuse)?;
        if shared.config.is_driven {
            return Err(refuse(
                "a LocalPool, or a pool without threads, has one worker, the thread that runs it"
                    .into(),
            ));
        }
        shared.resize(threads);
        Ok(())
    }

    /// Starts the missing threads of the core size; see [`Builder::threads`](crate::Builder::threads).
    ///
    /// A [closed](Self::close) pool may start none. A [`LocalPool`](crate::LocalPool) has no threads to start.
    ///
    /// # Errors
    /// The operating system's error if a thread can't be started; the threads started before it keep running. The
    /// [`Reason`] as an [`io::Error`] if the pool no longer exists, or belongs to the parent of a fork.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// assert_eq!(pool.metrics().threads, 1, "others start when they are needed");
    /// pool.prestart()?;
    /// assert_eq!(pool.metrics().threads, 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "start_core_threads")]
    pub fn prestart(&self) -> io::Result<()> {
        find(self.key)?.start_core(usize::MAX)
    }

    /// Whether the pool no longer accepts submissions from outside, or no longer exists.
    #[cfg(feature = "futures")]
    pub(crate) fn is_closed(&self) -> bool {
        self.shared().is_none_or(|shared| shared.is_closed())
    }

    /// Waits until the pool is idle: at one moment after the call, no job is queued and no job runs. Then returns
    /// `true`.
    ///
    /// By then every job accepted before the call has ended, and so has every job submitted by those jobs. Jobs
    /// submitted by other threads in the meantime are waited for as well: if jobs keep coming, this never returns. To
    /// wait for selected jobs only, use a [`TaskSet`](crate::TaskSet) or their handles.
    ///
    /// Pending [futures](Self::spawn) do not count, because they may never be woken; join their handles instead. A
    /// job that another thread [cancels](crate::JoinHandle::cancel), or [runs because the pool is
    /// full](crate::WhenFull::RunInCaller), counts until its captures have been dropped.
    ///
    /// Returns `false` immediately if it would wait for itself: on a worker of this pool, on the owner of a
    /// [`LocalPool`](crate::LocalPool), and in the pool's [spawner](crate::Builder::spawner). Also returns `false`
    /// for a pool that no longer exists, and in a forked child. In all other cases the result is `true`, and may be
    /// ignored.
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
    #[doc(alias = "join")]
    #[doc(alias = "wait")]
    #[doc(alias = "await_complete")]
    pub fn wait_idle(&self) -> bool {
        self.wait_until_idle(None)
    }

    // Of this name of threadpool and rusty_pool rustc alone says nothing.
    #[doc(hidden)]
    #[deprecated(note = "here this is `wait_idle`")]
    pub fn join(&self) {
        self.wait_idle();
    }

    /// Like [`wait_idle`](Self::wait_idle), but waits for at most `timeout`. Returns `false` once `timeout` has
    /// elapsed, and not earlier; on a worker of another pool maybe [later](JoinHandle::join_timeout).
    ///
    /// With a timeout of 0, it only checks whether the pool is idle now.
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
    #[must_use = "it returns whether the pool is idle"]
    pub fn wait_idle_timeout(&self, timeout: Duration) -> bool {
        self.wait_until_idle(Some(timeout))
    }

    fn wait_until_idle(&self, timeout: Option<Duration>) -> bool {
        let Some(shared) = self.shared() else { return false };
        if !shared.may_wait_idle() {
            return false;
        }
        if self.key.if_threadless().is_some() {
            catch_up(Some(self.key));
        }
        shared.wait_idle(timeout, wait_until)
    }

    /// Closes the pool: from now on, submissions from outside are rejected. Never blocks.
    ///
    /// Accepted jobs still run, and may submit more jobs to their own pool. The threads end after the last of these
    /// jobs. The pool ends as with [`Shutdown::Drain`]: delayed closures not yet due are dropped, and so are futures that
    /// wait or [yield](crate::yield_now) when no closure is left. If its
    /// [`on_drop`](crate::Builder::on_drop) is [`Shutdown::Finish`], the pool ends as with `Finish`. Has no effect on
    /// a closed pool. May be called from any thread, including a worker of the pool.
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
        if let Some(shared) = self.shared() {
            shared.close_if_open();
        }
    }

    /// Shuts the pool down, waits for the end, and reports the outcomes of the jobs. See [`Shutdown`] for the ways to
    /// end a pool.
    ///
    /// From now on, submissions from outside are rejected. Returns when the threads have ended, thread-local
    /// destructors included. With a [timeout](Shutdown::timeout) it returns once the timeout has elapsed, and the
    /// threads continue in the background; dropping the pool then no longer waits for them. The timeout covers the
    /// whole wait: jobs, thread-local destructors, and a hook of [`Builder::on_stall`][crate::Builder::on_stall]. A
    /// timeout of 0 does not wait: it detaches the pool. On a worker of another pool it may return
    /// [later](JoinHandle::join_timeout).
    ///
    /// May be called more than once and from several threads: each call waits, and the strictest way applies. On a
    /// worker of this pool it does not wait, and the report counts the jobs still running. For a pool that no longer
    /// exists, and in a forked child, it does nothing, and the report is all zeros.
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
    #[cfg_attr(not(feature = "observe"), doc = include_str!("../guide/without_observe.md"))]
    #[doc(alias = "shutdown_background")]
    #[doc(alias = "shutdown_timeout")]
    pub fn shutdown(&self, how: impl Into<ShutdownOptions>) -> Report {
        self.shared().map_or_else(Report::default, |shared| end(&shared, how.into()))
    }
}

/// Ends a pool of this process, as its owner or through a handle.
pub(crate) fn end(shared: &Shared, ShutdownOptions { how, timeout }: ShutdownOptions) -> Report {
    shared.close(how);
    forget(shared.key);
    // A deadline too far in the future to be represented is no deadline.
    let deadline = timeout.and_then(|timeout| time::now().checked_add(timeout));
    let waits = timeout != Some(Duration::ZERO);
    if !waits || (shared.may_wait_for_end() && !shared.wait_for_end(deadline, wait_until)) {
        shared.threads.detach();
    }
    shared.report()
}
