//! Jobs of one kind, waited for together.
//!
//! The owner keeps a handle for each job, and its closure and outcome lie in that handle's cell. The
//! [`board`], which the jobs share, says only which of them have ended; its design is written there.

mod board;
mod places;

use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use brigade_task::{Job, JoinError};

use crate::blocking;
use crate::engine::CURRENT;
use crate::handle::{Handle, closure_of};
use crate::join::{JoinHandle, count_cancelled};
use crate::rejected::Rejected;
use crate::room::Seat;
use crate::submission::Queued;
use board::{Board, Sleep};

/// Jobs on one pool whose outcomes are of one type and come out in the order in which they end.
///
/// With a [`limit`](Self::limit) at most so many of them are on the pool at once, and the others wait in the set. A panic
/// is the outcome of the job that panicked, and nothing to the others. Dropping the set cancels what has not
/// started and asks the rest to [stop](crate::cancelled); it does not wait for that.
///
/// A pool of limited [capacity](crate::Builder::capacity) is never too full for a set, whatever it does
/// [then](crate::WhenFull): a job for which there is no room waits in the set until there is, in line with all others who
/// wait for that.
///
/// If the pool is shut down or dropped under the set, every job has its outcome all the same: a drained pool runs
/// also what waits in the set, a discarded one cancels it.
///
/// ```
/// use brigade::{Pool, TaskSet};
/// let pool = Pool::new(4);
/// let mut set = TaskSet::new(pool.handle()).limit(2);
/// for number in 1..=10 {
///     set.spawn(move || number * number)?;
/// }
/// let sum: u32 = set.outcomes().map(|square| square.unwrap()).sum();
/// assert_eq!(sum, 385);
/// assert!(set.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TaskSet<T> {
    board: Arc<Board<T>>,
    pool: Handle,
    /// The jobs whose outcomes have not been taken, by their number in the set.
    jobs: BTreeMap<u64, JoinHandle<T>>,
    /// The number of the next job.
    next: u64,
    /// All jobs before this number have been started, or were tried.
    tried: u64,
}

impl<T> TaskSet<T> {
    /// Makes a set whose jobs run on the pool that `pool` names.
    pub fn new(pool: Handle) -> Self {
        Self { board: Board::new(pool), pool, jobs: BTreeMap::new(), next: 0, tried: 0 }
    }

    /// Lets at most so many jobs of the set be on the pool at once, queued or running, from now on. The others wait in the
    /// set, and as one ends the next is submitted, in the order in which they were spawned. Without this all are
    /// submitted at once, or as soon as the pool has room.
    ///
    /// # Panics
    /// If `jobs` is 0.
    pub fn limit(self, jobs: usize) -> Self
    where
        T: Send + 'static,
    {
        assert!(jobs > 0, "a set none of whose jobs may run would never end");
        self.board.set_limit(jobs);
        self
    }

    /// Accepts a closure, to be run once. Never blocks.
    ///
    /// # Errors
    /// Gives the closure back if the pool accepts none, as [`Handle::submit`] does. A job that has to wait in the set
    /// is accepted by the set; if the pool is discarded before its turn comes, its outcome is
    /// [`JoinError::Cancelled`].
    pub fn spawn<F>(&mut self, job: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if self.board.is_full() && self.is_refused() {
            return Err(self.pool.rejected(job));
        }
        let key = self.next;
        let (job, handle) = if self.board.is_bounded() {
            let (place, usher) = Seat::new();
            let (job, handle) = Job::with_handle(Queued { place, deadline: (), work: job });
            (self.board.enter(key, job, Some(usher)), handle)
        } else {
            let (job, handle) = Job::with_handle(job);
            (self.board.enter(key, job, None), handle)
        };
        if let Some(Err(job)) = job.map(|job| self.pool.accept(job)) {
            self.board.withdraw();
            return Err(self.pool.rejected(self.closure_of(job)));
        }
        self.next += 1;
        let mut handle = JoinHandle::new(handle, self.pool.key);
        self.board.watch(key, &mut handle);
        self.jobs.insert(key, handle);
        Ok(())
    }

