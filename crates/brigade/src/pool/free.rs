//! Submission without naming a pool.
//!
//! Each function submits to the [current pool](Handle::current): the pool of the calling worker, or the pool that
//! the calling thread has [entered](Handle::enter). Without a current pool, it submits to the [default
//! pool](crate::default_pool).

use core::future::Future;

use brigade_task::{Callable, Spawnable};

use super::default_pool::here;
use crate::engine::{Worker, stopping, with_member, with_worker};
use crate::handle::{Handle, JoinHandle};
use crate::submission::JobBuilder;
use crate::values::{Priority, Reason, Rejected, WorkerInfo};

/// Runs a closure, once, on the [current pool](Handle::current), or else on the
/// [`default_pool`](crate::default_pool).
///
/// Jobs of the default pool end with the process: [join](JoinHandle::join) them, or end it by
/// `default_pool().shutdown(Shutdown::Finish)` before `main` returns.
///
/// # Panics
/// As for [`Handle::execute`]: if the pool is closed and the caller is not a job of this pool, or if the pool
/// belongs to the parent of a fork.
///
/// # Examples
/// ```
/// use std::sync::mpsc;
/// let (sender, receiver) = mpsc::channel();
/// brigade::execute(move || {
///     // On a worker by now: the child goes to the same pool.
///     brigade::execute(move || _ = sender.send("child"));
/// });
/// assert_eq!(receiver.recv(), Ok("child"));
/// ```
#[inline]
#[track_caller]
pub fn execute<F: Callable + Send + 'static>(job: F) {
    here().execute(job);
}

/// Like [`execute`](execute()), but returns the closure if the pool rejects it; never waits.
///
/// # Errors
/// As for [`Handle::try_execute`].
///
/// # Examples
/// ```
/// brigade::try_execute(|| println!("on the pool"))?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[inline]
#[track_caller]
pub fn try_execute<F: Callable + Send + 'static>(job: F) -> Result<(), Rejected<F>> {
    here().try_execute(job)
}

/// Runs a closure on the pool of the calling worker, by the worker's own queue; returns the closure on any other
/// thread. Never waits.
///
/// For code that must stay on its pool: unlike [`execute`](execute()), this never uses the [default
/// pool](crate::default_pool), nor a pool that the thread has [entered](Handle::enter). A pool with
/// [`Queueing::Shared`](crate::Queueing::Shared) has a single queue for all workers.
///
/// # Errors
/// With [`Reason::NotAWorker`] if the thread is not a worker; on a worker as for [`Handle::try_execute`].
///
/// # Examples
/// ```
/// use brigade::{Reason, try_execute_locally};
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let rejected = try_execute_locally(|| ()).unwrap_err();
/// assert_eq!(rejected.reason(), Reason::NotAWorker);
/// let pool = brigade::Pool::new(2);
/// pool.submit(move || try_execute_locally(move || _ = sender.send(42))).join()??;
/// assert_eq!(receiver.recv(), Ok(42));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn try_execute_locally<F: Callable + Send + 'static>(job: F) -> Result<(), Rejected<F>> {
    match with_member(|own| own.map(|own| own.shared.key)) {
        Some(key) => Handle { key }.try_execute(job),
        None => Err(Rejected::new(job, Reason::NotAWorker)),
    }
}

/// Returns the [class](Priority) of the job that this thread runs as a worker. Submissions of this job to its pool
/// get the same class. Returns [`Normal`](Priority::Normal) on any other thread.
///
/// ```
/// use brigade::{Priority, current_priority};
/// let pool = brigade::Pool::new(1);
/// let class = pool.job().priority(Priority::Low).submit(current_priority)?;
/// assert_eq!(class.join()?, Priority::Low);
/// assert_eq!(current_priority(), Priority::Normal);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn current_priority() -> Priority {
    with_worker(|own| own.map(Worker::class).unwrap_or_default())
}

