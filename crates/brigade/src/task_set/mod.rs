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
//! is cancelled by the owner: it looks at the clock under the map's lock, which the timer takes afterwards. A closure that was added
//! under a deadline carries it, and compares it with the clock itself, as the timer waits for a free thread. A future does not: its handle
//! alone stops it.
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

mod limit;
mod map;
mod pending;
mod waiting;

use core::future::Future;
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;

use brigade_sync::budget::Turn;
#[cfg(doc)]
use brigade_task::JoinError;
use brigade_task::{Callable, Completions, Job, Spawnable, is_large};

use crate::engine::{Group, Members, Permit, class_here, reach_once};
use crate::handle::Handle;
use crate::pool::here;
use crate::spawn::{AsFuture, Boxed, Watched, future_of, make_future};
use crate::submission::{
    Closure, Options, Until, inherits, make_job, returned, unmade, watcher_of,
};
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
        F: Callable<T> + Send + 'static,
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
        F: Callable<T> + Send + 'static,
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
        mut options: Options,
        place: &'static Location<'static>,
    ) -> Result<usize, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (key, class) = (self.pool.key, options.class);
        let deadline = self.deadline.as_ref();
        let until = deadline.map(|deadline| deadline.apply_to_closure(&mut options, key));
        let is_bare = key.is_plain() && !options.is_stored() && until.is_none();
        if !const { is_large::<F>() } && is_bare && !inherits(key) {
            let make = |set: &Completions, number, _, job| set.job(number, job);
            return self.add(class, None, job, make, closure_of);
        }
        let watcher = watcher_of(key, place, options.carried.name.as_ref(), class);
        let carried = until.clone();
        let make = |set: &Completions, number, permit, job| {
            listed(set, number, make_job(watcher, permit, options, carried, job))
        };
        let job: Box<dyn Closure<T>> = Box::new(job);
        self.add(class, until, job, make, unmade).or_else(returned)
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
        mut options: Options,
        place: &'static Location<'static>,
    ) -> Result<usize, Rejected<Boxed<T>>>
    where
        F: Spawnable<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let (key, group) = (self.pool.key, self.group);
        if let Some(deadline) = &self.deadline {
            deadline.apply(&mut options, key);
        }
        let is_bare = key.is_plain() && options.carried.is_empty() && !inherits(key);
        if const { is_large::<F>() } || !is_bare {
            return self.add_boxed(Boxed::New(Box::new(future)), options, place);
        }
        let Options { deadline, class, .. } = options;
        let make = |set: &Completions, number, permit, future| {
            listed(set, number, make_future(key, group, future, permit, deadline))
        };
        let added = self.add(class, None, AsFuture { future }, make, future_of);
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
        self.add(class, None, future, make, Watched::unmade)
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
        until: Option<Arc<Until>>,
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
            deadline.enter(number, &handle, until, self.pool.key);
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

    /// Whether the pool belongs to this process.
    fn is_here(&self) -> bool {
        self.pool.key.is_here()
    }
}

/// Registers a job just made with the list, to be listed when it ends.
fn listed<T>(set: &Completions, number: usize, mut made: Made<T>) -> Made<T> {
    // The job has not ended yet.
    let _ = set.add(number, &mut made.1);
    made
}

/// A set on the pool of the [free functions](crate::submit()).
impl<T> Default for TaskSet<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(here())
    }
}

opaque!(TaskSet<T>: len);

// The documentation lists the methods in this order, after those above.
mod outcomes;

mod cancelling;

mod deadline;

mod set_job;
