//! The handle for a job's outcome, on the threads of a pool.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::sync::Arc;

use brigade_sync::OnceLock;
use brigade_sync::budget::Turn;
use brigade_sync::time;
use brigade_task::{Canceller, Cause, JobHandle, JobWaiter, JoinError};

use super::awaited::{self, Refused};
use super::canceller::{CancelHandle, cancel, cancel_at_drop};
use super::deadlock::{AwaitedJobs, Waiting};
use super::raise::raise;
use crate::engine;
use crate::engine::{
    Awaited as _, BlockedThread, Key, Worker, runs_in_place, sleep_outside, wait_as, wait_until,
    with_worker,
};
use crate::values::opaque;

/// A handle for the outcome of one job.
///
/// [`join`](Self::join) blocks; `.await` does not. Dropping the handle detaches the job, which still runs, unless the
/// handle [cancels on drop](Self::cancel_on_drop). Once the outcome is available, the job's captures have been dropped.
/// Everything the job did happens before its outcome is returned.
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
/// In the child of a fork, an unfinished job of the parent never ends: it counts as
/// [cancelled](JoinError::Cancelled), and its captures are leaked. [`cancel`](Self::cancel) has no effect on it, and
/// returns `false`.
pub struct JoinHandle<T> {
    /// `None` once leaked, moved out by `join`, or refused by a poll because of a deadlock.
    inner: Option<brigade_task::JoinHandle<T>>,
    /// The pool of the job.
    key: Key,
    /// Whether a wait may not run the job in place: a [local](crate::spawn_local) future, a share of a
    /// [broadcast](crate::Handle::broadcast), or a [limited](crate::Limited) job.
    is_bound: bool,
    /// Whether dropping the handle cancels the job.
    cancels: bool,
    /// Shared by the cancel handles; made by the first `cancel_handle`.
    canceller: OnceLock<Option<Arc<Canceller>>>,
    turn: Turn,
}

/// The panic message for taking an outcome twice.
const TAKEN: &str = "`JoinHandle` used after its outcome was taken";

/// The outcome of a job that belongs to the parent of a fork.
const GONE: JoinError = JoinError::Cancelled(Cause::Ended);

impl<T> JoinHandle<T> {
    pub(crate) fn new(inner: brigade_task::JoinHandle<T>, key: Key) -> Self {
        let (is_bound, cancels, turn) = (false, false, Turn::default());
        Self { inner: Some(inner), key, is_bound, cancels, canceller: OnceLock::new(), turn }
    }

    /// Makes the handle of a job that no wait may run in place.
    pub(crate) fn of_bound(inner: brigade_task::JoinHandle<T>, key: Key) -> Self {
        let mut this = Self::new(inner, key);
        this.is_bound = true;
        this
    }

    /// Returns the handle. If no thread of this process will ever finish the job, leaks the handle, because the job
    /// may have been in any state at the fork, and returns `None` from then on.
    fn alive(&mut self) -> Option<&mut brigade_task::JoinHandle<T>> {
        if !self.key.is_here() && !self.is_finished() {
            core::mem::forget(self.inner.take());
        }
        self.inner.as_mut()
    }

