//! The handle for a job's outcome, on the threads of a pool.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::panic;
use std::sync::Arc;

use brigade_sync::OnceLock;
use brigade_sync::budget;
use brigade_task::{Canceller, JoinError, Outcome};

use crate::abort::{AbortHandle, cancel_at, cancel_future};
use crate::awaited::{self, Refused};
use crate::deadlock::{Awaited, Target, Waiting};
use crate::engine::{self, BlockedThread, CURRENT, Worker, blocking, enter_pool, runs_in_place};
use crate::key::Key;
use crate::trace::Scope;

/// A handle for the outcome of one job.
///
/// [`join`](Self::join) blocks; `.await` does not. Dropping the handle detaches the job, which still runs. Once the outcome is
/// available, the job's captures have been dropped. Everything that the job did happens before its outcome is returned.
///
/// ```
/// use std::time::Duration;
/// let pool = brigade::Pool::new(2);
/// let mut slow = pool.submit(|| {
///     std::thread::sleep(Duration::from_millis(50));
///     "slow"
/// });
/// assert!(slow.try_join().is_none(), "not yet");
/// assert!(slow.join_timeout(Duration::from_millis(1)).is_none(), "still not");
/// assert_eq!(slow.join()?, "slow");
/// # Ok::<(), brigade::JoinError>(())
/// ```
///
/// # Forks
/// In the child of a fork, a job of the parent that had not ended at the fork never ends: it counts as
/// [cancelled](JoinError::Cancelled), and its captures are leaked. [`cancel`](Self::cancel) has no effect on it, and returns
/// `false`.
pub struct JoinHandle<T> {
    /// `None` once it has been leaked, or moved out by `join`.
    inner: Option<brigade_task::JoinHandle<T>>,
    /// The pool that runs it.
    key: Key,
    /// The index of the only worker that may run it, if it is a [local](crate::spawn_local) future or a share of a
    /// [broadcast](crate::Handle::broadcast).
    index: Option<usize>,
    /// Cancels it for abort handles; made for the first of these.
    canceller: OnceLock<Option<Arc<Canceller>>>,
}

/// The panic message for an outcome that is taken twice.
const TAKEN: &str = "the outcome has been taken already";

impl<T> JoinHandle<T> {
    pub(crate) fn new(inner: brigade_task::JoinHandle<T>, key: Key) -> Self {
        Self::of(inner, key, None)
    }

    /// The handle of a job that only the worker with that index may run.
    pub(crate) fn of_worker(inner: brigade_task::JoinHandle<T>, key: Key, index: usize) -> Self {
        Self::of(inner, key, Some(index))
    }

    fn of(inner: brigade_task::JoinHandle<T>, key: Key, index: Option<usize>) -> Self {
        Self { inner: Some(inner), key, index, canceller: OnceLock::new() }
    }

    /// Whether it is a local future of this thread, which would wait for itself.
    fn is_of_this_thread(&self) -> bool {
        let ours = |worker: &Worker| worker.is_of(self.key) && self.index == Some(worker.index());
        self.index.is_some()
            && self.share_of().is_none()
            && CURRENT.with(|worker| worker.is_some_and(ours))
    }

    /// The index of the only worker that may run it, if it is a share of a broadcast.
    fn share_of(&self) -> Option<usize> {
        self.index.filter(|_| self.inner.as_ref().is_some_and(|inner| !inner.is_of_future()))
    }

    /// The handle, unless no thread of this process will ever finish the job. Then it is leaked, as the job may have been in
    /// any state at the fork, and this returns `None` from then on.
    fn alive(&mut self) -> Option<&mut brigade_task::JoinHandle<T>> {
        if !self.key.is_here() && !self.is_finished() {
            core::mem::forget(self.inner.take());
        }
        self.inner.as_mut()
    }

