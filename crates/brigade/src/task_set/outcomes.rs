//! Waiting for the jobs of a set, and taking their outcomes.

use core::future::{Future, poll_fn};
use core::task::{Context, Poll};
use core::time::Duration;

use brigade_sync::awaited::{Awaited, note};
use brigade_sync::time;
use brigade_task::JoinError;

use super::TaskSet;
use crate::handle::JoinHandle;
use crate::handle::awaited::note_pool;

impl<T> TaskSet<T> {
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
}
