//! Limited views of a pool. This module must not know sets, scopes and timers.
//!
//! A [`Limited`] has a semaphore with as many permits as jobs may run, and a [`line`] of accepted jobs without a permit.
//!
//! | a closure is | its permit | what happens next | by |
//! |---|---|---|---|
//! | *in line* | none | it is admitted to the pool, or dropped | a thread that releases a permit, or submits |
//! | *admitted*: queued by the pool | is in the line's list | it runs, or is dropped | the pool |
//! | *running* | is held by the thread that runs it | it ends or waits: the permit is released | that thread |
//! | *waiting* | none | it acquires a permit, and goes on | that thread (`engine/wait/held.rs`) |
//!
//! A future is admitted in the same way for its first poll. It holds a permit while it is polled. For each later poll
//! it waits as a task for a permit, before it is polled.
//!
//! **No permit is left over.** A job that waited, a woken future, and a line that is not empty register with the
//! semaphore if they find no permit, and try once more. A released permit wakes the first of these waiters. The thread
//! that wakes the line admits jobs as long as there are permits. So if there are jobs in line and a permit, a waiter has
//! been woken for the permit, or a thread is about to admit.
//!
//! **No job waits forever.** A thread that sleeps in a wait holds no permit. So each permit in use belongs to a running
//! job, or to an admitted job, which the pool runs.
//!
//! **Order.** A submitted job takes a permit at once only if no job is in line. The line is ordered by class, and then
//! by submission.
//!
//! **Claims.** An admitted job finds its permit in the line's list: all permits are alike, and each admitted job takes
//! one when it starts or is dropped. The number of a job tells whether the job is still in line: the jobs of a class
//! leave the line in the order of their numbers. A job cancelled in line by its handle leaves a completed entry, and its
//! number in a set, under the same lock. The line drops the entry when it reaches the entry, or when most entries are
//! completed.
//!
//! **Joins.** No wait runs a limited job in place, because the job may be in line.
//!
//! **Counts.** The pool counts a job in line as accepted and queued.
//!
//! **Ends.** A pool with jobs in line does not end, and is not idle (`engine/end/ENDING.md`). If the pool no longer accepts
//! an admitted job, it has been discarded, and all jobs in line are cancelled.
//!
//! **Forks.** In a forked child the locks may be held forever, so no call takes them.
//!
//! No closure, waker or spawner is run, dropped or cloned under a lock.
//!
//! **Rejected.**
//! - *A runner on the pool, which takes jobs from the line:* the pool would count the runners and not the jobs, and its
//!   own cancelling, evicting and dumping would not see them.
//! - *To go on beyond the limit after a wait,* as a worker does after its wait: in a serial queue two jobs would run.
//! - *One mechanism with the limit of a [`TaskSet`](crate::TaskSet):* a set keeps the order of its numbers, counts
//!   unfinished futures, and admits the next job after the outcome of the last is in place.

mod gate;
mod line;

use core::any::Any;
use core::future::Future;
use std::panic::Location;
use std::sync::Arc;

use brigade_task::{Callable, Job, Spawnable};

use crate::engine::{class_here, reach_once};
use crate::handle::{Handle, JoinHandle};
use crate::spawn::{Boxed, Watched, make_future};
use crate::submission::{
    Carried, Closure, Options, Receipt, make_job, returned, unmade, watcher_of,
};
use crate::values::{Priority, Rejected, expect_accepted, opaque};
use gate::Gated;
use line::{Claim, Line};

