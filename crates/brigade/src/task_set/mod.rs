//! Sets of jobs that are waited for together. This module must not know scopes.
//!
//! Each job of a set is a job of the pool. The set holds the handles, and numbers the jobs in the order in which they
//! are added. No number is used twice.
//!
//! | a job is | where the handle is | what happens next | by |
//! |---|---|---|---|
//! | *waiting* | `pending`; the job is in the line of the [`limit`] | it is admitted, or dropped | a thread that ends another job; the owner |
//! | *admitted* | `pending`; the job is on the pool, or on its way there | it ends, and is listed | the thread that runs or drops it |
//! | *listed* | `pending`; the number is in the list [`Completions`] | the handle moves to `ended` | the owner |
//! | *ended* | `ended` | the outcome is taken | the owner |
//!
//! **Ends.** The thread that ends a job lists the job, with the outcome in place. So the list has the order of the
//! ends. A closure run by the owner is not even listed. The owner takes the list after that closure, and before it
//! adds the handle to `ended`: a job that has ended on another thread meanwhile comes first.
//!
//! **Limit.** With a limit all jobs are made, cancelled and listed in the same way, but some wait before they are
//! submitted. The list reports each end to the limit after listing it. So with a limit of 1, a job begins after the
//! previous outcome is in place. The thread that reports an end submits from the line as long as the limit allows,
//! and so does the owner after adding a job to the line. So if the limit allows more than the admitted jobs, the line
//! is empty or a thread is about to look. Jobs leave the line in the order of their numbers: the first job in line
//! and all later jobs are waiting, and all earlier jobs are admitted. The owner runs no waiting job.
//!
//! **Waiting.** The owner waits until a number of jobs have ended. It leaves its waker with the list, in one step
//! with the count of the listed jobs. So either the owner sees an end, or the end finds the waker. On a worker of the
//! pool the owner also leaves the waker with the limit, in one step with a look at the first number in line: no other
//! worker may be able to run the next job that leaves the line.
//!
//! **Deadline.** A timer of the pool cancels the jobs that have not ended. A map of their cancellers is shared with the
//! timer: the owner enters a job after adding the job, and removes the job after its end. A job entered after the deadline
//! is cancelled by the owner.
//!
//! **Counts.** The pool counts a job when it accepts the job. A job dropped in line counts as accepted and cancelled.
//!
//! **Detached.** A job whose handle is dropped leaves the list, and the limit does not count it. Only admitted jobs are
//! detached, so that each number is counted once and reported once.
//!
//! **Forks.** In a forked child, the locks of the list and of the limit may be held forever. The handles alone still
//! show which jobs have ended.
//!
//! No closure, outcome, waker or spawner is run, dropped or cloned under a lock.
//!
//! **Rejected.**
//! - *A limited job as a future, which waits for a permit of a semaphore and then runs the closure.* After the first
//!   poll, a cancel does not drop the captures at once. A running closure loses its outcome to a cancel, as a future
//!   does. The permit is released before the outcome is in place. The owner would poll futures without a permit.
//! - *Room of a bounded pool for jobs in line.* The jobs in line keep runnable jobs out of the pool, and a pool that
//!   drops its oldest job can't find them.
//! - *A limit that counts earlier jobs.* An end in the middle of being listed would be counted twice, or not at all.

mod deadline;
mod limit;
mod map;
mod pending;
mod set_job;
mod waiting;

use core::future::{Future, poll_fn};
use core::mem;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::awaited::{Awaited, note};
use brigade_sync::{budget::Turn, time};
use brigade_task::{Canceller, Cause, Completions, Job, JobHandle, JoinError, Spawnable, is_large};