    /// The closure that a job was made of.
    fn closure_of<F: 'static>(&self, job: Job) -> F {
        if self.board.is_bounded() {
            closure_of::<Queued<F, (), Seat>>(job).work
        } else {
            closure_of(job)
        }
    }

    /// Whether the pool would refuse a job that waited in the set until now.
    fn is_refused(&self) -> bool {
        CURRENT.with(|worker| match worker {
            Some(worker) if worker.is_of(self.pool.key) => worker.discards(),
            _ => self.pool.is_closed(),
        })
    }

    /// How many jobs have been spawned whose outcomes have not been taken.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether all outcomes have been taken.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Waits until a job has ended whose outcome has not been taken, and takes it; `None` if the set is empty.
    ///
    /// On a worker of the same pool, jobs of this set that nobody has started yet are run right here until one outcome is
    /// there, never those of others; see [`JoinHandle::join`] for what that means to locks and stacks. Otherwise
    /// it waits as in [`blocking`]. A job that waits for the set it is in waits for itself.
    ///
    /// # Errors
    /// The inner result is as in [`JoinHandle::join`].
    ///
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// let pool = Pool::new(1);
    /// let mut set = TaskSet::new(pool.handle());
    /// set.spawn(|| 42).unwrap();
    /// set.spawn(|| "no number".parse().unwrap()).unwrap();
    /// assert_eq!(set.join_next().unwrap().unwrap(), 42);
    /// assert!(set.join_next().unwrap().unwrap_err().message().unwrap().contains("ParseIntError"));
    /// assert!(set.join_next().is_none());
    /// ```
    pub fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        if !self.is_empty() {
            self.wait_for(1);
        }
        self.try_join_next()
    }

    /// Takes the outcome of the job that ended first, if one has ended; never blocks.
    ///
    /// # Errors
    /// The inner result is as in [`JoinHandle::join`].
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        let mut handle = self.jobs.remove(&self.board.take_ended()?)?;
        let outcome = handle.try_join();
        debug_assert!(outcome.is_some(), "it has ended");
        outcome
    }

    /// Like [`join_next`](Self::join_next), but waits for `timeout` at most, and no less if nothing ends. Runs nothing
    /// here, since that could take longer.
    ///
    /// # Errors
    /// The inner result is as in [`JoinHandle::join`].
    pub fn join_next_timeout(&mut self, timeout: Duration) -> Option<Result<T, JoinError>> {
        if !self.is_empty() && !self.board.have_ended(1) {
            // A deadline too far to be written down is none.
            let deadline = Instant::now().checked_add(timeout);
            blocking(|| self.board.sleep(Sleep { ended: 1, submitted: None }, deadline));
        }
        self.try_join_next()
    }

    /// Like [`join_next`](Self::join_next), for a task that must not block: to be awaited. Runs nothing here.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has taken no outcome.
    pub fn join_next_async(&mut self) -> impl Future<Output = Option<Result<T, JoinError>>> {
        poll_fn(|context| self.poll_join_next(context))
    }

    /// Takes the outcome of the job that ended first, or has the task woken when one ends: the task of the last
    /// call, as always.
    pub fn poll_join_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, JoinError>>> {
        if !self.is_empty() && self.board.leave_waker(context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(self.try_join_next())
    }

    /// Takes outcomes until the set is empty, waiting for each as [`join_next`](Self::join_next) does.
    ///
    /// Those that the iterator has not taken stay in the set.
    pub fn outcomes(&mut self) -> impl Iterator<Item = Result<T, JoinError>> {
        core::iter::from_fn(|| self.join_next())
    }

    /// Waits until all jobs have ended, as [`join_next`](Self::join_next) does. Their outcomes are there to be taken.
    ///
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// let pool = Pool::new(2);
    /// let mut set = TaskSet::new(pool.handle());
    /// set.spawn(|| 42).unwrap();
    /// set.wait_all();
    /// assert_eq!(set.len(), 1);
    /// assert_eq!(set.try_join_next().unwrap().unwrap(), 42);
    /// ```
    pub fn wait_all(&mut self) {
        self.wait_for(self.len());
    }

    /// Waits until so many jobs have ended; on a worker of the pool, runs those that have not started.
    fn wait_for(&mut self, ended: usize) {
        let helps = Handle::current() == Some(self.pool);
        while !self.board.have_ended(ended) {
            // Read before the jobs are looked at: one that is submitted after this ends the sleep.
            let submitted = helps.then(|| self.board.submitted());
            if helps && (self.run_one() || self.run_first_in_line()) {
                continue;
            }
            blocking(|| self.board.sleep(Sleep { ended, submitted }, None));
        }
    }

    /// Runs a job here that has been submitted and not been started; `false` if there is none.
    fn run_one(&mut self) -> bool {
        while let Some((&key, handle)) = self.jobs.range_mut(self.tried..).next() {
            if !self.board.is_submitted(key) {
                return false;
            }
            self.tried = key + 1;
            if handle.run_here() {
                return true;
            }
        }
        false
    }

    /// Runs a job here that waits in the set for a place in the pool; `false` if there is none.
    fn run_first_in_line(&self) -> bool {
        CURRENT.with(|worker| worker.is_some_and(|worker| self.board.run_first_in_line(worker)))
    }

    /// Cancels every job that has not started, dropping its captures here and now, and asks the others to
    /// [stop](crate::cancelled).
    ///
    /// The outcomes are there to be taken as always: [`JoinError::Cancelled`] of those that had not started,
    /// whatever they make of it of the others. Jobs spawned later are not concerned.
    ///
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// use std::sync::mpsc;
    /// let pool = Pool::new(1);
    /// let mut set = TaskSet::new(pool.handle());
    /// let (begun, begins) = mpsc::channel();
    /// set.spawn(move || {
    ///     begun.send(()).unwrap();
    ///     while !brigade::cancelled() {}
    ///     "stopped"
    /// })?;
    /// set.spawn(|| "never started")?;
    /// begins.recv()?;
    /// set.cancel_all();
    /// set.wait_all();
    /// let mut outcomes: Vec<_> = set.outcomes().map(Result::ok).collect();
    /// outcomes.sort(); // either may have ended first
    /// assert_eq!(outcomes, [None, Some("stopped")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_all(&mut self) {
        self.board.cancel_line();
        for (&key, handle) in &mut self.jobs {
            if handle.cancel_uncounted() && self.board.has_accepted_cancelled(key) {
                count_cancelled(self.pool.key);
            }
        }
    }

    /// Lets all jobs go: they run, the limit goes on counting them, and their outcomes are dropped. The set is empty then.
    ///
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// use std::sync::mpsc;
    /// let pool = Pool::new(1);
    /// let (ran, runs) = mpsc::channel();
    /// let mut set = TaskSet::new(pool.handle()).limit(1);
    /// for number in 0..3 {
    ///     let ran = ran.clone();
    ///     set.spawn(move || ran.send(number).unwrap()).unwrap();
    /// }
    /// set.detach_all();
    /// assert!(set.join_next().is_none());
    /// drop(set);
    /// assert_eq!(runs.iter().take(3).collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub fn detach_all(&mut self) {
        self.board.detach(mem::take(&mut self.jobs));
    }
}

impl<T> Drop for TaskSet<T> {
    fn drop(&mut self) {
        self.cancel_all();
    }
}

impl<T> fmt::Debug for TaskSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskSet").field("len", &self.len()).finish_non_exhaustive()
    }
}