/// A view of a pool that runs a limited number of jobs at once; made by [`Handle::limited`].
///
/// With a limit of 1 it is a serial queue: jobs run one after another, in the order of their submission, on any
/// threads of the pool. Clones share the limit. It is small, allocates no thread, and is freed with its last clone and
/// job, so that each tenant, connection or file can have one.
///
/// Jobs beyond the limit wait in line, [by class](crate::Priority), and then in the order of their submission. A job has the
/// class and the [values](crate::inherited) of the job that submits it, and no other settings. Jobs in line
/// occupy no thread, and no room in a pool of limited [capacity](crate::Builder::capacity). A job admitted to a full
/// pool is queued [beyond the capacity](crate::Builder::capacity), like jobs submitted by running jobs. So no method
/// waits, and no job is rejected because the pool is full; the line itself has no bound.
///
/// **A job that waits does not run.** While it waits in a call of brigade, such as a [`join`](JoinHandle::join), a
/// scope or a blocking submission, or as a future that is not ready, another job may run in its place. So jobs that
/// wait for later jobs of the same `Limited` do not hang. Before the call returns, or the future is polled again, the
/// job waits for its turn. Do not hold a lock across such a call if other jobs of the same `Limited` acquire the lock.
/// A call in [`blocking`](crate::blocking) counts as running.
///
/// A job's forks, loops and scopes are parts of the job: they may run on all threads of the pool. To limit the
/// *unfinished* futures, use [`TaskSet::limit`](crate::TaskSet::limit).
///
/// A panic ends only its job. A pool that is drained runs the jobs in line, and a discarded pool cancels them. The pool
/// counts the jobs in line as [queued](crate::Metrics::queued_limited).
///
/// ```
/// let pool = brigade::Pool::new(4);
/// let (serial, (log, order)) = (pool.limited(1), std::sync::mpsc::channel());
/// for number in 0..100 {
///     let log = log.clone();
///     serial.execute(move || _ = log.send(number));
/// }
/// assert_eq!(serial.submit(|| "last").join()?, "last");
/// assert!(order.try_iter().eq(0..100), "one after another");
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[doc(alias = "limitedParallelism")]
#[doc(alias = "Strand")]
#[doc(alias = "serial queue")]
#[derive(Clone)]
pub struct Limited {
    pool: Handle,
    line: Arc<Line>,
}

impl Handle {
    /// Returns a view of the pool that runs at most this many jobs at once.
    ///
    /// # Panics
    /// If `jobs` is 0.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static RUNNING: AtomicU32 = AtomicU32::new(0);
    /// let pool = brigade::Pool::new(4);
    /// let tenant = pool.limited(2);
    /// let jobs: Vec<_> = (0..100).map(|_| tenant.submit(|| {
    ///     let others = RUNNING.fetch_add(1, Ordering::Relaxed);
    ///     RUNNING.fetch_sub(1, Ordering::Relaxed);
    ///     others
    /// })).collect();
    /// for job in jobs {
    ///     assert!(job.join()? < 2);
    /// }
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[track_caller]
    pub fn limited(&self, jobs: usize) -> Limited {
        assert!(jobs > 0, "the limit must be at least 1");
        Limited { pool: *self, line: Line::new(self.key, jobs) }
    }
}