use crate::engine::{Group, Key, Members, Permit, class_here, reach_once};
use crate::handle::awaited::note_pool;
use crate::handle::{Handle, JoinHandle, cancel, cancel_at_drop};
use crate::pool::here;
use crate::spawn::{AsFuture, Boxed, Watched, future_of, make_future};
use crate::submission::{Closure, Options, inherits, make_job, returned, unmade, watcher_of};
use crate::values::{Priority, Rejected, closure_of, expect_accepted, opaque};
use deadline::Deadline;
use limit::Limit;
pub use map::{Map, MapError, MapUnordered};
use pending::Pending;
pub use set_job::SetJob;

/// A job and its handle.
type Made<T> = (Job, brigade_task::JoinHandle<T>);

/// A set of jobs on a single pool: closures and futures with outcomes of the same type. The outcomes are returned in
/// the order in which the jobs end.
///
/// With a [`limit`](Self::limit) at most that many jobs are on the pool at once, and the rest wait in the set. A
/// panic is the outcome of the job that panicked, and does not affect other jobs. Dropping the set
/// [cancels](Self::cancel_all) the jobs that have not started and asks the rest to [stop](crate::cancelled), without
/// waiting for them.
///
/// A full pool of limited [capacity](crate::Builder::capacity) never rejects a job of a set, under any
/// [policy](crate::WhenFull), and never makes the submitter wait. A job without room is queued [beyond the
/// capacity](crate::Builder::capacity), like jobs submitted by running jobs: only the set's `limit` bounds their
/// number.
///
/// If the pool is shut down or dropped before the set, every job still gets its outcome. A drained pool also runs the
/// jobs waiting in the set; a discarded pool cancels them. The pool counts a job cancelled in the set as accepted and
/// cancelled.
///
/// ```
/// use brigade::{Pool, TaskSet};
/// let pool = Pool::new(4);
/// let mut set = TaskSet::new(&pool).limit(2);
/// for number in 1..=10 {
///     set.submit(move || number * number);
/// }
/// assert_eq!(set.outcomes().sum::<Result<u32, _>>()?, 385);
/// assert!(set.is_empty());
///
/// set.submit(|| 42);
/// for outcome in set.outcomes() {
///     assert_eq!(outcome?, 42);
/// }
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[doc(alias = "JoinSet")]
#[doc(alias = "TaskTracker")]
pub struct TaskSet<T> {
    pool: Handle,
    /// The number of the next job.
    next: usize,
    /// The jobs not yet seen by the owner to have ended.
    pending: Pending<brigade_task::JoinHandle<T>>,
    /// The number of the first pending job that the owner has not tried to run.
    untried: usize,
    /// The ended jobs, in the order of their ends.
    ended: VecDeque<(usize, brigade_task::JoinHandle<T>)>,
    /// Lists the numbers of jobs that have ended since.
    completions: Completions,
    /// The futures, and some that a wait has woken and left queued.
    group: Group,
    woken: Members,
    limit: Option<Arc<Limit>>,
    deadline: Option<Box<Deadline>>,
    /// Waits have raised the pending jobs before this number to this class.
    raised: (Priority, usize),
    turn: Turn,
}

impl<T> TaskSet<T> {
    /// Creates a set of jobs on a pool: a [`Handle`] or a [`&Pool`](crate::Pool).
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let set = brigade::TaskSet::<u32>::new(&pool);
    /// assert!(set.is_empty());
    /// ```
    pub fn new(pool: impl Into<Handle>) -> Self {
        let (pool, completions) = (pool.into(), Completions::new());
        let (pending, ended) = (Pending::new(), VecDeque::new());
        let (group, woken) = (Group::new(), Members::new());
        let (next, untried, limit, deadline, turn) = (0, 0, None, None, Turn::default());
        let raised = (Priority::Low, 0);
        Self {
            pool,
            next,
            pending,
            untried,
            ended,
            completions,
            group,
            woken,
            limit,
            deadline,
            raised,
            turn,
        }
    }

