//! The limit of a set: the number of jobs on the pool, and the line of waiting jobs. The [module above](super) has
//! the protocol.

use core::mem;
use core::ops::Range;
use core::task::Waker;
use std::collections::VecDeque;
use std::sync::Arc;

use brigade_sync::Mutex;
use brigade_task::{Cause, Job};

use crate::engine::{Key, cancel_contained, reach, reach_once};
use crate::values::Priority;

/// A waiting job, with its number and class.
type Waiting = (usize, Priority, Job);

/// The limit of a set, shared with the list of ended jobs.
pub(super) struct Limit {
    pool: Key,
    /// The number of the first counted job.
    since: usize,
    state: Mutex<LimitState>,
}

struct LimitState {
    limit: usize,
    /// How many unfinished jobs have left the line, or never were in it.
    admitted: usize,
    /// The waiting jobs, in the order of their numbers, with the classes of the jobs that added them.
    line: VecDeque<Waiting>,
    /// Woken when a job leaves the line.
    owner: Option<Waker>,
}

/// The number of the first job in line: all earlier jobs have been admitted.
fn first(line: &VecDeque<Waiting>) -> usize {
    line.front().map_or(usize::MAX, |waiting| waiting.0)
}

impl Limit {
    /// Allows this many jobs, counting only jobs with the number `since` or higher.
    pub(super) fn new(pool: Key, limit: usize, since: usize) -> Arc<Self> {
        let state = LimitState { limit, admitted: 0, line: VecDeque::new(), owner: None };
        Arc::new(Self { pool, since, state: Mutex::new(state) })
    }

    pub(super) fn set(&self, limit: usize) {
        self.state.lock().limit = limit;
        self.pass();
    }

    /// Submits all jobs in line, whatever the limit.
    pub(super) fn flush(&self) {
        let limit = mem::replace(&mut self.state.lock().limit, usize::MAX);
        self.pass();
        self.state.lock().limit = limit;
    }

    /// Counts a job about to be submitted by the caller. Returns `false` if the job must wait.
    pub(super) fn admit(&self) -> bool {
        let mut state = self.state.lock();
        // Not before the jobs in line: if the limit allows more, a thread is about to submit the first of them.
        let admits = state.admitted < state.limit && state.line.is_empty();
        state.admitted += usize::from(admits);
        admits
    }

    /// Adds a job to the line.
    pub(super) fn wait(&self, number: usize, class: Priority, job: Job) {
        self.state.lock().line.push_back((number, class, job));
        // A job may have ended since this job was not admitted.
        self.pass();
    }

    /// Handles the end of an admitted job, its rejection by the pool, or that it is detached.
    pub(super) fn ended(&self, number: usize) {
        // In a forked child the lock may be held forever.
        if number >= self.since && self.pool.is_here() {
            self.state.lock().admitted -= 1;
            self.pass();
        }
    }

    /// Submits from the line as long as the limit allows.
    fn pass(&self) {
        loop {
            let mut state = self.state.lock();
            if state.admitted >= state.limit {
                return;
            }
            let Some((_, class, job)) = state.line.pop_front() else { return };
            state.admitted += 1;
            let owner = state.owner.take();
            drop(state);
            if let Err(job) = reach_once(self.pool, |at| at.accept_late(class, job)) {
                self.cancel(Some(job), 0..usize::MAX, Cause::Ended);
            }
            _ = owner.map(Waker::wake);
        }
    }

    /// Drops a job rejected by the pool, and then the jobs in line with these numbers, for a cause. Returns the number of
    /// the latter.
    pub(super) fn cancel(
        &self,
        rejected: Option<Job>,
        numbers: Range<usize>,
        cause: Cause,
    ) -> usize {
        let mut jobs = Vec::from_iter(rejected);
        let mut state = self.state.lock();
        // All jobs are taken before the first is dropped, because its end would submit the next. Each counts as
        // admitted until it has ended.
        let find = |number| state.line.partition_point(|waiting| waiting.0 < number);
        let (from, to) = (find(numbers.start), find(numbers.end));
        for (.., job) in state.line.drain(from..to) {
            jobs.push(job);
        }
        state.admitted += to - from;
        drop(state);
        for job in jobs {
            let outcome = cancel_contained(job, cause);
            reach(self.pool, &mut |at| at.count_unqueued(outcome));
        }
        to - from
    }

    pub(super) fn first_in_line(&self) -> usize {
        first(&self.state.lock().line)
    }

    /// Registers a waker to be woken when a job leaves the line. Returns `false` if `first` is no longer the first
    /// number in line.
    pub(super) fn wake_when_passed(&self, first: usize, waker: Waker) -> bool {
        let mut state = self.state.lock();
        let waits = self::first(&state.line) == first;
        let former = if waits { state.owner.replace(waker) } else { None };
        drop((state, former));
        waits
    }
}
