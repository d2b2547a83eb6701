//! Sets of jobs that are waited for together.
//!
//! The set has a handle for each job, in its [`roster`]; the job's closure and outcome are in that handle's cell.
//!
//! Usually all jobs are on the pool and nothing but their ends is of interest. Then the cells themselves are the list of ended
//! jobs ([`Completions`]), and a job that the owner runs while it waits is not even listed: nothing is allocated or locked
//! for it beyond what `submit` and `join` do, and of what is shared only the count of references to the list changes. A [`board`] takes over when jobs may have to wait in the set (a limit, a
//! bounded pool) or are detached; see there for its design. It stays from then on.
//!
//! **Order.** The owner moves what has ended from the shared list to the end of the roster's, after each job that it has run
//! itself and before it adds that one. So a job that ended on another thread in the meantime is returned first.

mod board;
mod permits;
mod roster;

use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::panic;
use std::sync::Arc;
use std::time::Instant;

use brigade_task::{Completions, Job, JoinError, contain, drop_contained};

use crate::deadlock::{self, Awaited, Waiting};
use crate::engine::{BlockedThread, CURRENT, Worker, blocking};
use crate::handle::Handle;
use crate::join::{JoinHandle, cancel_if, settle_on};
use crate::key::Key;
use crate::registry::{At, reach};
use crate::rejected::{Rejected, closure_of, expect_accepted};
use crate::spawn::{make_future, queue_future};
use crate::submission::{make_with_permit, submit_with};
use board::{Board, Target};
use permits::Leave;
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
/// wait in the set; a discarded one cancels them.
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
        let board = pool.key.is_bounded().then(|| Board::new(pool, 0));
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
    pub fn try_submit<F>(&mut self, job: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match &self.board {
            None => self.add_member(job, submit_as_member),
            Some(_) => {
                self.add(job, submit_with_leave, |_, leave, job| make_with_permit(leave, job))
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
    pub fn try_spawn<F>(&mut self, future: F) -> Result<(), Rejected<F>>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let queue = |at: At<'_>, leave, future| queue_future(at, future, leave, None);
        match &self.board {
            None => self.add_member(future, |at, completions, index, future| {
                let mut handle = queue(at, None, future)?;
                let is_listed = completions.add(index, &mut handle);
                Ok((handle, is_listed))
            }),
            Some(_) => {
                self.add(future, queue, |key, leave, future| make_future(key, future, leave, None))
            }
        }
    }

    /// Adds a closure or a future to a set without a board.
    ///
    /// `submit` gets the index under which it must be listed when it ends, and returns also whether it will be.
    #[inline]
    fn add_member<W>(
        &mut self,
        work: W,
        submit: impl FnOnce(
            At<'_>,
            &Completions,
            usize,
            W,
        ) -> Result<(brigade_task::JoinHandle<T>, bool), Rejected<W>>,
    ) -> Result<(), Rejected<W>>
    where
        T: Send + 'static,
    {
        let pool = self.pool.key;
        if !pool.is_here() {
            return reach(pool, |at| Err(at.rejected(work)));
        }
        self.share = Some(Self::share);
        let index = self.jobs.next_index();
        let (handle, is_listed) =
            reach(pool, |at| submit(at, &self.completions, index as usize, work))?;
        self.jobs.add(Some(handle));
        if !is_listed {
            // It has ended already.
            self.collect();
            self.jobs.end_at(index);
        }
        Ok(())
    }

    /// Gives the set a board.
    fn share(&mut self)
    where
        T: Send + 'static,
    {
        if self.board.is_some() {
            return;
        }
        self.collect();
        let board = Board::new(self.pool, self.jobs.len() - self.jobs.ended());
        // From now on the jobs report to the board. What is still being listed in this moment has ended, and is not listed twice.
        self.jobs.for_each_pending(|key, handle| board.hear_of(key, handle));
        let board = self.board.insert(board);
        // The task that polled last. Its waker may be user code.
        if let Some(waker) = self.completions.stop_waiting() {
            contain(|| {
                if !board.leave_waker(FIRST, waker.clone()) {
                    waker.wake();
                }
            });
        }
    }

    /// Adds a closure or a future: submits it, or has it wait for its turn.
    fn add<W>(
        &mut self,
        work: W,
        submit: impl FnOnce(At<'_>, Leave, W) -> Result<brigade_task::JoinHandle<T>, Rejected<W>>,
        make: impl FnOnce(Key, Leave, W) -> (Job, brigade_task::JoinHandle<T>) + Send + 'static,
    ) -> Result<(), Rejected<W>>
    where
        W: Send + 'static,
        T: Send + 'static,
    {
        let pool = self.pool.key;
        if !pool.is_here() {
            return reach(pool, |at| Err(at.rejected(work)));
        }
        let Some(board) = &self.board else { unreachable!("it is there from now on") };
        let key = self.jobs.next_key();
        let handle = match board.admit() {
            Some(leave) => match reach(pool, |at| submit(at, leave, work)) {
                Ok(mut handle) => {
                    board.hear_of(key, &mut handle);
                    Some(handle)
                }
                Err(rejected) => {
                    board.withdraw();
                    return Err(rejected);
                }
            },
            None if reach(pool, refuses) => return reach(pool, |at| Err(at.rejected(work))),
            None => {
                let make = move |leave, board: &Arc<Board<T>>| {
                    let (job, mut handle) = make(pool, leave, work);
                    board.hear_of(key, &mut handle);
                    (job, JoinHandle::new(handle, pool))
                };
                board.wait_in_line(key, Box::new(make));
                None
            }
        };
        self.jobs.add(handle);
        Ok(())
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
    pub fn is_empty(&self) -> bool {
        self.jobs.len() == 0
    }

    /// Waits for the next job to end, and takes its outcome; `None` if the set is empty.
    ///
    /// On a worker of the same pool, jobs of this set that have not started yet run inside this call until an outcome is
    /// available; other jobs never do. See [`JoinHandle::join`] for the consequences for locks and stacks. Otherwise it waits
    /// as in [`blocking`](crate::blocking).
    ///
    /// # Errors
    /// The inner result is as in [`JoinHandle::join`]. [`JoinError::WouldDeadlock`] if this would wait forever, because all
    /// jobs that could end wait for this one, or no thread of the pool would be left. Then one job is removed from the set, and
    /// continues without a handle.
    ///
    /// # Examples
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// let pool = Pool::new(1);
    /// let mut set = TaskSet::new(&pool);
    /// set.submit(|| 42);
    /// set.submit(|| "no number".parse().unwrap());
    /// assert_eq!(set.join_next().unwrap().unwrap(), 42);
    /// assert!(set.join_next().unwrap().unwrap_err().panic_message().unwrap().contains("ParseIntError"));
    /// assert!(set.join_next().is_none());
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
            self.sleep(1, Instant::now().checked_add(timeout));
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
        Poll::Ready(self.try_join_next())
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
    /// taken. Returns `false` if one of them would never end, because it waits for this job, or because no thread of the pool
    /// would be left. If more than 64 jobs have not ended, a deadlock is not detected when one of them begins to wait for this
    /// job later.
    ///
    /// ```
    /// use brigade::{Pool, TaskSet};
    /// let pool = Pool::new(2);
    /// let mut set = TaskSet::new(&pool);
    /// set.submit(|| 42);
    /// assert!(set.wait_all());
    /// assert_eq!(set.len(), 1);
    /// assert_eq!(set.try_join_next().unwrap().unwrap(), 42);
    /// ```
    pub fn wait_all(&mut self) -> bool {
        self.wait_for(self.len())
    }

    /// Waits until this many jobs have ended; on a worker of the pool, runs those that have not started. `false` if they
    /// never would.
    fn wait_for(&mut self, ended: usize) -> bool {
        // In a forked child there is nothing to wait for.
        !self.is_here()
            || reach(self.pool.key, |at| match at.worker() {
                Some(worker) => self.wait_on(worker, ended),
                None => {
                    self.sleep(ended, None);
                    true
                }
            })
    }

    fn wait_on(&mut self, worker: &Worker, ended: usize) -> bool {
        loop {
            if !self.is_here() {
                // In a child forked by a job that ran here: the other jobs are the parent's.
                return true;
            }
            // Read before the jobs are looked at: one that is submitted after this ends the wait.
            let passed = self.board.as_ref().map(|board| board.passed());
            if self.has_ended(ended) {
                return true;
            }
            if !self.run_one(worker) && !self.wait_blocked(worker, ended, passed) {
                return false;
            }
        }
    }

    /// Waits on a worker until it is worth to look again; `false` if it never would be.
    #[inline(never)]
    fn wait_blocked(&mut self, worker: &Worker, ended: usize, passed: Option<u64>) -> bool {
        if self.has_ended(ended) {
            return true;
        }
        let target = Target { ended: ended - self.jobs.ended(), passed };
        let thread = BlockedThread::of_this_thread();
        let wait = worker.begin_wait(&thread);
        if !self.leave_waker(target, wait.waker()) {
            return true;
        }
        let listed = Waiting::begin(self.awaited(ended), Some(wait.waker()));
        let goes_on = listed.is_some_and(|listed| {
            wait.until(|| {
                listed.run_called(worker);
                self.is_reached(target)
            })
        });
        self.stop_waiting();
        goes_on
    }

    /// The jobs on the pool, of which this many must end.
    fn awaited(&self, ended: usize) -> Awaited {
        let running = self.jobs.pending().filter(|job| !job.is_finished());
        let jobs = running.map(|job| deadlock::Target::new(job.id(), self.pool.key, None));
        match ended {
            1 if self.board.as_ref().is_some_and(|board| board.may_pass()) => {
                Awaited::Any(Vec::new())
            }
            1 => Awaited::Any(jobs.collect()),
            _ => Awaited::All(jobs.collect()),
        }
    }

    /// Waits until this many jobs have ended, on a thread that is not a worker of the pool or must not be blocked for longer.
    fn sleep(&mut self, ended: usize, deadline: Option<Instant>) {
        if self.has_ended(ended) {
            return;
        }
        let thread = BlockedThread::of_this_thread();
        let waker = Waker::from((*thread).clone());
        let target = Target { ended: ended - self.jobs.ended(), passed: None };
        if !self.leave_waker(target, waker) {
            return;
        }
        blocking(|| {
            while !self.is_reached(target) {
                let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                if left.is_some_and(|left| left.is_zero()) {
                    break;
                }
                thread.park(left);
            }
        });
        self.stop_waiting();
    }

    /// Whether this many jobs have ended.
    fn has_ended(&mut self, jobs: usize) -> bool {
        if self.jobs.ended() < jobs {
            self.collect();
        }
        self.jobs.ended() >= jobs
    }

    /// Registers a waker for what ends after [`collect`](Self::collect), in place of any other; `false` if the target is
    /// already reached.
    fn leave_waker(&mut self, target: Target, waker: Waker) -> bool {
        match &self.board {
            None => self.completions.wait(target.ended, waker),
            Some(board) => board.leave_waker(target, waker),
        }
    }

    /// Whether the target of the registered waker is reached.
    fn is_reached(&self, target: Target) -> bool {
        match &self.board {
            None => !self.completions.is_waiting(),
            Some(board) => board.is_reached(target),
        }
    }

    /// Removes the registered waker.
    fn stop_waiting(&mut self) {
        match &self.board {
            None => drop_contained(self.completions.stop_waiting()),
            Some(board) => board.take_waker(),
        }
    }

    /// Moves what has ended to the end of the roster's list.
    fn collect(&mut self) {
        match &self.board {
            None if self.completions.is_any() => {
                let jobs = &mut self.jobs;
                self.completions.take().for_each(|index| jobs.end_at(index as u32));
            }
            None => {}
            Some(board) => {
                board.take_ended().into_iter().for_each(|key| self.jobs.end(key));
                // After the keys: so each of these has its handle.
                self.take_handles();
            }
        }
    }

    /// On a worker of the pool, if no job has ended: runs one here, and takes its outcome if no other has ended by then.
    #[inline]
    fn run_next(&mut self) -> Option<Result<T, JoinError>> {
        if self.board.is_some() || self.jobs.ended() > 0 || self.completions.is_any() {
            return None;
        }
        CURRENT.with(|worker| {
            let index = self.run_member(worker.filter(|worker| worker.is_of(self.pool.key))?)?;
            if self.completions.is_any() {
                self.end_member(index);
                return None;
            }
            self.jobs.take(index)?.try_join()
        })
    }

    /// Runs a job of a set without a board here that has not started; returns its index, as it is not listed.
    #[inline]
    fn run_member(&mut self, worker: &Worker) -> Option<u32> {
        while let Some((index, handle)) = self.jobs.try_next() {
            if settle_on(worker, |run| handle.leave_and_settle(run)) {
                if core::mem::take(&mut self.is_polled) {
                    // It is not listed, but a task waits for the next job that ends.
                    let waker = self.completions.stop_waiting();
                    contain(|| waker.into_iter().for_each(Waker::wake));
                }
                return Some(index);
            }
        }
        None
    }

    /// Records that a job that is not listed has ended.
    #[cold]
    fn end_member(&mut self, index: u32) {
        // Not in a child that the job has forked.
        if self.is_here() {
            self.collect();
        }
        self.jobs.end_at(index);
    }

    /// Runs a job here that has been submitted and has not started; `false` if there is none.
    fn run_one(&mut self, worker: &Worker) -> bool {
        let Some(board) = &self.board else {
            let index = self.run_member(worker);
            index.inspect(|&index| self.end_member(index));
            return index.is_some();
        };
        let board = board.clone();
        self.take_handles();
        while self.jobs.untried().is_some_and(|key| !board.is_passing(key)) {
            let Some((_, handle)) = self.jobs.try_next() else { break };
            if !handle.is_finished() && settle_on(worker, |run| handle.settle_if_unclaimed(run)) {
                return true;
            }
        }
        board.run_first_in_line(worker)
    }

    /// Takes the handles of jobs that waited in the set and have been submitted since.
    fn take_handles(&mut self) {
        let Some(board) = &self.board else { return };
        for (key, handle) in board.take_handles() {
            if let Some(handle) = handle.into_inner() {
                self.jobs.set_handle(key, handle);
            }
        }
    }

    /// Detaches the first job: this thread can't wait for it.
    fn let_go_of_first(&mut self) -> Option<Result<T, JoinError>> {
        if let Some(share) = self.share {
            share(self);
        }
        if self.has_ended(1) {
            return self.try_join_next();
        }
        let (key, handle) = self.jobs.take_pending()?;
        if let Some(board) = &self.board {
            board.detach_one(key, handle.map(|handle| JoinHandle::new(handle, self.pool.key)));
        }
        Some(Err(JoinError::WouldDeadlock))
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
    ///     begun.send(()).unwrap();
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
        let (board, pool) = (self.board.as_ref(), self.pool.key);
        self.jobs.for_each_pending(|key, handle| {
            let is_accepted = || board.is_none_or(|board| board.has_accepted_cancelled(key));
            cancel_if(handle, pool, is_accepted);
        });
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
    ///     set.submit(move || ran.send(number).unwrap());
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

/// Submits a closure that is listed under an index when it has ended.
fn submit_as_member<F, T>(
    at: At<'_>,
    completions: &Completions,
    index: usize,
    closure: F,
) -> Result<(brigade_task::JoinHandle<T>, bool), Rejected<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (job, handle) = completions.job(index, closure);
    match at.accept(job) {
        Ok(()) => Ok((handle, true)),
        Err(job) => {
            // Before the closure is taken out: so this is not listed.
            drop(handle);
            Err(at.rejected(closure_of(job)))
        }
    }
}

/// Submits a job that may be submitted now.
fn submit_with_leave<F, T>(
    at: At<'_>,
    leave: Leave,
    job: F,
) -> Result<brigade_task::JoinHandle<T>, Rejected<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match leave {
        None => at.submit(job),
        permit => submit_with(at, permit, (), job),
    }
}

/// Whether the pool would reject a job that waited in the set until now.
fn refuses(at: At<'_>) -> bool {
    match at {
        At::Worker(worker) => worker.discards(),
        At::Outside(core) => core.is_closed(),
        At::Gone(_) => true,
    }
}

impl<T> Drop for TaskSet<T> {
    fn drop(&mut self) {
        self.cancel_all();
        if self.is_here() {
            // May be user code.
            drop_contained(self.completions.stop_waiting());
        } else {
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
