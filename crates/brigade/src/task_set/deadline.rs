//! The deadline of a set. The [module above](super) has the protocol.

use std::sync::Arc;
use std::time::Instant;

use brigade_sync::Mutex;
use brigade_task::{Canceller, Cause, JobHandle};

use super::TaskSet;
use super::limit::Limit;
use super::pending::Pending;
use crate::engine::{Key, now_in};
use crate::handle::{CancelHandle, Handle};
use crate::submission::{Options, Until};
use crate::time::Timer;
use crate::values::Priority;

impl<T> TaskSet<T> {
    /// Cancels the jobs that have not ended at this time, with [`Cause::Deadline`](crate::Cause::Deadline): as
    /// [`cancel_all`](Self::cancel_all), whether or not a thread waits for the set. So a wait ends soon after the deadline if
    /// the running closures look at [`cancelled`](crate::cancelled).
    ///
    /// No closure that is added from now on begins after the deadline, and in a running one [`cancelled`](crate::cancelled) is
    /// true from then on. All other jobs are cancelled by a timer of the pool, which is late while all threads
    /// run closures.
    ///
    /// A later call changes the deadline, for all jobs that have not been cancelled. A pool that is closed cancels its
    /// timers: then only [`Shutdown::Finish`](crate::Shutdown::Finish) keeps the deadline of pending futures.
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
            let deadline = self.deadline.get_or_insert_with(|| Box::new(Deadline::new(at)));
            if let Some(limit) = &self.limit {
                deadline.limits(limit.clone());
            }
            for (number, handle) in self.pending.from(0) {
                deadline.enter(number, handle, None, self.pool.key);
            }
            deadline.set(self.pool, at);
        }
        self
    }
}

/// The deadline of a set, and the jobs to be cancelled then.
pub(super) struct Deadline {
    at: Instant,
    unended: Arc<Mutex<Unended>>,
    timer: Option<Timer>,
}

/// The jobs that have not ended, as far as the owner knows.
struct Unended {
    jobs: Pending<UnendedJob>,
    limit: Option<Arc<Limit>>,
}

struct UnendedJob {
    canceller: Arc<Canceller>,
    until: Option<Arc<Until>>,
}

impl Deadline {
    fn new(at: Instant) -> Self {
        let unended = Unended { jobs: Pending::new(), limit: None };
        Self { at, unended: Arc::new(Mutex::new(unended)), timer: None }
    }

    /// Adds the deadline to the settings of a new job that must not begin any more.
    pub(super) fn apply(&self, options: &mut Options, pool: Key) {
        if self.is_over(pool) {
            options.deadline = Some(self.at);
        }
    }

    /// The same for a closure, and returns what the closure carries: it needs no timer to see the deadline. A future is dropped once it has been asked to stop, which takes a
    /// thread in any case.
    pub(super) fn apply_to_closure(&self, options: &mut Options, pool: Key) -> Arc<Until> {
        self.apply(options, pool);
        Arc::new(Until::new(self.at))
    }

    fn is_over(&self, pool: Key) -> bool {
        self.at <= now_in(pool)
    }

    /// Sets the time.
    pub(super) fn set(&mut self, pool: Handle, at: Instant) {
        self.cancel_timer();
        self.at = at;
        for (_, job) in self.unended.lock().jobs.from(0) {
            if let Some(until) = &job.until {
                until.set(Some(at));
            }
        }
        let (unended, key) = (self.unended.clone(), pool.key);
        let cancel = move || {
            let mut state = unended.lock();
            let (jobs, limit) = (state.jobs.take(), state.limit.clone());
            drop(state);
            // The jobs in line first: the end of another job would submit them.
            if let Some(limit) = limit {
                limit.cancel(None, 0..usize::MAX, Cause::Deadline);
            }
            for (_, job) in jobs {
                cancel_late(job.canceller, key);
            }
        };
        // A closed pool has no timers.
        self.timer = pool.job().priority(Priority::High).at(at).execute(cancel).ok();
    }

    fn cancel_timer(&mut self) {
        if let Some(timer) = self.timer.take() {
            timer.cancel();
        }
    }

    /// Sets the limit of the set.
    pub(super) fn limits(&self, limit: Arc<Limit>) {
        self.unended.lock().limit = Some(limit);
    }

    /// Enters a job, or cancels it if the deadline has passed.
    pub(super) fn enter(
        &self,
        number: usize,
        job: &JobHandle,
        until: Option<Arc<Until>>,
        pool: Key,
    ) {
        // Entered when an earlier deadline was set: a job is entered once, and so in the order of the numbers.
        let Some(canceller) = job.canceller().map(Arc::new) else { return };
        let mut state = self.unended.lock();
        if self.is_over(pool) {
            let limit = state.limit.clone();
            drop(state);
            if let Some(limit) = limit {
                limit.cancel(None, number..number + 1, Cause::Deadline);
            }
            cancel_late(canceller, pool);
        } else {
            state.jobs.push(number, UnendedJob { canceller, until });
        }
    }

    /// The canceller of a job.
    pub(super) fn canceller(&self, number: usize) -> Option<Arc<Canceller>> {
        self.unended.lock().jobs.get(number).map(|job| job.canceller.clone())
    }

    /// Removes a job, which has no deadline from then on.
    pub(super) fn remove(&self, number: usize) {
        let removed = self.unended.lock().jobs.remove(number);
        if let Some((_, UnendedJob { until: Some(until), .. })) = &removed {
            until.set(None);
        }
        drop(removed);
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.cancel_timer();
    }
}

fn cancel_late(job: Arc<Canceller>, pool: Key) {
    CancelHandle::new(Some(job), pool).cancel_for(Cause::Deadline);
}