    /// Waits until the job has ended and takes the outcome.
    ///
    /// On a worker of the same pool, a job that has not started runs inside this call, on the stack of the waiting
    /// job, and a woken future is polled there. So jobs that wait for each other's results can't use up the workers.
    /// A chain of such waits nests like a recursion, and needs a [stack](crate::Builder::stack_size) to match. Do not
    /// hold a lock that the awaited job acquires. A started job is waited for as in [`blocking`](crate::blocking):
    /// the pool may run extra threads in the meantime, up to its [spare threads](crate::Builder::spare_threads),
    /// where the behaviour of the last thread is described. While the pool is being
    /// [discarded](crate::Shutdown::Discard), a job that has not started is cancelled instead.
    ///
    /// While a job waits on a worker, here or in any call of brigade, the worker runs its shares of
    /// [broadcasts](crate::Handle::broadcast) and its woken [local](crate::spawn_local) futures, because no other
    /// thread may run them. The wait returns when the job that runs inside it has returned, even if the awaited job has
    /// ended earlier.
    ///
    /// A job that submits a job and joins it, and so on, takes 0.3 kB of the worker's stack a level beside the frames of the
    /// program, 2 kB in a debug build. So the [default stack](crate::Builder::stack_size) of 2 MiB holds 8,000 levels,
    /// or 1,000.
    ///
    /// # Errors
    /// [`JoinError::Panicked`] with the payload of the job's panic. [`JoinError::Cancelled`] with the
    /// [cause](Cause) if the job was dropped before it started, or a future before it was ready.
    /// [`JoinError::WouldDeadlock`] if this would wait forever; the job then continues without a handle.
    ///
    /// A wait never ends if the awaited job waits for a job of this thread, directly or through other jobs, on any
    /// pools: in a `join`, in a wait for a [set](crate::TaskSet), or in a [`block_on`](crate::block_on()) that waits
    /// only for handles. Cycles through anything else, such as a future awaiting a handle, a channel or a full pool,
    /// are not detected.
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
        self.cancels = false;
        if self.alive().is_none() {
            return Err(GONE);
        }
        match self.wait() {
            true => self.outcome(),
            false => Err(JoinError::WouldDeadlock),
        }
    }

    /// Takes the outcome of a job that has ended. Not in the frame of the wait.
    #[inline(never)]
    #[track_caller]
    fn outcome(&mut self) -> Result<T, JoinError> {
        match self.inner.take() {
            Some(inner) => inner.join(),
            None => unreachable!("it was there just now"),
        }
    }

    /// Waits until the job has ended. Returns `false` if it never would.
    fn wait(&mut self) -> bool {
        let (key, is_bound) = (self.key, self.is_bound);
        match &mut self.inner {
            Some(inner) if !inner.is_finished() => {
                // The common case: a closure that no thread has begun to run.
                let has_run = with_worker(|worker| match worker {
                    Some(worker) if !is_bound => runs_here(worker, key, inner),
                    _ => false,
                });
                has_run || Ended::wait(inner.waiter(), key, is_bound)
            }
            _ => true,
        }
    }

    /// Takes the outcome if the job has ended; never blocks. Returns `None` if it has not ended, or if the outcome
    /// has already been taken.
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
            None => Some(Err(GONE)),
        }
    }

    /// Waits for at most `timeout` until the job has ended, and takes the outcome.
    ///
    /// Returns `None` once `timeout` has elapsed, and not earlier, or if the outcome has already been taken. Unlike
    /// [`join`](Self::join), it does not run the job on this thread, because the job could take longer. On a worker it
    /// may return later than `timeout`: by the time of a job that only this thread may run, or that the [last
    /// thread](crate::Builder::spare_threads) of the pool runs inside the wait.
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
        let (key, is_bound) = (self.key, self.is_bound);
        match self.alive() {
            Some(inner) if inner.is_finished() => inner.try_join(),
            Some(inner) => {
                if !is_bound {
                    raise(inner, key);
                }
                let deadline = time::now().checked_add(timeout);
                let _waits =
                    inner.is_of_future().then(|| Waiting::beside(|| AwaitedJobs::One(inner.id())));
                wait_until(Some(key), deadline, &mut |thread| match thread {
                    None => inner.is_finished(),
                    Some(thread) => !inner.wake_when_finished(&thread.clone().into()),
                });
                inner.try_join()
            }
            None => Some(Err(GONE)),
        }
    }

    /// Cancels the job if it has not started, and returns `true`: the captures are dropped in this call, and the
    /// outcome is [`JoinError::Cancelled`] with [`Cause::Asked`]. Returns `false` if the job has started. A started
    /// job is asked to stop, which it can check with [`cancelled`](crate::cancelled), and its outcome is still its
    /// own.
    ///
    /// An unfinished [future](crate::Handle::spawn) is always cancelled, even after the first poll, and this returns
    /// `true`, or `false` if it was being cancelled before. A future that has not been polled is dropped in this call,
    /// like captures, unless the call is itself in a deep chain of such drops, or the future is
    /// [local](crate::spawn_local) to another thread. Otherwise a thread of the pool drops the future after the current
    /// poll, with the result of that poll. The poll ends at the next
    /// [operation](crate::time#operations-that-are-always-ready) of brigade, ready or not.
    ///
    /// Further calls have no effect. The cost does not depend on how many jobs are queued. A panic while the captures
    /// are dropped is caught.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let pool = brigade::Pool::new(1);
    /// let (go, wait) = mpsc::channel::<()>();
    /// pool.execute(move || _ = wait.recv()); // The only thread is busy.
    /// let queued = pool.submit(|| 42);
    /// assert!(queued.cancel());
    /// assert!(queued.join().unwrap_err().is_cancelled());
    /// drop(go);
    /// ```
    #[doc(alias = "abort")]
    pub fn cancel(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| cancel(inner, self.key))
    }

    // Of tokio's name rustc alone says nothing.
    #[doc(hidden)]
    #[deprecated(note = "here this is `cancel`")]
    pub fn abort(&self) -> bool {
        self.cancel()
    }

    /// Cancels the job when the handle is dropped, or asks it to stop if it has started by then. A
    /// [`join`](Self::join) that fails does neither.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let waits = pool.spawn(std::future::pending::<()>());
    /// drop(waits.cancel_on_drop());
    /// pool.shutdown(brigade::Shutdown::Finish); // Would wait for the future otherwise.
    /// assert_eq!(pool.metrics().cancelled, 1);
    /// ```
    #[doc(alias = "AbortOnDropHandle")]
    #[must_use = "dropping it cancels the job"]
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancels = true;
        self
    }

    /// Returns a handle that can cancel the job from any thread, even while this thread waits for the job. The first
    /// call allocates. Cancelling a finished job has no effect.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let (begins, begun) = std::sync::mpsc::channel();
    /// let search = pool.submit(move || {
    ///     begins.send(()).ok();
    ///     (0_u64..).find(|_| brigade::cancelled())
    /// });
    /// let stop = search.cancel_handle();
    /// begun.recv()?; // A job that has not begun would be dropped.
    /// brigade::execute(move || _ = stop.cancel());
    /// assert!(search.join()?.is_some(), "it saw that it was asked to stop");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "abort_handle")]
    #[must_use = "dropping it has no effect"]
    pub fn cancel_handle(&self) -> CancelHandle {
        let canceller = self.canceller.get_or_init(|| {
            let canceller = self.inner.as_ref().and_then(|inner| inner.canceller());
            canceller.map(Arc::new)
        });
        CancelHandle::new(canceller.clone(), self.key)
    }

    /// Whether the outcome has been taken, or will never exist.
    #[cfg(feature = "futures")]
    pub(crate) fn is_taken(&self) -> bool {
        self.inner.as_ref().is_none_or(brigade_task::JoinHandle::is_taken)
    }

    /// Returns whether the job has ended.
    ///
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let job = pool.submit(|| ());
    /// pool.wait_idle();
    /// assert!(job.is_finished());
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.is_finished())
    }
}

