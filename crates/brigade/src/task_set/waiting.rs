//! How a set waits for its jobs, runs those that have not started, and collects what has ended.

use core::task::Waker;
use std::time::Instant;

use brigade_sync::time;
use brigade_task::{JoinError, contain, drop_contained};

use super::TaskSet;
use super::board::Target;
use crate::deadlock::{Awaited, Waiting};
use crate::engine::{self, BlockedThread, CURRENT, Worker, blocking, runs_in_place, wait_as};
use crate::join::{JoinHandle, settle_on};

/// A wait of a worker for so many ends.
struct Ends<'a, T> {
    set: &'a mut TaskSet<T>,
    ended: usize,
    /// What is to be reached since the last look.
    target: Target,
    /// It has left a waker.
    is_registered: bool,
    listed: Option<Waiting>,
    is_circular: bool,
}

impl<T> engine::Awaited for Ends<'_, T> {
    fn is_over(&mut self) -> bool {
        // In a child forked by a job that ran here, the other jobs are the parent's.
        if self.is_circular || !self.set.is_here() {
            return true;
        }
        // Read before the jobs are looked at: one that is submitted after this ends the sleep.
        let passed = self.set.board.as_ref().map(|board| board.passed());
        let is_over = self.set.has_ended(self.ended);
        let left = self.ended.saturating_sub(self.set.jobs.ended());
        self.target = Target { ended: left, passed };
        is_over
    }

    fn register(&mut self, waker: Waker) -> bool {
        // What is listed may have ended.
        self.listed = None;
        self.is_registered = true;
        if !self.set.leave_waker(self.target, waker) {
            return false;
        }
        self.listed = Waiting::begin(self.set.awaited(self.ended));
        self.is_circular = self.listed.is_none();
        !self.is_circular
    }

    fn is_own(&self, worker: &Worker) -> bool {
        worker.is_of(self.set.pool.key)
    }

    fn run_part(&mut self, worker: &Worker) -> bool {
        worker.is_of(self.set.pool.key) && self.set.run_one(worker)
    }
}

impl<T> TaskSet<T> {
    /// Waits until this many jobs have ended; on a worker of the pool, runs those that have not started. `false` if they
    /// never would.
    pub(super) fn wait_for(&mut self, ended: usize) -> bool {
        // In a forked child there is nothing to wait for.
        !self.is_here()
            || wait_as(Some(self.pool.key), |worker| match worker {
                Some(worker) => self.wait_on(worker, ended),
                None => {
                    self.sleep(ended, None);
                    true
                }
            })
    }

    fn wait_on(&mut self, worker: &Worker, ended: usize) -> bool {
        let target = Target { ended, passed: None };
        let (is_registered, listed, is_circular) = (false, None, false);
        let mut wait = Ends { set: self, ended, target, is_registered, listed, is_circular };
        worker.run_until(&mut wait);
        let (is_registered, is_circular) = (wait.is_registered, wait.is_circular);
        drop(wait);
        if is_registered && self.is_here() {
            self.stop_waiting();
        }
        !is_circular
    }

    /// The jobs on the pool, of which this many must end.
    fn awaited(&self, ended: usize) -> Awaited {
        let running = self.jobs.pending().filter(|job| !job.is_finished());
        let jobs = running.map(brigade_task::JoinHandle::id);
        match ended {
            1 if self.board.as_ref().is_some_and(|board| board.may_pass()) => {
                Awaited::Any(Vec::new())
            }
            1 => Awaited::Any(jobs.collect()),
            _ => Awaited::All(jobs.collect()),
        }
    }

    /// Waits until this many jobs have ended, on a thread that is not a worker of the pool or must not be blocked for longer.
    pub(super) fn sleep(&mut self, ended: usize, deadline: Option<Instant>) {
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
                let left = deadline.map(time::until);
                if left.is_some_and(|left| left.is_zero()) {
                    break;
                }
                thread.park(left);
            }
        });
        self.stop_waiting();
    }

    /// Whether this many jobs have ended.
    pub(super) fn has_ended(&mut self, jobs: usize) -> bool {
        if self.jobs.ended() < jobs {
            self.collect();
        }
        self.jobs.ended() >= jobs
    }

    /// Registers a waker for what ends after [`collect`](Self::collect), in place of any other; `false` if the target is
    /// already reached.
    pub(super) fn leave_waker(&mut self, target: Target, waker: Waker) -> bool {
        match &self.board {
            None => self.completions.wait(target.ended, waker),
            Some(board) => board.leave_waker(target, waker),
        }
    }

    /// Whether the target of the registered waker is reached.
    pub(super) fn is_reached(&self, target: Target) -> bool {
        match &self.board {
            None => !self.completions.is_waiting(),
            Some(board) => board.is_reached(target),
        }
    }

    /// Removes the registered waker.
    pub(super) fn stop_waiting(&mut self) {
        match &self.board {
            None => drop_contained(self.completions.stop_waiting()),
            Some(board) => board.take_waker(),
        }
    }

    /// Moves what has ended to the end of the roster's list.
    pub(super) fn collect(&mut self) {
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
    pub(super) fn run_next(&mut self) -> Option<Result<T, JoinError>> {
        let has_more = self.board.is_some() || self.jobs.ended() > 0;
        if has_more || self.completions.is_any() || !runs_in_place() {
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
    pub(super) fn run_member(&mut self, worker: &Worker) -> Option<u32> {
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
    pub(super) fn end_member(&mut self, index: u32) {
        // Not in a child that the job has forked.
        if self.is_here() {
            self.collect();
        }
        self.jobs.end_at(index);
    }

    /// Runs a job here that has been submitted and has not started, or submits one; `false` if there is none.
    pub(super) fn run_one(&mut self, worker: &Worker) -> bool {
        let Some(board) = &self.board else {
            let index = self.run_member(worker);
            index.inspect(|&index| self.end_member(index));
            return index.is_some();
        };
        let board = board.clone();
        self.take_handles();
        while let Some((_, handle)) = self.jobs.try_next() {
            if !handle.is_finished() && settle_on(worker, |run| handle.settle_if_unclaimed(run)) {
                return true;
            }
        }
        board.submit_first_in_line()
    }

    /// Takes the handles of jobs that waited in the set and have been submitted since.
    pub(super) fn take_handles(&mut self) {
        let Some(board) = &self.board else { return };
        for (key, handle) in board.take_handles() {
            if let Some(handle) = handle.into_inner() {
                self.jobs.set_handle(key, handle);
            }
        }
    }

    /// Detaches the first job: this thread can't wait for it.
    pub(super) fn let_go_of_first(&mut self) -> Option<Result<T, JoinError>> {
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
}