    /// Limits how many jobs of the set are on the pool at once, queued or running. The rest wait in the set. When a
    /// job ends the next job is submitted, in the order in which the jobs were added to the set. Without a limit all
    /// jobs are submitted immediately.
    ///
    /// A later call changes the limit. Jobs added before the first call are not counted.
    ///
    /// # Panics
    /// If `jobs` is 0.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool).limit(1);
    /// for number in 0..3 {
    ///     set.submit(move || number);
    /// }
    /// assert_eq!(set.outcomes().collect::<Result<Vec<_>, _>>()?, [0, 1, 2]);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[must_use = "the set with the limit is returned"]
    #[track_caller]
    pub fn limit(mut self, jobs: usize) -> Self {
        assert!(jobs > 0, "the limit must be at least 1");
        match &self.limit {
            _ if !self.is_here() => {}
            Some(limit) => limit.set(jobs),
            None => {
                let limit = Limit::new(self.pool.key, jobs, self.next);
                self.limit = Some(limit.clone());
                if let Some(deadline) = &self.deadline {
                    deadline.limits(limit.clone());
                }
                self.completions.tell(move |number| limit.ended(number));
            }
        }
        self
    }

    /// Cancels the jobs that have not ended at this time, with [`Cause::Deadline`](crate::Cause::Deadline): as
    /// [`cancel_all`](Self::cancel_all), by a timer of the pool, whether or not a thread waits for the set. Jobs added later
    /// are cancelled at once. So a wait ends soon after the deadline if the running closures look at
    /// [`cancelled`](crate::cancelled).
    ///
    /// A later call changes the deadline, for all jobs that have not been cancelled. A pool that is closed cancels its
    /// timers: then only [`Shutdown::Finish`](crate::Shutdown::Finish) keeps the deadline.
    ///
    /// # Examples
    /// ```
    /// use brigade::{Cause, JoinError, Pool, TaskSet};
    /// use std::time::{Duration, Instant};
    /// let pool = Pool::new(2);
    /// let soon = Instant::now() + Duration::from_millis(20);
    /// let mut set = TaskSet::new(&pool).deadline(soon);
    /// set.spawn(async { 42 });
    /// set.spawn(std::future::pending());
    /// assert_eq!(set.join_next().transpose()?, Some(42));
    /// let late = set.join_next();
    /// assert!(matches!(late, Some(Err(JoinError::Cancelled(Cause::Deadline)))));
    /// # Ok::<(), JoinError>(())
    /// ```
    #[doc(alias = "joinUntil")]
    #[must_use = "the set with the deadline is returned"]
    pub fn deadline(mut self, at: Instant) -> Self {
        if self.is_here() {
            let deadline = self.deadline.get_or_insert_with(Box::default);
            if let Some(limit) = &self.limit {
                deadline.limits(limit.clone());
            }
            for (number, handle) in self.pending.from(0) {
                deadline.enter(number, handle, self.pool.key);
            }
            deadline.set(self.pool, at);
        }
        self
    }