/// Runs a closure of the pool `key` that no thread has begun to run, inside the wait of a worker; `false` if that is another job.
#[inline]
fn runs_here(worker: &Worker, key: Key, job: &JobHandle) -> bool {
    let may = worker.is_of(key) && !job.is_of_future() && runs_in_place();
    may && worker.run_in_place(|stop| job.settle_if_unclaimed(stop))
}

/// A wait for the end of a job of the pool `key`.
pub(crate) struct Ended<'a> {
    job: JobWaiter<'a>,
    key: Key,
    /// Whether this wait may not run the job.
    is_bound: bool,
    listed: Option<Waiting>,
    is_circular: bool,
    /// Whether the job is a future that was polled here and is queued again.
    gives_way: bool,
}

impl<'a> Ended<'a> {
    pub(crate) fn new(job: JobWaiter<'a>, key: Key, is_bound: bool) -> Self {
        Self { job, key, is_bound, listed: None, is_circular: false, gives_way: false }
    }

    /// Waits for the job. Returns `false` if it never ends.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait(job: JobWaiter<'a>, key: Key, is_bound: bool) -> bool {
        let mut this = Self::new(job, key, is_bound);
        wait_as(Some(key), &mut |worker| match worker {
            Some(worker) => {
                _ = runs_in_place() && this.run_part(worker);
                // The wait is listed before any other job runs here: a wait for itself never ends.
                if !this.is_over() && this.lists() {
                    this.raise();
                    worker.run_until(&mut this);
                }
            }
            None => sleep_outside(Some(key), &mut this),
        });
        !this.is_circular
    }

    /// Gives the job the class of the waiting job.
    fn raise(&self) {
        if !self.is_bound {
            raise(&self.job, self.key);
        }
    }

    /// Lists the wait. Returns `false` if it would never end.
    fn lists(&mut self) -> bool {
        if self.listed.is_none() {
            self.listed = Waiting::begin(AwaitedJobs::One(self.job.id()));
            self.is_circular = self.listed.is_none();
        }
        !self.is_circular
    }
}