    /// Waits until the job has ended and takes its outcome.
    ///
    /// On a worker of the same pool, a job that has not started yet runs inside this call, on the stack of the waiting job. So
    /// jobs that wait for each other's results can't use up the workers. A chain of such waits nests like a recursion, and
    /// needs a [stack](crate::Builder::stack_size) to match. A lock that is held across the wait must not be one that the
    /// awaited job takes. A job that has started is waited for as in [`blocking`](crate::blocking): the pool may have another
    /// thread in the meantime. While the pool is being [discarded](crate::Shutdown::Discard), a job that has not started is
    /// cancelled instead. The share of a [broadcast](crate::Handle::broadcast) runs inside this call only on its own thread.
    /// While a thread waits in this call for a job that waits for a share of that thread, it runs that share.
    ///
    /// # Errors
    /// [`JoinError::Panicked`] with the payload of the job's panic. [`JoinError::Cancelled`] if the job was dropped before it
    /// started, or is a future and was dropped before it was ready. [`JoinError::WouldDeadlock`] if this would wait forever;
    /// the job then continues without a handle.
    ///
    /// A wait never ends if the job waits in a `join` for a job that this thread runs, directly or through other jobs, on any
    /// pools. It never ends either if, with this wait, all threads that the pool may have, [spare
    /// ones](crate::Builder::spare_threads) included, would be in a `join` for jobs of the pool.
    ///
    /// # Panics
    /// If the outcome was taken before.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// assert_eq!(pool.submit(|| 42).join()?, 42);
    /// let error = pool.submit(|| -> u32 { panic!("no such file") }).join().unwrap_err();
    /// assert_eq!(error.panic_message(), Some("no such file"));
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[doc(alias = "await_complete")]
    #[track_caller]
    pub fn join(mut self) -> Result<T, JoinError> {
        assert!(self.inner.is_some(), "{TAKEN}");
        if self.alive().is_none() {
            return Err(JoinError::Cancelled);
        }
        if runs_in_place() {
            self.run_here();
        }
        if !self.wait() {
            if runs_in_place() {
                return Err(JoinError::WouldDeadlock);
            }
            // No other thread may run it.
            self.run_here();
            if !self.wait() {
                return Err(JoinError::WouldDeadlock);
            }
        }
        let Some(inner) = self.inner.take() else { unreachable!("it was there just now") };
        inner.join()
    }

    /// Waits until the job has ended; `false` if it never would.
    fn wait(&mut self) -> bool {
        let (key, share_of) = (self.key, self.share_of());
        let is_of_this_thread = self.is_of_this_thread();
        let Some(inner) = &mut self.inner else { return true };
        inner.is_finished() || (!is_of_this_thread && wait_for(inner, key, share_of))
    }

    /// Takes the outcome if the job has ended; never blocks. Returns `None` if it has not, or if the outcome has already been
    /// taken.
    ///
    /// # Errors
    /// The outer `Option` is `Some`, and the inner result as in [`join`](Self::join).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let mut job = pool.submit(|| 42);
    /// pool.wait_idle();
    /// assert_eq!(job.try_join().transpose()?, Some(42));
    /// assert!(job.try_join().is_none(), "it has been taken");
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn try_join(&mut self) -> Option<Result<T, JoinError>> {
        self.inner.as_ref()?;
        match self.alive() {
            Some(inner) => inner.try_join(),
            None => Some(Err(JoinError::Cancelled)),
        }
    }

    /// Waits for at most `timeout` until the job has ended, and takes its outcome.
    ///
    /// Returns `None` if the job has not ended by then, and not earlier, or if the outcome has already been taken. Unlike
    /// [`join`](Self::join), it runs no job on this thread, since that could take longer.
    ///
    /// # Errors
    /// The inner result is as in [`join`](Self::join).
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let (end, ends) = std::sync::mpsc::channel::<()>();
    /// let mut job = pool.submit(move || ends.recv().is_err());
    /// assert!(job.join_timeout(Duration::from_millis(1)).is_none());
    /// drop(end);
    /// assert_eq!(job.join_timeout(Duration::MAX).transpose()?, Some(true));
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn join_timeout(&mut self, timeout: Duration) -> Option<Result<T, JoinError>> {
        self.inner.as_ref()?;
        match self.alive() {
            Some(inner) if inner.is_finished() => inner.try_join(),
            Some(inner) => blocking(|| inner.join_timeout(timeout)),
            None => Some(Err(JoinError::Cancelled)),
        }
    }

    /// Cancels the job if it has not started, and returns `true`: its captures are dropped in this call, and its outcome is
    /// [`JoinError::Cancelled`]. Returns `false` if the job has started. Then it is asked to stop, which it can check with
    /// [`cancelled`](crate::cancelled), and its outcome is its own.
    ///
    /// A [future](crate::Handle::spawn) that has not ended is always cancelled, even after its first poll, and this returns
    /// `true`. One that has not been polled is dropped in this call, as captures are, unless the call is itself in a deep chain of
    /// such drops. Otherwise a thread of the pool drops it after its current poll, and also drops the result of that poll. The poll
    /// ends at the next [operation](crate::time#operations-that-are-always-ready) of brigade's, ready or not.
    ///
    /// Another call has no further effect. The cost does not depend on how many jobs are queued. A panic while the captures are
    /// dropped is caught.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let pool = brigade::Pool::new(1);
    /// let (go, wait) = mpsc::channel::<()>();
    /// pool.execute(move || _ = wait.recv()); // The only thread is busy.
    /// let mut queued = pool.submit(|| 42);
    /// assert!(queued.cancel());
    /// assert!(queued.join().unwrap_err().is_cancelled());
    /// drop(go);
    /// ```
    #[doc(alias = "abort")]
    pub fn cancel(&mut self) -> bool {
        let key = self.key;
        self.inner.as_mut().is_some_and(|inner| cancel(inner, key))
    }

