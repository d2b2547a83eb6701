//! Sets of jobs that are waited for together.
//!
//! The set has a handle for each job, in its [`roster`]; the job's closure and outcome are in that handle's cell.
//!
//! Usually all jobs are on the pool and nothing but their ends is of interest. Then the cells themselves are the list of ended
//! jobs ([`Completions`]), and a job that the owner runs while it waits is not even listed: nothing is allocated or locked
//! for it beyond what `submit` and `join` do, and of what is shared only the count of references to the list changes. A [`board`]
//! takes over when jobs may have to wait in the set (a limit, a bounded pool) or are detached; see there for its design. It stays
//! from then on.
//!
//! **Order.** The owner moves what has ended from the shared list to the end of the roster's, after each job that it has run
//! itself and before it adds that one. So a job that ended on another thread in the meantime is returned first.

mod adding;
mod board;
mod permits;
mod roster;
mod waiting;

use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::task::{Context, Poll};
use core::time::Duration;
use std::panic::{self, Location};
use std::sync::Arc;

use brigade_sync::budget;
use brigade_sync::time;
use brigade_task::{Completions, JoinError};

use crate::handle::Handle;
use crate::join::{JoinHandle, cancel};
use crate::registry::At;
use crate::rejected::{Rejected, expect_accepted};
use crate::spawn::{make_future, queue_future};
use crate::submission::make_with_permit;
use crate::watch::watcher_of;
use adding::{submit_as_member, submit_with_leave};
use board::{Board, Target};
use roster::Roster;

/// The end of one job.
const FIRST: Target = Target { ended: 1, passed: None };

/// A set of jobs on one pool. The jobs are closures and futures with outcomes of one type, which are returned in the order in
/// which the jobs end.
///
/// With a [`limit`](Self::limit) at most that many of them are on the pool at once, and the others wait in the set. A panic
/// is the outcome of the job that panicked, and does not affect the others. Dropping the set cancels the jobs that have not
/// started and asks the rest to [stop](crate::cancelled); it does not wait for that.
///
/// A full pool of limited [capacity](crate::Builder::capacity) never rejects a job of a set, whatever its
/// [policy](crate::WhenFull) is. A job for which there is no room waits in the set until there is, in one queue with all other
/// submissions that wait for room.
///
/// If the pool is shut down or dropped before the set, every job still gets its outcome. A drained pool also runs the jobs that
/// wait in the set; a discarded one cancels them. A job that is cancelled while it waits in the set counts as one that the pool has
/// accepted and cancelled.
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
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[doc(alias = "JoinSet")]
#[doc(alias = "TaskTracker")]
pub struct TaskSet<T> {
    pool: Handle,
    /// The jobs whose outcomes have not been taken.
    jobs: Roster<T>,
    /// Lists which of them have ended, by their index in the roster, while there is no board.
    completions: Completions,
    board: Option<Arc<Board<T>>>,
    /// Whether a task may wait to be woken by `completions`.
    is_polled: bool,
    /// [`TaskSet::share`], from the first job on: only there is `T` known to be `Send`.
    share: Option<fn(&mut Self)>,
}

impl<T> TaskSet<T> {
    /// Creates a set whose jobs run on a pool: a [`Handle`] or a [`&Pool`](crate::Pool).
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let set = brigade::TaskSet::<u32>::new(&pool);
    /// assert!(set.is_empty());
    /// ```
    pub fn new(pool: impl Into<Handle>) -> Self {
        let pool = pool.into();
        let board = (!pool.key.is_plain()).then(|| Board::new(pool, 0));
        let (jobs, completions) = (Roster::new(), Completions::new());
        Self { pool, jobs, completions, board, is_polled: false, share: None }
    }

    /// Limits how many jobs of the set are on the pool at once, queued or running, from now on. The others wait in the set. As
    /// one ends the next is submitted, in the order in which they were added to the set. Without a limit all are submitted at
    /// once, or as soon as the pool has room.
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
    pub fn limit(mut self, jobs: usize) -> Self
    where
        T: Send + 'static,
    {
        assert!(jobs > 0, "the limit must be at least 1");
        if self.is_here() {
            self.share();
            if let Some(board) = &self.board {
                board.set_limit(jobs);
            }
        }
        self
    }