impl engine::Awaited for Ended<'_> {
    fn is_over(&mut self) -> bool {
        self.is_circular || !self.key.is_here() || self.job.is_finished()
    }

    fn register(&mut self, thread: &Arc<BlockedThread>) -> bool {
        self.lists() && self.job.wake_when_finished(&thread.clone().into())
    }

    fn pool(&self) -> Option<Key> {
        Some(self.key)
    }

    fn patience(&self) -> Option<Duration> {
        if !self.is_bound && self.job.is_queued() { Some(engine::LOOK_AGAIN) } else { None }
    }

    /// Runs the job if no thread has begun to. A future queued again after a poll gives way to other jobs. A job
    /// bound to a worker is in that worker's mailbox and runs when its turn comes there, because shares of broadcasts
    /// may wait for each other.
    fn run_part(&mut self, worker: &Worker) -> bool {
        let gives_way = core::mem::take(&mut self.gives_way);
        let runs = !gives_way
            && worker.is_of(self.key)
            && !self.is_bound
            && worker.run_in_place(|stop| self.job.settle_if_unclaimed(stop));
        self.gives_way = runs && self.job.is_queued();
        runs
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// If the outcome was taken before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(self.inner.is_some(), "{TAKEN}");
        let (key, is_bound) = (self.key, self.is_bound);
        let Some(inner) = self.alive() else { return Poll::Ready(Err(GONE)) };
        if inner.is_queued() {
            let mut ended = Ended::new(inner.waiter(), key, is_bound);
            let mut run = |worker: &Worker| _ = runs_in_place() && ended.run_part(worker);
            awaited::run_awaited(context, &mut run);
        }
        if self.is_finished() {
            ready!(self.turn.poll_ready(context));
        }
        let Some(inner) = self.alive() else { return Poll::Ready(Err(GONE)) };
        match awaited::poll_job(context, key, inner) {
            Ok(polled) => {
                if polled.is_pending() && !is_bound {
                    raise(inner, key);
                }
                polled
            }
            Err(Refused) => {
                self.inner = None;
                Poll::Ready(Err(JoinError::WouldDeadlock))
            }
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let (key, cancels) = (self.key, self.cancels);
        // Leaks the handle if necessary.
        let known = if cancels { self.canceller.get().cloned().flatten() } else { None };
        match self.alive() {
            Some(inner) if cancels => cancel_at_drop(inner, known, key),
            _ => {}
        }
    }
}

opaque!(JoinHandle<T>: is_finished);
