//! Sets of jobs that are waited for together.
//!
//! The set has a handle for each job; the job's closure and outcome are in that handle's cell. The [`board`], which the jobs
//! share, records which of them have ended, and holds those that can't be submitted yet; see there for its design.

mod board;
mod permits;

use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::BTreeMap;
use std::panic;
use std::sync::Arc;
use std::time::Instant;

use brigade_task::{Job, JoinError};

use crate::deadlock::{self, Awaited, Waiting};
use crate::engine::{BlockedThread, Worker, blocking};
use crate::handle::Handle;
use crate::join::JoinHandle;
use crate::key::Key;
use crate::registry::{At, reach};
use crate::rejected::{Rejected, expect_accepted};
use crate::spawn::{make_future, queue_future};
use crate::submission::{make_with_permit, submit_with};
use board::{Board, Target};
use permits::Leave;

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
    board: Arc<Board<T>>,
    pool: Handle,
    /// The jobs whose outcomes have not been taken, by their number in the set; without a handle while they wait in the set.
    jobs: BTreeMap<u64, Option<JoinHandle<T>>>,
    /// The number of the next job.
    next: u64,
    /// All jobs before this number have been started, or an attempt was made.
    tried: u64,
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
        Self { board: Board::new(pool), pool, jobs: BTreeMap::new(), next: 0, tried: 0 }
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
    pub fn limit(self, jobs: usize) -> Self
    where
        T: Send + 'static,
    {
        assert!(jobs > 0, "the limit must be at least 1");
        if self.is_here() {
            self.board.set_limit(jobs);
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
        self.add(job, submit_with_leave, |_, leave, job| make_with_permit(leave, job))
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
        self.add(future, queue, |key, leave, future| make_future(key, future, leave, None))
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
        let key = self.next;
        let handle = match self.board.admit() {
            Some(leave) => match reach(pool, |at| submit(at, leave, work)) {
                Ok(handle) => {
                    let mut handle = JoinHandle::new(handle, pool);
                    self.board.hear_of(key, &mut handle);
                    Some(handle)
                }
                Err(rejected) => {
                    self.board.withdraw();
                    return Err(rejected);
                }
            },
            None if reach(pool, refuses) => return reach(pool, |at| Err(at.rejected(work))),
            None => {
                let make = move |leave, board: &Arc<Board<T>>| {
                    let (job, handle) = make(pool, leave, work);
                    let mut handle = JoinHandle::new(handle, pool);
                    board.hear_of(key, &mut handle);
                    (job, handle)
                };
                self.board.wait_in_line(key, Box::new(make));
                None
            }
        };
        self.next += 1;
        self.jobs.insert(key, handle);
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
        self.jobs.is_empty()
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
            let (_, handle) = self.jobs.pop_first()?;
            return handle.map_or(Some(Err(JoinError::Cancelled)), |mut handle| handle.try_join());
        }
        let key = self.board.take_ended()?;
        self.take_handles();
        let outcome = self.jobs.remove(&key)??.try_join();
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
            self.sleep(FIRST, Instant::now().checked_add(timeout));
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
        let waits = !self.is_empty() && self.is_here();
        if waits && self.board.leave_waker(FIRST, context.waker().clone()) {
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
                    self.sleep(Target { ended, passed: None }, None);
                    true
                }
            })
    }

    fn wait_on(&mut self, worker: &Worker, ended: usize) -> bool {
        let thread = BlockedThread::of_this_thread();
        loop {
            if !self.is_here() {
                // In a child forked by a job that ran here: the other jobs are the parent's.
                return true;
            }
            // Read before the jobs are looked at: one that is submitted after this ends the wait.
            let target = Target { ended, passed: Some(self.board.passed()) };
            if self.board.is_reached(Target { ended, passed: None }) {
                return true;
            }
            if self.run_one() || self.board.run_first_in_line(worker) {
                continue;
            }
            let wait = worker.begin_wait(&thread);
            if !self.board.leave_waker(target, wait.waker()) {
                continue;
            }
            let listed = Waiting::begin(self.awaited(ended), Some(wait.waker()));
            let goes_on = listed.is_some_and(|listed| {
                wait.until(|| {
                    listed.run_called(worker);
                    self.board.is_reached(target)
                })
            });
            self.board.take_waker();
            if !goes_on {
                return false;
            }
        }
    }

    /// The jobs on the pool, of which this many must end.
    fn awaited(&self, ended: usize) -> Awaited {
        let running = self.jobs.values().flatten().filter(|job| !job.is_finished());
        let jobs = running.filter_map(JoinHandle::id);
        let jobs = jobs.map(|id| deadlock::Target::new(id, self.pool.key, None));
        match ended {
            1 if self.board.may_pass() => Awaited::Any(Vec::new()),
            1 => Awaited::Any(jobs.collect()),
            _ => Awaited::All(jobs.collect()),
        }
    }

    /// Waits for the target, on a thread that is not a worker of the pool or must not be blocked for longer.
    fn sleep(&self, target: Target, deadline: Option<Instant>) {
        let thread = BlockedThread::of_this_thread();
        let waker = Waker::from((*thread).clone());
        if !self.board.leave_waker(target, waker) {
            return;
        }
        blocking(|| {
            while !self.board.is_reached(target) {
                let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                if left.is_some_and(|left| left.is_zero()) {
                    break;
                }
                thread.park(left);
            }
        });
        self.board.take_waker();
    }

    /// Runs a job here that has been submitted and has not started; `false` if there is none.
    fn run_one(&mut self) -> bool {
        self.take_handles();
        while let Some((&key, Some(handle))) = self.jobs.range_mut(self.tried..).next() {
            if self.board.is_passing(key) {
                return false;
            }
            self.tried = key + 1;
            if handle.run_here() {
                return true;
            }
        }
        false
    }

    /// Takes the handles of jobs that waited in the set and have been submitted since.
    fn take_handles(&mut self) {
        let handles = self.board.take_handles().into_iter();
        self.jobs.extend(handles.map(|(key, handle)| (key, Some(handle))));
    }

    /// Detaches the first job: this thread can't wait for it.
    fn let_go_of_first(&mut self) -> Option<Result<T, JoinError>> {
        self.take_handles();
        let (key, handle) = self.jobs.pop_first()?;
        self.board.detach_one(key, handle);
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
        self.board.cancel_line();
        self.take_handles();
        for (&key, handle) in &mut self.jobs {
            let Some(handle) = handle else { continue };
            handle.cancel_if(|| self.board.has_accepted_cancelled(key));
        }
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
        let jobs = mem::take(&mut self.jobs);
        if self.is_here() {
            self.board.detach(jobs);
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
        if !self.is_here() {
            // What the parent's threads were working on must not be dropped here.
            mem::forget(self.board.clone());
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