    /// Adds a closure, to be run once. Never blocks.
    ///
    /// The set accepts even a job that must wait in it; if the pool is discarded before that job's turn, its outcome is
    /// [`JoinError::Cancelled`].
    ///
    /// # Panics
    /// If the pool accepts no jobs: it has been closed or dropped, has no thread and can't start one, or belongs to the parent
    /// of a fork. [`try_submit`](Self::try_submit) returns the closure instead.
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
    pub fn submit<F>(&mut self, job: F)
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        expect_accepted(self.try_submit(job));
    }

    /// Adds a closure, to be run once, or returns it. Never blocks.
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
    pub fn try_submit<F>(&mut self, job: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match &self.board {
            None => self.add_member(job, submit_as_member),
            Some(_) => {
                let place = Location::caller();
                let watcher = watcher_of(self.pool.key, place, || None);
                self.add(
                    job,
                    move |at, leave, job| submit_with_leave(at, leave, job, place),
                    move |_, leave, job| make_with_permit(watcher, leave, job),
                )
            }
        }
    }

    /// Adds a future, to be polled on the pool's threads until it is ready. Never blocks.
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
    pub fn spawn<F>(&mut self, future: F)
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        expect_accepted(self.try_spawn(future));
    }

    /// Adds a future, to be polled on the pool's threads until it is ready, or returns it. Never blocks.
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
    pub fn try_spawn<F>(&mut self, future: F) -> Result<(), Rejected<F>>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let watcher = watcher_of(self.pool.key, Location::caller(), || None);
        let for_later = watcher.clone();
        let queue =
            |at: At<'_>, leave, future| queue_future(at, future, leave, None, None, watcher);
        match &self.board {
            None => self.add_member(future, |at, completions, index, future| {
                let mut handle = queue(at, None, future)?;
                let is_listed = completions.add(index, &mut handle);
                Ok((handle, is_listed))
            }),
            Some(_) => {
                let make = |key, leave, future| make_future(key, future, leave, None, for_later);
                self.add(future, queue, make)
            }
        }
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
        self.jobs.len()
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
        self.jobs.len() == 0
    }

    /// Waits for the next job to end, and takes its outcome; `None` if the set is empty.
    ///
    /// On a worker of the same pool, jobs of this set that have not started yet run inside this call until an outcome is
    /// available; of other jobs none but those that [`join`](JoinHandle::join) names, which also has the consequences for locks and stacks.
    /// Otherwise it waits as in [`blocking`](crate::blocking).
    ///
    /// # Errors
    /// The inner result is as in [`JoinHandle::join`]. [`JoinError::WouldDeadlock`] if this would wait forever, because all
    /// jobs of the set wait for this one. Then one job is removed from the set, and continues without a handle.
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
        if let Some(outcome) = self.run_next() {
            return Some(outcome);
        }
        if !self.is_empty() && !self.wait_for(1) {
            return self.let_go_of_first();
        }
        self.try_join_next()
    }

    /// Takes the outcome of the job that ended first, if one has ended; never blocks.
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
        if !self.is_here() {
            // In a forked child, no lock of the parent's may be taken; a handle still knows whether its job has ended.
            let ended = self.jobs.take_ended().map(Some);
            let handle = ended.or_else(|| self.jobs.take_pending().map(|(_, handle)| handle))?;
            let ended = handle.and_then(|handle| JoinHandle::new(handle, self.pool.key).try_join());
            return ended.or(Some(Err(JoinError::Cancelled)));
        }
        if self.jobs.ended() == 0 {
            self.collect();
        }
        let outcome = self.jobs.take_ended()?.try_join();
        debug_assert!(outcome.is_some(), "it has ended");
        outcome
    }

    /// Like [`join_next`](Self::join_next), but waits for at most `timeout`, and not for less if no job ends. It runs no job on
    /// this thread, since that could take longer.
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

    /// Like [`join_next`](Self::join_next), but returns a future, for a task that must not block. It runs no job in its poll.
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

    /// Takes the outcome of the job that ended first, or registers the task to be woken when one ends. Only the task of the
    /// last call is woken.
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
        if waits && self.leave_waker(FIRST, context.waker().clone()) {
            self.is_polled = self.board.is_none();
            return Poll::Pending;
        }
        budget::poll_ready(context).map(|()| self.try_join_next())
    }

    /// Takes outcomes until the set is empty, waiting for each as [`join_next`](Self::join_next) does.
    ///
    /// Outcomes that the iterator does not reach stay in the set.
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
    pub fn outcomes(&mut self) -> impl Iterator<Item = Result<T, JoinError>> {
        core::iter::from_fn(|| self.join_next())
    }

    /// Waits until all jobs have ended, as [`join_next`](Self::join_next) does, and returns `true`. Their outcomes can then be
    /// taken.
    ///
    /// Returns `false` if one of them would never end, because it waits for this job. If more than 64 jobs have not ended, a deadlock is not detected when one of them begins to wait for this job later.
    /// On a thread that is no worker of the pool the result is always `true`, and may be ignored.
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

    /// Whether the pool belongs to this process.
    fn is_here(&self) -> bool {
        self.pool.key.is_here()
    }

    /// Cancels every job that has not started, dropping its captures in this call, and asks the others to
    /// [stop](crate::cancelled).
    ///
    /// The outcomes can still be taken: [`JoinError::Cancelled`] for jobs that had not started, and their own outcomes for the
    /// others. Jobs added later are not affected.
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
    pub fn cancel_all(&mut self) {
        if !self.is_here() {
            return;
        }
        if let Some(board) = &self.board {
            board.cancel_line();
        }
        self.take_handles();
        let pool = self.pool.key;
        self.jobs.for_each_pending(|_, handle| _ = cancel(handle, pool));
    }

    /// Detaches all jobs: they still run, the limit still counts them, and their outcomes are dropped. The set is then empty.
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
    /// assert_eq!(runs.iter().take(3).collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub fn detach_all(&mut self) {
        if let Some(share) = self.share.filter(|_| self.is_here()) {
            share(self);
        }
        if self.is_here() {
            self.collect();
        }
        while self.jobs.take_ended().is_some() {}
        let jobs = core::iter::from_fn(|| self.jobs.take_pending());
        let pool = self.pool.key;
        let jobs = jobs.filter_map(|(key, handle)| Some((key, JoinHandle::new(handle?, pool))));
        let jobs = jobs.collect();
        if let Some(board) = self.board.as_ref().filter(|_| self.is_here()) {
            board.detach(jobs);
        }
    }
}

impl<T> Drop for TaskSet<T> {
    fn drop(&mut self) {
        self.cancel_all();
        if !self.is_here() {
            // What the parent's threads were working on must not be dropped here.
            self.jobs.forget_unfinished();
            mem::forget((self.board.take(), mem::take(&mut self.completions)));
        }
    }
}

impl<T> panic::UnwindSafe for TaskSet<T> {}
impl<T> panic::RefUnwindSafe for TaskSet<T> {}

impl<T> fmt::Debug for TaskSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskSet").field("len", &self.len()).finish_non_exhaustive()
    }
}
