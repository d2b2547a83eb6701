//! From the line of a set to its pool: who is admitted, submitted, or dropped there.

use core::mem;
use core::task::Waker;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::Wake;

use brigade_task::{Job, Ran};

use super::{Board, Passage};
use crate::engine::Worker;
use crate::join::count_cancelled;
use crate::room::Usher;

/// A job that has not been admitted.
pub(super) struct Waiting {
    pub(super) key: u64,
    job: Job,
    /// Leads to the job's seat, in a bounded pool.
    usher: Option<Usher>,
}

/// The waker of a set that stands in line for room: submits the first job.
struct Call<T>(Arc<Board<T>>);

impl<T: Send + 'static> Wake for Call<T> {
    fn wake(self: Arc<Self>) {
        self.0.refill();
    }
}

impl<T> Board<T> {
    /// Admits a job and gives it back to be submitted, or lets it wait in line.
    pub(in super::super) fn enter(
        self: &Arc<Self>,
        key: u64,
        job: Job,
        usher: Option<Usher>,
    ) -> Option<Job>
    where
        T: Send + 'static,
    {
        // Not even for a moment one that is not needed, which others would miss. Nobody but the owner makes the set full.
        let needs_none = self.is_bounded() && self.is_full();
        let leave = if needs_none { None } else { self.places.try_take() };
        let mut state = self.state.lock();
        match leave {
            Some(leave) if !state.is_full() => {
                state.admitted += 1;
                drop(state);
                leave.use_for(usher);
                Some(job)
            }
            unused => {
                state.line.push_back(Waiting { key, job, usher });
                drop(state);
                // Before the look at the line, which may stand for this very place.
                drop(unused);
                if self.is_bounded() {
                    self.refill();
                }
                None
            }
        }
    }

    /// Takes the admission of a job back that the pool refused. Nobody waits for its place: nobody has entered since.
    pub(in super::super) fn withdraw(&self) {
        self.state.lock().admitted -= 1;
    }

    /// Submits from the line as long as the limit and the pool's capacity allow.
    pub(super) fn refill(self: &Arc<Self>)
    where
        T: Send + 'static,
    {
        loop {
            let waker = || Waker::from(Arc::new(Call(self.clone())));
            let leave = self.places.take_or_stand(|| self.lacks_place(), waker);
            let first = leave.as_ref().and_then(|_| self.first_in_line());
            match (leave, first) {
                (Some(leave), Some(Waiting { key, job, usher })) => {
                    leave.use_for(usher);
                    match self.pool.accept(job) {
                        Ok(()) => self.accepted(key),
                        Err(job) => self.refused(key, job),
                    }
                }
                (unused, _) => {
                    self.places.leave_unless(|| self.lacks_place());
                    drop(unused);
                    return;
                }
            }
        }
    }

    /// Whether a place is all that the first in line waits for.
    fn lacks_place(&self) -> bool {
        let state = self.state.lock();
        state.admitted < state.limit && !state.line.is_empty()
    }

    fn first_in_line(&self) -> Option<Waiting> {
        let mut state = self.state.lock();
        if state.admitted >= state.limit {
            return None;
        }
        let first = state.line.pop_front()?;
        state.admitted += 1;
        state.passages.insert(first.key, Passage::Open);
        Some(first)
    }

    /// Runs the first in line right here if it waits for a place in the pool of `worker`, who will not wait for itself.
    pub(in super::super) fn run_first_in_line(&self, worker: &Worker) -> bool {
        if !self.is_bounded() {
            return false;
        }
        let Some(Waiting { key, job, .. }) = self.first_in_line() else { return false };
        if worker.discards() {
            self.refused(key, job);
        } else {
            self.accepted(key);
            worker.run_here(job);
        }
        true
    }

    /// The pool has accepted a job from the line.
    fn accepted(&self, key: u64) {
        let mut state = self.state.lock();
        let passage = state.passages.remove(&key);
        state.submitted += 1;
        self.tell(state.is_awaited());
        drop(state);
        if let Some(Passage::Cancelled) = passage {
            count_cancelled(self.pool.key);
        }
    }

    /// The pool has refused a job from the line, and so would it the others: all are dropped.
    fn refused(&self, key: u64, job: Job) {
        // Taken before the first is dropped, whose end would call for the next.
        let others = self.take_line(|_| true);
        self.drop_unaccepted(key, job);
        others.into_iter().for_each(|other| self.drop_unaccepted(other.key, other.job));
    }

    /// Drops the jobs of the owner that wait in line.
    pub(in super::super) fn cancel_line(&self) {
        let waiting = self.take_line(|is_detached| !is_detached);
        waiting.into_iter().for_each(|one| self.drop_unaccepted(one.key, one.job));
        self.places.leave_unless(|| self.lacks_place());
    }

    /// Takes jobs out of the line, to be dropped at once.
    fn take_line(&self, which: impl Fn(bool) -> bool) -> VecDeque<Waiting> {
        let mut state = self.state.lock();
        let line = mem::take(&mut state.line).into_iter();
        let (taken, kept): (VecDeque<_>, _) =
            line.partition(|one| which(state.detached.contains_key(&one.key)));
        state.line = kept;
        // Each of them takes one off again as it ends.
        state.admitted += taken.len();
        state.passages.extend(taken.iter().map(|one| (one.key, Passage::Open)));
        taken
    }

    /// Drops a job that has left the line and that the pool has not accepted.
    fn drop_unaccepted(&self, key: u64, job: Job) {
        let dropped = panic::catch_unwind(AssertUnwindSafe(|| job.cancel()));
        let ran = dropped.unwrap_or_else(|payload| {
            mem::forget(payload);
            Ran::Cancelled
        });
        let mut state = self.state.lock();
        let passage = state.passages.remove(&key);
        // It was the owner who dropped it, and it has not asked yet whether to count that.
        if let (Ran::Elsewhere, Some(Passage::Open)) = (ran, passage) {
            state.passages.insert(key, Passage::Refused);
        }
    }

    /// Whether the pool knows of a job that the owner has just cancelled: then it is to be counted.
    pub(in super::super) fn has_accepted_cancelled(&self, key: u64) -> bool {
        let mut state = self.state.lock();
        match state.passages.remove(&key) {
            None => return true,
            Some(Passage::Refused) => {}
            Some(Passage::Open | Passage::Cancelled) => {
                _ = state.passages.insert(key, Passage::Cancelled)
            }
        }
        false
    }

    /// Whether a job has been submitted.
    pub(in super::super) fn is_submitted(&self, key: u64) -> bool {
        let state = self.state.lock();
        let is_first = |first: &Waiting| key < first.key;
        state.line.front().is_none_or(is_first) && !state.passages.contains_key(&key)
    }
}