impl Limited {
    /// Runs a closure on the pool, once, in its turn. Never waits.
    ///
    /// # Panics
    /// If the pool accepts no jobs: it has been closed or dropped, has no thread and can't start one, or belongs to
    /// the parent of a fork. [`try_execute`](Self::try_execute) returns the closure instead.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// pool.limited(1).execute(|| println!("hello"));
    /// # pool.wait_idle();
    /// assert_eq!(pool.metrics().returned, 1);
    /// ```
    #[track_caller]
    pub fn execute<F: Callable + Send + 'static>(&self, job: F) {
        expect_accepted(self.add_closure::<_, ()>(job, Location::caller()));
    }

    /// Runs a closure on the pool, once, in its turn, or returns the closure. Never waits.
    ///
    /// # Errors
    /// Returns the closure if the pool accepts no jobs, for the reasons of [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let limited = pool.limited(1);
    /// limited.try_execute(|| ())?;
    /// pool.close();
    /// assert_eq!(limited.try_execute(|| ()).unwrap_err().reason(), brigade::Reason::Closed);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn try_execute<F: Callable + Send + 'static>(&self, job: F) -> Result<(), Rejected<F>> {
        self.add_closure(job, Location::caller())
    }

    /// Runs a closure on the pool, once, in its turn, and returns a handle for the outcome. Never waits.
    ///
    /// Unlike other jobs, it does not run inside a [`join`](JoinHandle::join).
    ///
    /// # Panics
    /// As for [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let serial = pool.limited(1);
    /// let inner = serial.clone();
    /// // The outer job waits, so the inner one has its turn.
    /// let outer = serial.submit(move || inner.submit(|| 42).join());
    /// assert_eq!(outer.join()??, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[track_caller]
    pub fn submit<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        let handle = expect_accepted(self.add_closure(job, Location::caller()));
        JoinHandle::of_bound(handle, self.pool.key)
    }

    /// Runs a closure on the pool, once, in its turn, and returns a handle for the outcome, or returns the closure.
    /// Never waits.
    ///
    /// # Errors
    /// As for [`try_execute`](Self::try_execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// assert_eq!(pool.limited(1).try_submit(|| 42)?.join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn try_submit<F, T>(&self, job: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        let handle = self.add_closure(job, Location::caller())?;
        Ok(JoinHandle::of_bound(handle, self.pool.key))
    }

    /// Polls a future on the pool until it is ready, and returns a handle for the outcome. Never waits.
    ///
    /// Each poll counts as a running job. A future that is not ready counts as none, and other jobs may run.
    ///
    /// # Panics
    /// As for [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let serial = pool.limited(1);
    /// let first = serial.spawn(async { 40 });
    /// let sum = serial.spawn(async { first.await.map(|first| first + 2) });
    /// assert_eq!(sum.join()??, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Spawnable + Send + 'static,
        F::Output: Send + 'static,
    {
        let future = Boxed::New(Box::new(future));
        expect_accepted(self.add_future(future, Location::caller()))
    }

    /// Polls a future on the pool until it is ready, and returns a handle for the outcome, or returns the future.
    /// Never waits.
    ///
    /// # Errors
    /// Returns the future if the pool accepts no jobs, for the reasons of [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// assert_eq!(pool.limited(1).try_spawn(async { 42 })?.join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let future = Boxed::New(Box::new(future));
        self.add_future(future, Location::caller()).or_else(Boxed::unbox)
    }

    fn add_closure<F, R: Receipt>(
        &self,
        job: F,
        place: &'static Location<'static>,
    ) -> Result<R, Rejected<F>>
    where
        F: FnOnce() -> R::Output + Send + 'static,
    {
        let class = class_here(self.pool.key);
        let watcher = watcher_of(self.pool.key, place, None, Some(class));
        let make = |claim, work| {
            let work: Box<dyn Closure<R::Output>> = Box::new(InTurn { claim, work });
            make_job(watcher, None, Options::default(), None, work)
        };
        let work: Box<dyn Closure<R::Output>> = Box::new(job);
        self.add(class, work, make, unmade).or_else(returned)
    }

    fn add_future<T: Send + 'static>(
        &self,
        future: Boxed<T>,
        place: &'static Location<'static>,
    ) -> Result<JoinHandle<T>, Rejected<Boxed<T>>> {
        let key = self.pool.key;
        let class = class_here(key);
        let watcher = watcher_of(key, place, None, Some(class));
        let make = |claim, future| {
            let future = Watched::new(watcher, Carried::default(), Gated::new(claim, future));
            make_future(key, (), future, None, None)
        };
        let back = |job| Watched::<Gated<T>>::unmade(job).into_future();
        self.add(class, future, make, back).map(|handle| JoinHandle::of_bound(handle, key))
    }

    /// Admits a job to the pool, or puts it in line.
    ///
    /// # Errors
    /// Returns the work, which `back` extracts from the job.
    fn add<W, R>(
        &self,
        class: Priority,
        work: W,
        make: impl FnOnce(Claim, W) -> (Job, R),
        back: impl FnOnce(Job) -> W,
    ) -> Result<R, Rejected<W>> {
        reach_once(self.pool.key, |at| {
            if at.refuses() {
                return Err(at.rejected(work));
            }
            let Some(claim) = self.line.admit(class) else {
                if !at.begin_limited() {
                    return Err(at.rejected(work));
                }
                return Ok(self.line.wait(class, |claim| make(claim, work)));
            };
            let (job, receipt) = make(claim, work);
            match at.accept(Some(class), job) {
                Ok(()) => Ok(receipt),
                Err(job) => {
                    // Dropped before the job is taken apart, so that no handle is notified.
                    drop(receipt);
                    Err(at.rejected(back(job)))
                }
            }
        })
    }
}

/// A closure with its claim.
struct InTurn<T> {
    claim: Claim,
    work: Box<dyn Closure<T>>,
}

impl<T> Closure<T> for InTurn<T> {
    fn call(self: Box<Self>) -> T {
        let Self { claim, work } = *self;
        claim.run(|| work.call())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.work.into_any()
    }
}

opaque!(Limited);

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use brigade_testkit::{Gate, eventually};

    use super::*;
    use crate::pool::Pool;

    /// Also the waiters of its semaphore.
    #[test]
    fn a_view_is_freed_with_its_last_clone_and_job() {
        let pool = Pool::new(2);
        let (limited, gate) = (pool.limited(1), Gate::closed());
        let line = Arc::downgrade(&limited.line);
        limited.execute(gate.job());
        limited.execute(|| ());
        let jobs = [limited.submit(|| ()), limited.submit(|| ()), limited.spawn(async {})];
        drop(limited);
        assert!(jobs[0].cancel() && line.strong_count() > 0);
        gate.open();
        eventually("it is freed", || line.strong_count() == 0);
    }
}
