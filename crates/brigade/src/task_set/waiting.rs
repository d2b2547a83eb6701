//! How a set waits for jobs, runs jobs that have not started, and collects ended jobs.

use core::mem;
use core::task::Waker;
use std::sync::Arc;
use std::time::Instant;

use brigade_task::{contain, drop_contained};

use super::TaskSet;
use crate::engine;
use crate::engine::{BlockedThread, Key, Worker, runs_in_place, wait_as, wait_until};
use crate::handle::deadlock::{AwaitedJobs, Waiting};
use crate::handle::{class_of_waits, raise_to};

/// A worker's wait for a number of ends.
struct Ends<'a, T> {
    set: &'a mut TaskSet<T>,
    ended: usize,
    /// The first number in line at the last look.
    first: usize,
    listed: Option<Waiting>,
    is_circular: bool,
}

impl<T> engine::Awaited for Ends<'_, T> {
    fn is_over(&mut self) -> bool {
        // In a child forked by a job that ran here, the remaining jobs are the parent's.
        if self.is_circular || !self.set.is_here() {
            return true;
        }
        // Read before the jobs are checked: a job that leaves the line after this ends the sleep.
        self.first = self.set.first_in_line();
        self.set.has_ended(self.ended)
    }

    fn register(&mut self, thread: &Arc<BlockedThread>) -> bool {
        let waker = Waker::from(thread.clone());
        let set = &mut *self.set;
        let left = self.ended - set.ended.len();
        let limit = set.limit.as_ref();
        if limit.is_some_and(|limit| !limit.wake_when_passed(self.first, waker.clone()))
            || !set.completions.wait(left, waker)
        {
            return false;
        }
        // Listed jobs may have ended.
        self.listed = None;
        self.listed = Waiting::begin(self.set.awaited(self.first, self.ended == 1));
        self.is_circular = self.listed.is_none();
        !self.is_circular
    }

    fn pool(&self) -> Option<Key> {
        Some(self.set.pool.key)
    }

    fn run_part(&mut self, worker: &Worker) -> bool {
        worker.is_of(self.set.pool.key)
            && (self.set.run(worker) || worker.run_member(self.set.group))
    }
}

impl<T> TaskSet<T> {
    /// The unfinished jobs before this number, of which a wait needs any or all.
    fn awaited(&mut self, first: usize, is_any: bool) -> AwaitedJobs {
        let admitted = self.pending.from(0).take_while(|(number, _)| *number < first);
        let jobs =
            admitted.filter(|(_, job)| !job.is_finished()).map(|(_, job)| job.id()).collect();
        if is_any { AwaitedJobs::Any(jobs) } else { AwaitedJobs::All(jobs) }
    }

    /// Waits until this many jobs have ended. On a worker of the pool, runs jobs that have not started. Returns
    /// `false` if the wait would never end.
    pub(super) fn wait_for(&mut self, ended: usize) -> bool {
        let mut waited = true;
        // In a forked child there is nothing to wait for.
        if self.is_here() {
            wait_as(Some(self.pool.key), &mut |worker| match worker {
                Some(worker) => {
                    let (group, woken) = (self.group, mem::take(&mut self.woken));
                    let wait = || self.wait_on(worker, ended);
                    (waited, self.woken) = worker.wait_for_group(group, woken, wait);
                }
                None => self.sleep(ended, None),
            });
        }
        waited
    }

    /// Like [`wait_for`](Self::wait_for), on a worker.
    fn wait_on(&mut self, worker: &Worker, ended: usize) -> bool {
        let runs = worker.is_of(self.pool.key) && runs_in_place();
        while runs && self.is_here() && !self.has_ended(ended) && self.run(worker) {}
        if self.ended.len() >= ended {
            return true;
        }
        self.raise();
        let mut wait = Ends { set: self, ended, first: 0, listed: None, is_circular: false };
        worker.run_until(&mut wait);
        let is_circular = wait.is_circular;
        drop(wait);
        if self.is_here() {
            drop_contained(self.completions.stop_waiting());
        }
        !is_circular
    }

    /// The number of the first job in line.
    fn first_in_line(&self) -> usize {
        self.limit.as_ref().map_or(usize::MAX, |limit| limit.first_in_line())
    }

    /// Waits until this many jobs have ended, or until the deadline; runs none of them.
    pub(super) fn sleep(&mut self, ended: usize, deadline: Option<Instant>) {
        self.raise();
        let key = self.pool.key;
        let _waits = Waiting::beside(|| self.awaited(self.first_in_line(), ended == 1));
        wait_until(Some(key), deadline, &mut |thread| {
            let is_over = self.has_ended(ended);
            let left = ended.saturating_sub(self.ended.len());
            let mut register =
                |thread: &Arc<BlockedThread>| self.completions.wait(left, thread.clone().into());
            is_over || thread.is_some_and(|thread| !register(thread))
        });
        drop_contained(self.completions.stop_waiting());
    }

    /// Gives the jobs on the pool the class of the waiting job.
    pub(super) fn raise(&mut self) {
        let Some(class) = class_of_waits(self.pool.key) else { return };
        let first = self.first_in_line();
        let from = if class > self.raised.0 { 0 } else { self.raised.1 };
        for (number, handle) in self.pending.from(from) {
            if number >= first {
                break;
            }
            raise_to(handle, self.pool.key, class);
        }
        self.raised = (class, self.next.min(first));
    }

    /// Whether this many jobs have ended. If not yet, moves the listed jobs to the ended jobs before the answer.
    pub(super) fn has_ended(&mut self, jobs: usize) -> bool {
        if self.ended.len() < jobs && self.completions.is_any() {
            let listed = self.completions.take();
            // Numbers without a handle are of detached jobs.
            for number in listed {
                if let Some(deadline) = &self.deadline {
                    deadline.remove(number);
                }
                self.ended.extend(self.pending.remove(number));
            }
        }
        self.ended.len() >= jobs
    }

    /// Runs an admitted job that has not started on this worker: a closure, or the first poll of a future. Returns `false` if
    /// there is none.
    #[inline]
    fn run(&mut self, worker: &Worker) -> bool {
        let first = self.first_in_line();
        loop {
            let next = self.pending.from(self.untried).next();
            let Some((number, handle)) = next.filter(|&(number, _)| number < first) else {
                return false;
            };
            self.untried = number + 1;
            if handle.is_of_future() {
                // The set lists the future once it has ended.
                if worker.run_in_place(|stop| handle.settle_if_unclaimed(stop)) {
                    return true;
                }
            } else if worker.run_in_place(|stop| handle.leave_and_settle(stop)) {
                // The job is not listed. Jobs that have ended elsewhere meanwhile come first. Not in a child forked
                // by the job.
                if self.completions.is_any() && self.is_here() {
                    self.has_ended(usize::MAX);
                    // A task may wait for the next job to end.
                    let waker = self.completions.stop_waiting();
                    if let Some(waker) = waker {
                        contain(|| waker.wake());
                    }
                }
                if let Some(deadline) = &self.deadline {
                    deadline.remove(number);
                }
                self.ended.extend(self.pending.remove(number));
                self.limit.iter().for_each(|limit| limit.ended(number));
                return true;
            }
        }
    }
}
