//! Cancelling and detaching the jobs of a set.

use core::mem;
use std::sync::Arc;

#[cfg(doc)]
use brigade_task::JoinError;
use brigade_task::{Canceller, Cause, JobHandle};

use super::TaskSet;
use crate::engine::Key;
use crate::handle::{JoinHandle, cancel, cancel_at_drop};

impl<T> TaskSet<T> {
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
    pub(super) fn detach(&self, number: usize, mut handle: brigade_task::JoinHandle<T>) {
        if let Some(deadline) = self.deadline.as_ref().filter(|_| self.is_here()) {
            deadline.remove(number);
        }
        let left = self.limit.iter().filter(|_| self.is_here() && handle.leave());
        left.for_each(|limit| limit.ended(number));
        drop(JoinHandle::new(handle, self.pool.key));
    }
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