    /// Returns a handle that can cancel the job from any thread while this one waits for it. The first call allocates.
    /// It has no effect on a job that has ended.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let search = pool.submit(|| (0_u64..).find(|_| brigade::cancelled()));
    /// let stop = search.abort_handle();
    /// brigade::execute_after(Duration::from_millis(1), move || _ = stop.abort());
    /// assert!(search.join().is_ok_and(|found| found.is_some()), "it saw that it was asked to stop");
    /// ```
    #[must_use = "dropping it has no effect"]
    pub fn abort_handle(&self) -> AbortHandle {
        let canceller = self.canceller.get_or_init(|| {
            let canceller = self.inner.as_ref().and_then(brigade_task::JoinHandle::canceller);
            canceller.map(Arc::new)
        });
        AbortHandle::new(canceller.clone(), self.key)
    }

    /// Whether the job has ended.
    ///
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let job = pool.submit(|| ());
    /// pool.wait_idle();
    /// assert!(job.is_finished());
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.inner.as_ref().is_none_or(brigade_task::JoinHandle::is_finished)
    }

    /// On a worker of its pool: runs the job here if no thread has begun to and this worker may.
    fn run_here(&mut self) {
        CURRENT.with(|worker| {
            let Some(worker) = worker.filter(|worker| worker.is_of(self.key)) else { return };
            if self.index.is_some_and(|index| index != worker.index()) {
                return;
            }
            let unfinished = self.inner.as_mut().filter(|inner| !inner.is_finished());
            unfinished.map(|inner| settle_on(worker, |run| inner.settle_if_unclaimed(run)));
        });
    }

    /// The handle without the pool; `None` once it has been leaked.
    pub(crate) fn into_inner(mut self) -> Option<brigade_task::JoinHandle<T>> {
        self.inner.take()
    }
}

/// Runs a job of a worker's pool on this worker, inside the job that waits for it, or cancels it if the pool is discarded;
/// `false` if another thread has begun to run it.
#[inline(always)]
pub(crate) fn settle_on(worker: &Worker, settle: impl FnOnce(bool) -> Option<Outcome>) -> bool {
    let run = !worker.discards();
    let traced = worker.trace_job_inside();
    // It has a handle, so nothing of the outer job belongs to it.
    let outcome = enter_pool(None, worker.core(), || settle(run));
    if !run || outcome.is_none() {
        traced.into_iter().for_each(Scope::discard);
    }
    outcome.inspect(|&outcome| worker.count_in_place(outcome)).is_some()
}

/// Cancels a job, as [`JoinHandle::cancel`] does.
pub(crate) fn cancel<T>(inner: &mut brigade_task::JoinHandle<T>, key: Key) -> bool {
    if !key.is_here() {
        return false;
    }
    if inner.is_of_future() {
        return cancel_future(key, |may_drop| inner.ask_to_stop(may_drop));
    }
    let cancelled = cancel_at(key, &mut || inner.settle_if_unclaimed(false).is_some());
    if !cancelled {
        _ = inner.ask_to_stop(false);
    }
    cancelled
}

/// Waits until a job of that pool has ended, which may be a share of a worker; returns `false` at once if that would never
/// happen.
fn wait_for<T>(inner: &mut brigade_task::JoinHandle<T>, key: Key, share_of: Option<usize>) -> bool {
    let awaited = Awaited::One(Target::new(inner.id(), key, share_of));
    CURRENT.with(|worker| {
        let Some(worker) = worker.filter(|worker| worker.is_of(key)) else {
            // Only the pool's owner could run it, which is this thread.
            if engine::owns(key) {
                return false;
            }
            let Some(_listed) = Waiting::begin(awaited, None) else { return false };
            blocking(|| inner.wait());
            return true;
        };
        let thread = BlockedThread::of_this_thread();
        let wait = worker.begin_wait(&thread);
        let Some(listed) = Waiting::begin(awaited, Some(wait.waker())) else { return false };
        // Before the wait is counted: a counted one could no longer be withdrawn.
        !inner.wake_when_finished(&wait.waker())
            || wait.until(|| {
                listed.run_called(worker);
                inner.is_finished()
            })
    })
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// If the outcome was taken before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(self.inner.is_some(), "{TAKEN}");
        let (key, share_of) = (self.key, self.share_of());
        let Some(inner) = self.alive() else { return Poll::Ready(Err(JoinError::Cancelled)) };
        if inner.is_finished() {
            ready!(budget::poll_ready(context));
        }
        let job = awaited::Job { id: inner.id(), pool: key, share_of };
        let polled = awaited::poll_job(context, job, |context| Pin::new(inner).poll(context));
        polled.unwrap_or_else(|Refused| {
            self.inner = None;
            Poll::Ready(Err(JoinError::WouldDeadlock))
        })
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // Leaks it if necessary.
        self.alive();
    }
}

impl<T> panic::UnwindSafe for JoinHandle<T> {}
impl<T> panic::RefUnwindSafe for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("is_finished", &self.is_finished()).finish()
    }
}