/// Like [`execute`](execute()), and returns a handle for the outcome.
///
/// Jobs of the default pool end with the process: [join](JoinHandle::join) them, or end it by
/// `default_pool().shutdown(Shutdown::Finish)` before `main` returns.
///
/// # Panics
/// As for [`execute`](execute()).
///
/// # Examples
/// ```
/// assert_eq!(brigade::submit(|| 6 * 7).join()?, 42);
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[doc(alias = "spawn_blocking")]
#[doc(alias = "evaluate")]
#[track_caller]
pub fn submit<F, T>(job: F) -> JoinHandle<T>
where
    F: Callable<T> + Send + 'static,
    T: Send + 'static,
{
    here().submit(job)
}

/// Like [`submit`](submit()), but returns the closure if the pool rejects it; never waits.
///
/// # Errors
/// As for [`Handle::try_submit`].
///
/// # Examples
/// ```
/// assert_eq!(brigade::try_submit(|| 6 * 7)?.join()?, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn try_submit<F, T>(job: F) -> Result<JoinHandle<T>, Rejected<F>>
where
    F: Callable<T> + Send + 'static,
    T: Send + 'static,
{
    here().try_submit(job)
}

/// Spawns a future on the [current pool](Handle::current), or else on the [`default_pool`](crate::default_pool).
///
/// Jobs of the default pool end with the process: [join](JoinHandle::join) them, or end it by
/// `default_pool().shutdown(Shutdown::Finish)` before `main` returns.
///
/// # Panics
/// As for [`execute`](execute()).
///
/// # Examples
/// ```
/// let answer = brigade::spawn(async {
///     // On a worker by now: the child goes to the same pool.
///     brigade::spawn(async { 6 * 7 }).await
/// });
/// assert_eq!(brigade::block_on(answer)??, 42);
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Spawnable + Send + 'static,
    F::Output: Send + 'static,
{
    here().spawn(future)
}

/// Like [`spawn`](spawn()), but returns the future if the pool rejects it; never waits.
///
/// # Errors
/// As for [`Handle::try_spawn`].
///
/// # Examples
/// ```
/// assert_eq!(brigade::try_spawn(async { 42 })?.join()?, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn try_spawn<F>(future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    here().try_spawn(future)
}

/// Returns a builder for a job with individual settings, on the pool that [`execute`](execute()) uses; see
/// [`Handle::job`].
///
/// ```
/// use std::time::{Duration, Instant};
/// let soon = Instant::now() + Duration::from_secs(60);
/// assert_eq!(brigade::job().deadline(soon).submit(|| 42)?.join()?, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn job() -> JobBuilder {
    here().job()
}

/// Returns the index of the current worker in its pool; `None` on any other thread. See [`current_worker`] for more.
///
/// Indices start at 0. At any time each thread of a pool has a different index; the index of an ended thread is
/// reused.
///
/// ```
/// let pool = brigade::Pool::new(1);
/// assert_eq!(pool.submit(brigade::current_worker_index).join()?, Some(0));
/// assert_eq!(brigade::current_worker_index(), None);
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[doc(alias = "current_thread_index")]
#[must_use]
pub fn current_worker_index() -> Option<usize> {
    with_member(|own| own.map(|own| own.index))
}

/// Returns the worker of the calling thread: the index, the role, and the name of the pool; `None` on any other
/// thread. The hooks [`on_start`](crate::Builder::on_start) and [`on_stop`](crate::Builder::on_stop) may call it
/// too.
///
/// ```
/// use brigade::{Role, current_worker};
/// use std::sync::mpsc;
/// let (started, starts) = mpsc::channel();
/// let hook = move |_| _ = started.send(current_worker());
/// let pool = brigade::Pool::builder().threads(1..=2).name("mail").on_start(hook).build()?;
/// let worker = starts.recv()?;
/// assert!(worker.is_some_and(|worker| worker.index == 0 && worker.role == Role::Core && &*worker.pool == "mail"));
/// assert_eq!(pool.submit(current_worker).join()?.map(|worker| worker.role), Some(Role::Core));
/// assert!(current_worker().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn current_worker() -> Option<WorkerInfo> {
    with_member(|worker| worker.map(Worker::info)).or_else(stopping)
}