    /// Adds a closure, to be run once, and returns its id, for [`cancel`](Self::cancel) and
    /// [`join_next_with_id`](Self::join_next_with_id): 0 for the first job of the set, 1 for the second. Never blocks.
    ///
    /// The set accepts even a job that must wait in it. If the pool is discarded before that job's turn, the outcome
    /// is [`JoinError::Cancelled`].
    ///
    /// # Panics
    /// If the pool accepts no jobs: it has been closed or dropped, has no thread and can't start one, or belongs to
    /// the parent of a fork. [`try_submit`](Self::try_submit) returns the closure instead.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.submit(|| 42);
    /// assert_eq!(set.join_next().transpose()?, Some(42));
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[track_caller]
    pub fn submit<F>(&mut self, job: F) -> usize
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        expect_accepted(self.add_closure(job, Options::default(), Location::caller()))
    }

    /// Adds a closure, to be run once, and returns its [id](Self::submit), or returns the closure. Never blocks.
    ///
    /// # Errors
    /// Returns the closure if the pool accepts no jobs, for the reasons of [`submit`](Self::submit).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.try_submit(|| 42)?;
    /// pool.close();
    /// assert_eq!(set.try_submit(|| 43).unwrap_err().reason(), brigade::Reason::Closed);
    /// assert_eq!(set.len(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn try_submit<F>(&mut self, job: F) -> Result<usize, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.add_closure(job, Options::default(), Location::caller())
    }

    /// Adds a closure with these options, submitted at `place`.
    ///
    /// # Errors
    /// Returns the closure.
    #[inline]
    fn add_closure<F>(
        &mut self,
        job: F,
        options: Options,
        place: &'static Location<'static>,
    ) -> Result<usize, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (key, class) = (self.pool.key, options.class);
        if !const { is_large::<F>() } && key.is_plain() && !options.is_stored() && !inherits(key) {
            return self.add(class, job, |set, number, _, job| set.job(number, job), closure_of);
        }
        let watcher = watcher_of(key, place, options.carried.name.as_ref(), class);
        let make = |set: &Completions, number, permit, job| {
            listed(set, number, make_job(watcher, permit, options, job))
        };
        let job: Box<dyn Closure<T>> = Box::new(job);
        self.add(class, job, make, unmade).or_else(returned)
    }

    /// Adds a future, to be polled on the pool's threads until it is ready, and returns its [id](Self::submit). Never
    /// blocks.
    ///
    /// # Panics
    /// As for [`submit`](Self::submit).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool).limit(10);
    /// for number in 1..=3 {
    ///     set.spawn(async move { number * number });
    /// }
    /// assert_eq!(set.outcomes().sum::<Result<u32, _>>()?, 14);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> usize
    where
        F: Spawnable<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        expect_accepted(self.add_future(future, Options::default(), Location::caller()))
    }

    /// Adds a future, to be polled on the pool's threads until it is ready, and returns its [id](Self::submit), or
    /// returns the future. Never blocks.
    ///
    /// # Errors
    /// As for [`try_submit`](Self::try_submit).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.try_spawn(async { 42 })?;
    /// assert_eq!(set.join_next().transpose()?, Some(42));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn try_spawn<F>(&mut self, future: F) -> Result<usize, Rejected<F>>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.add_future(future, Options::default(), Location::caller()).or_else(Boxed::unbox)
    }

    /// Adds a future with these options, spawned at `place`.
    ///
    /// # Errors
    /// Returns the future.
    fn add_future<F>(
        &mut self,
        future: F,
        options: Options,
        place: &'static Location<'static>,
    ) -> Result<usize, Rejected<Boxed<T>>>
    where
        F: Spawnable<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let (key, group) = (self.pool.key, self.group);
        let is_bare = key.is_plain() && options.carried.is_empty() && !inherits(key);
        if const { is_large::<F>() } || !is_bare {
            return self.add_boxed(Boxed::New(Box::new(future)), options, place);
        }
        let Options { deadline, class, .. } = options;
        let make = |set: &Completions, number, permit, future| {
            listed(set, number, make_future(key, group, future, permit, deadline))
        };
        let added = self.add(class, AsFuture { future }, make, future_of);
        added.map_err(|rejected| rejected.map(AsFuture::boxed))
    }

    /// Adds a future of a bounded or observed pool, a large future, or a future with a name or values.
    fn add_boxed(
        &mut self,
        future: Boxed<T>,
        Options { deadline, carried, class }: Options,
        place: &'static Location<'static>,
    ) -> Result<usize, Rejected<Boxed<T>>>
    where
        T: Send + 'static,
    {
        let (key, group) = (self.pool.key, self.group);
        let watcher = watcher_of(key, place, carried.name.as_ref(), class);
        let make = |set: &Completions, number, permit, future| {
            let future = Watched::new(watcher, carried, future);
            listed(set, number, make_future(key, group, future, permit, deadline))
        };
        self.add(class, future, make, Watched::unmade)
    }

    /// Adds a closure or a future of a class, or of the submitting job's: submits the job made by `make`, or puts the job in
    /// line.
    ///
    /// # Errors
    /// Returns the work, which `back` extracts from the job.
    #[inline]
    fn add<W>(
        &mut self,
        class: Option<Priority>,
        work: W,
        make: impl FnOnce(&Completions, usize, Option<Permit>, W) -> Made<T>,
        back: impl FnOnce(Job) -> W,
    ) -> Result<usize, Rejected<W>> {
        let (number, limit) = (self.next, self.limit.as_ref());
        assert!(number != usize::MAX, "as many jobs as a set may be given");
        let handle = reach_once(self.pool.key, |at| {
            let Some(shared) = at.shared().filter(|_| limit.is_none() || !at.refuses()) else {
                return Err(at.rejected(work));
            };
            let is_admitted = limit.is_none_or(|limit| limit.admit());
            let permit =
                shared.permits.as_ref().filter(|_| is_admitted).and_then(|all| all.try_acquire());
            let (job, handle) = make(&self.completions, number, permit, work);
            if let Some(limit) = limit.filter(|_| !is_admitted) {
                limit.wait(number, class.unwrap_or_else(|| class_here(shared.key)), job);
            } else if let Err(job) = at.accept(class, job) {
                // Dropped before the job is taken apart, so that the job is not listed.
                drop(handle);
                if let Some(limit) = limit {
                    limit.ended(number);
                }
                return Err(at.rejected(back(job)));
            }
            Ok(handle)
        })?;
        self.next += 1;
        if let Some(deadline) = &self.deadline {
            deadline.enter(number, &handle, self.pool.key);
        }
        self.pending.push(number, handle);
        Ok(number)
    }

    /// Returns the number of jobs whose outcomes have not been taken.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.submit(|| ());
    /// set.submit(|| ());
    /// set.join_next();
    /// assert_eq!(set.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len + self.ended.len()
    }

    /// Returns whether all outcomes have been taken.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.submit(|| ());
    /// assert!(!set.is_empty());
    /// set.join_next();
    /// assert!(set.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for the next job to end, and takes its outcome. Returns `None` if the set is empty. Blocks the thread:
    /// in a future, use [`join_next_async`](Self::join_next_async).
    ///
    /// On a worker of the same pool, closures of this set that have not started, and do not wait for the limit, run
    /// inside this call until an outcome is available, and new futures are polled here once. Apart from them, only the jobs named by
    /// [`join`](JoinHandle::join) run inside this call; its rules for locks and stacks apply. Otherwise this waits as
    /// in [`blocking`](crate::blocking).
    ///
    /// # Errors
    /// The inner result is as in [`JoinHandle::join`]. [`JoinError::WouldDeadlock`] if this would wait forever,
    /// because all jobs of the set wait for this job. Then a job is removed from the set, and continues without a
    /// handle.
    ///
    /// # Examples
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// let pool = Pool::new(1);
    /// let mut set = TaskSet::new(&pool);
    /// set.submit(|| 42);
    /// set.submit(|| panic!("no such file"));
    /// assert_eq!(set.join_next().transpose()?, Some(42));
    /// assert!(set.join_next().is_some_and(|outcome| outcome.is_err_and(|error| error.is_panic())));
    /// assert!(set.join_next().is_none(), "the set is empty");
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.join_next_with_id().map(|(_, outcome)| outcome)
    }

    /// Like [`join_next`](Self::join_next), and also returns the job's [id](Self::submit).
    ///
    /// # Errors
    /// The inner result is as in [`join_next`](Self::join_next).
    ///
    /// # Examples
    /// ```
    /// use std::collections::HashMap;
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// let mut names: HashMap<_, _> = ["to", "borrow"].map(|word| (set.submit(|| word.len()), word)).into();
    /// while let Some((id, length)) = set.join_next_with_id() {
    ///     assert_eq!(names.remove(&id).map(str::len), Some(length?));
    /// }
    /// assert!(names.is_empty());
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn join_next_with_id(&mut self) -> Option<(usize, Result<T, JoinError>)> {
        if self.ended.is_empty() && !self.is_empty() && !self.wait_for(1) && !self.has_ended(1) {
            // This thread can't wait for the first job.
            let number = self.pending.from(0).next()?.0;
            let (number, handle) = self.pending.remove(number)?;
            self.detach(number, handle);
            return Some((number, Err(JoinError::WouldDeadlock)));
        }
        self.take_next()
    }

    /// Takes the outcome of the job that ended first, if any job has ended; never blocks.
    ///
    /// # Errors
    /// The inner result is as in [`JoinHandle::join`], and never [`JoinError::WouldDeadlock`].
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let (end, ends) = std::sync::mpsc::channel::<()>();
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.submit(move || ends.recv().is_err());
    /// assert!(set.try_join_next().is_none(), "it still runs");
    /// drop(end);
    /// set.wait_all();
    /// assert_eq!(set.try_join_next().transpose()?, Some(true));
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.take_next().map(|(_, outcome)| outcome)
    }

    /// Takes the id and the outcome of the job that ended first.
    fn take_next(&mut self) -> Option<(usize, Result<T, JoinError>)> {
        if self.is_here() {
            self.has_ended(1);
        } else {
            // In a forked child, the parent's locks must not be taken; a handle still shows whether its job has
            // ended.
            self.ended.extend(self.pending.take());
        }
        let (number, handle) = self.ended.pop_front()?;
        Some((number, JoinHandle::new(handle, self.pool.key).try_join()?))
    }

    /// Like [`join_next`](Self::join_next), but waits for at most `timeout`, and not for less if no job ends. Runs no
    /// job of the set on this thread; see [`JoinHandle::join_timeout`] for how late it may return.
    ///
    /// # Errors
    /// The inner result is as in [`JoinHandle::join`].
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let (end, ends) = std::sync::mpsc::channel::<()>();
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.submit(move || ends.recv().is_err());
    /// assert!(set.join_next_timeout(Duration::from_millis(1)).is_none());
    /// drop(end);
    /// assert_eq!(set.join_next_timeout(Duration::MAX).transpose()?, Some(true));
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn join_next_timeout(&mut self, timeout: Duration) -> Option<Result<T, JoinError>> {
        if !self.is_empty() && self.is_here() {
            // A deadline too far in the future to be represented is no deadline.
            self.sleep(1, time::now().checked_add(timeout));
        }
        self.try_join_next()
    }

    /// Like [`join_next`](Self::join_next), but returns a future, for a task that must not block. The future runs no
    /// job in its poll.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, no outcome has been taken.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.spawn(async { 40 });
    /// set.submit(|| 2);
    /// let sum = pool.block_on(async {
    ///     let mut sum = 0;
    ///     while let Some(outcome) = set.join_next_async().await {
    ///         sum += outcome?;
    ///     }
    ///     Ok::<_, brigade::JoinError>(sum)
    /// })?;
    /// assert_eq!(sum, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn join_next_async(&mut self) -> impl Future<Output = Option<Result<T, JoinError>>> {
        poll_fn(|context| self.poll_join_next(context))
    }

    /// Takes the outcome of the job that ended first, or registers the task to be woken when a job ends. Only the
    /// task of the last call is woken.
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// let pool = brigade::Pool::new(1);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.submit(|| 42);
    /// let next = pool.block_on(poll_fn(|context| set.poll_join_next(context)));
    /// assert_eq!(next.transpose()?, Some(42));
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn poll_join_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, JoinError>>> {
        let waits = !self.is_empty() && self.is_here() && !self.has_ended(1);
        if waits {
            self.raise();
        }
        if waits && self.completions.wait(1, context.waker().clone()) {
            note_pool(self.pool.key);
            note(|| Awaited::Set);
            return Poll::Pending;
        }
        self.turn.poll_ready(context).map(|()| self.try_join_next())
    }

    /// Takes outcomes until the set is empty, waiting for each as [`join_next`](Self::join_next) does.
    ///
    /// Outcomes not reached by the iterator stay in the set.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// for n in 1..=3 {
    ///     set.submit(move || n * n);
    /// }
    /// assert_eq!(set.outcomes().sum::<Result<u32, _>>()?, 14);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[doc(alias = "join_all")]
    pub fn outcomes(&mut self) -> impl Iterator<Item = Result<T, JoinError>> {
        core::iter::from_fn(|| self.join_next())
    }

    /// Waits until all jobs have ended, as [`join_next`](Self::join_next) does, and returns `true`. The outcomes can
    /// then be taken.
    ///
    /// Returns `false` if a job would never end, because it waits for this job. If more than 64 jobs are unfinished,
    /// no deadlock is detected when one of them begins to wait for this job later. On a thread that is not a worker
    /// the result is always `true`, and may be ignored.
    ///
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// let pool = Pool::new(2);
    /// let mut set = TaskSet::new(&pool);
    /// set.submit(|| 42);
    /// assert!(set.wait_all());
    /// assert_eq!(set.len(), 1);
    /// assert_eq!(set.try_join_next().transpose()?, Some(42));
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn wait_all(&mut self) -> bool {
        self.wait_for(self.len())
    }

    /// Waits until all jobs have ended, or the timeout has elapsed, without taking outcomes. Returns the number of the jobs that
    /// have not ended, which go on. Runs no job of the set meanwhile, as [`join_next_timeout`](Self::join_next_timeout).
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.spawn(async {});
    /// set.spawn(std::future::pending());
    /// assert_eq!(set.wait_all_timeout(Duration::from_millis(10)), 1);
    /// assert!(set.try_join_next().is_some());
    /// ```
    #[doc(alias = "join_all")]
    pub fn wait_all_timeout(&mut self, timeout: Duration) -> usize {
        if !self.is_empty() && self.is_here() {
            self.sleep(self.len(), time::now().checked_add(timeout));
        }
        self.len() - self.ended.len()
    }

    /// Whether the pool belongs to this process.
    fn is_here(&self) -> bool {
        self.pool.key.is_here()
    }

    /// Cancels all jobs, as [`JoinHandle::cancel`] does: in this call, drops the captures of every job that has not
    /// started. Unfinished futures are cancelled, and running closures are asked to [stop](crate::cancelled).
    ///
    /// The outcomes can still be taken: [`JoinError::Cancelled`] for cancelled jobs, and the jobs' own outcomes for
    /// the rest. Jobs added later are not affected.
    ///
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// use std::sync::mpsc;
    /// let pool = Pool::new(1);
    /// let mut set = TaskSet::new(&pool);
    /// let (begun, begins) = mpsc::channel();
    /// set.submit(move || {
    ///     _ = begun.send(());
    ///     while !brigade::cancelled() {}
    ///     "stopped"
    /// });
    /// set.submit(|| "never started");
    /// begins.recv()?;
    /// set.cancel_all();
    /// set.wait_all();
    /// let mut outcomes: Vec<_> = set.outcomes().map(Result::ok).collect();
    /// outcomes.sort(); // Either may have ended first.
    /// assert_eq!(outcomes, [None, Some("stopped")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "abort_all")]
    pub fn cancel_all(&mut self) {
        self.cancel_all_by(|handle, _, key| _ = cancel(handle, key));
    }

    fn cancel_all_by(&mut self, cancel: impl Fn(&JobHandle, Option<Arc<Canceller>>, Key)) {
        let first = self.pending.from(0).next().map(|(number, _)| number);
        if let (Some(limit), Some(first), true) = (&self.limit, first, self.is_here()) {
            limit.cancel(None, first..usize::MAX, Cause::Asked);
        }
        // In a forked child this has no effect.
        let deadline = self.deadline.as_ref().filter(|_| self.pool.key.is_here());
        for (number, handle) in self.pending.from(0) {
            let known = deadline.and_then(|deadline| deadline.canceller(number));
            cancel(handle, known, self.pool.key);
        }
    }

    /// Cancels the job with this [id](Self::submit), as [`JoinHandle::cancel`] does, with the same return value. The
    /// outcome can still be taken.
    ///
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// let waits = set.spawn(std::future::pending::<()>());
    /// set.spawn(async {});
    /// assert!(set.cancel(waits) && !set.cancel(waits + 2), "there is no such job");
    /// assert_eq!(set.outcomes().filter(|outcome| outcome.is_err()).count(), 1);
    /// ```
    #[doc(alias = "abort")]
    pub fn cancel(&mut self, id: usize) -> bool {
        // In a forked child this has no effect.
        let limit = self.limit.as_ref().filter(|_| self.pool.key.is_here());
        let ids = id..id.saturating_add(1);
        let waited = limit.is_some_and(|limit| limit.cancel(None, ids, Cause::Asked) > 0);
        let job = self.pending.from(id).next().filter(|(number, _)| *number == id);
        waited || job.is_some_and(|(_, handle)| cancel(handle, self.pool.key))
    }

    /// Detaches all jobs: they still run, and their outcomes are dropped. The limit does not count them, and jobs
    /// waiting in the set are submitted at once. The set is then empty.
    ///
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// use std::sync::mpsc;
    /// let pool = Pool::new(1);
    /// let (ran, runs) = mpsc::channel();
    /// let mut set = TaskSet::new(&pool).limit(1);
    /// for number in 0..3 {
    ///     let ran = ran.clone();
    ///     set.submit(move || _ = ran.send(number));
    /// }
    /// set.detach_all();
    /// assert!(set.join_next().is_none());
    /// drop(set);
    /// assert_eq!(runs.iter().take(3).sum::<i32>(), 3, "all have run");
    /// ```
    pub fn detach_all(&mut self) {
        self.ended.drain(..).for_each(|(_, handle)| drop(JoinHandle::new(handle, self.pool.key)));
        self.limit.iter().filter(|_| self.is_here()).for_each(|limit| limit.flush());
        for (number, handle) in self.pending.take() {
            self.detach(number, handle);
        }
        // Jobs that have ended are listed.
        drop(self.completions.take());
    }

    /// Detaches an admitted job. If it has ended, the list reports its end to the limit.
    fn detach(&self, number: usize, mut handle: brigade_task::JoinHandle<T>) {
        if let Some(deadline) = self.deadline.as_ref().filter(|_| self.is_here()) {
            deadline.remove(number);
        }
        let left = self.limit.iter().filter(|_| self.is_here() && handle.leave());
        left.for_each(|limit| limit.ended(number));
        drop(JoinHandle::new(handle, self.pool.key));
    }
}

/// Registers a job just made with the list, to be listed when it ends.
fn listed<T>(set: &Completions, number: usize, mut made: Made<T>) -> Made<T> {
    // The job has not ended yet.
    let _ = set.add(number, &mut made.1);
    made
}

impl<T> Drop for TaskSet<T> {
    fn drop(&mut self) {
        self.cancel_all_by(cancel_at_drop);
        if !self.is_here() {
            // The parent's threads were using these: they must not be dropped here.
            self.detach_all();
            mem::forget((
                self.limit.take(),
                self.deadline.take(),
                mem::take(&mut self.completions),
            ));
        }
    }
}

/// A set on the pool of the [free functions](crate::submit()).
impl<T> Default for TaskSet<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(here())
    }
}

opaque!(TaskSet<T>: len);
