//! How the threads of a pool start, are replaced, and fail to start. `GROWING.md` has the rules.

use std::io;
use std::time::Duration;

use brigade_sync::time;
use brigade_task::Job;

use super::Roster;
use super::staff::NoThread;
use crate::engine::shared::Shared;
use crate::values::Threads as Range;

/// Retries of a failed thread start by a blocking worker, while no thread can run the waiting work. The
/// pauses before them double, from 1 ms. A system refuses threads either briefly or for long; a brief refusal
/// may delay a job by about 100 ms.
const RETRIES: u32 = 7;

/// Guarantees that the pool has a worker until this is dropped.
pub(in crate::engine) struct Reserved<'a> {
    shared: &'a Shared,
    /// Whether a worker has been started for this guard.
    pub(in crate::engine) has_started: bool,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.shared.idle.roster().release();
    }
}

impl Shared {
    /// Ensures that the pool has a worker until the returned guard is dropped. Returns `None` if the pool
    /// always has one.
    ///
    /// # Errors
    /// If no worker can be started.
    pub(in crate::engine) fn reserve(&self) -> Result<Option<Reserved<'_>>, NoThread> {
        if !self.idle.may_be_empty() {
            return Ok(None);
        }
        let start = self.idle.hold()?;
        let reserved = Reserved { shared: self, has_started: start.is_some() };
        match start {
            Some(index) if self.start(index).is_err() => Err(NoThread),
            _ => Ok(Some(reserved)),
        }
    }

    /// Whether the pool has a worker, or could start one now.
    pub(crate) fn can_run(&self) -> bool {
        self.reserve().is_ok()
    }

    /// Starts at most `most` threads, until the pool has its core size.
    pub(crate) fn start_core(&self, most: usize) -> io::Result<()> {
        for _ in 0..most {
            match self.idle.change(Roster::pick_core) {
                Some(index) => self.start(index)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Removes a worker whose thread will never run.
    pub(in crate::engine) fn start_lost(&self, index: usize) {
        let shares = self.remove_unstarted(index);
        let lost_before = self.idle.roster().starts.lose();
        self.start_failed(shares);
        self.retry_starts(lost_before);
    }

    /// Starts a worker with a picked index. If that fails, the worker is removed. The start is retried if no
    /// thread can run the waiting work, whose submitter may have relied on this worker.
    pub(in crate::engine) fn start(&self, index: usize) -> io::Result<()> {
        let started = self.start_once(index);
        if started.is_err() {
            self.retry_starts(0);
        }
        started
    }

    /// Starts a worker if no thread can run the waiting work, after this number of retries. Does not call a
    /// spawner for ever that fails, or that loses one thread after the other.
    pub(in crate::engine) fn retry_starts(&self, retried: u32) {
        // A thread that has been started meanwhile is not lost without a further retry.
        for _ in retried..RETRIES {
            if self.retry_start() {
                return;
            }
        }
        if self.is_stranded() {
            self.drop_queued();
            self.try_terminate();
        }
    }

    /// Starts a worker with a picked index. If that fails, the worker is removed.
    fn start_once(&self, index: usize) -> io::Result<()> {
        self.queues.peers.open(index, &self.config);
        let result = self.threads.start(index, &self.hooks());
        let has_failed = result.is_err();
        let shares = if has_failed { self.remove_unstarted(index) } else { Vec::new() };
        self.idle.started(index, !has_failed);
        // The thread, and the pool, may have ended by now.
        self.tell_of_end();
        if has_failed {
            self.start_failed(shares);
        }
        result
    }

    /// Starts a worker if no thread can run the waiting work. Returns `false` if the start failed.
    #[cold]
    fn retry_start(&self) -> bool {
        let index =
            if self.has_waiting_work() { self.idle.change(Roster::pick_if_stuck) } else { None };
        match index {
            Some(index) => self.start_once(index).is_ok(),
            None => true,
        }
    }

    /// Gets a worker for queued jobs, timers and I/O events after the calling worker was blocked.
    pub(in crate::engine) fn replace_blocked(&self) {
        if self.idle.snapshot().is_understaffed() {
            // A worker that forked before it could see this state has asked for no worker.
            self.queues.fence_forks();
        }
        if self.queues.has_work() {
            self.wake_one();
        }
        self.call_holder();
    }

    /// Whether jobs are queued, all workers are blocked, and a start has failed since the last new thread ran.
    pub(in crate::engine) fn lacks_thread(&self) -> bool {
        self.has_failed_to_start() && self.queues.has_work()
    }

    fn has_failed_to_start(&self) -> bool {
        self.idle.snapshot().is_understaffed() && self.idle.roster().has_failed_to_start()
    }

    /// Tries again to start a worker for work that waits, if that has failed, until the pauses have become long.
    pub(in crate::engine) fn retry_for_long(&self) {
        if !self.has_failed_to_start() {
            return;
        }
        for retry in 0..RETRIES {
            if !self.has_waiting_work() {
                return;
            }
            time::sleep(Duration::from_millis(1 << retry));
            if self.retry_start() {
                return;
            }
        }
    }

    /// Whether jobs are queued, or timers and I/O events are waited for.
    fn has_waiting_work(&self) -> bool {
        self.queues.has_work() || self.events.are_wanted()
    }

    pub(crate) fn resize(&self, range: Range) {
        self.idle.resize(self.config.size_of(range));
        self.call_waiter_if_stuck();
        // Surplus workers leave at once; the remaining workers learn whether their keep-alive now applies.
        // All are picked before the first is woken, because a woken worker soon sleeps again.
        let mut parked = Vec::new();
        while let Some(index) = self.idle.change(Roster::pick_parked) {
            parked.push(index);
        }
        for index in parked {
            self.wake(index);
        }
        // A worker that was alone in the pool, and could not see the new size yet, has queued jobs without a fence.
        self.queues.fence();
        self.wake_many(self.queues.len(), self.idle.snapshot());
    }

    /// Removes a worker whose thread could not be started; returns the shares of broadcasts sent to it.
    pub(in crate::engine) fn remove_unstarted(&self, index: usize) -> Vec<Job> {
        self.idle.fail(index, || self.queues.peers.at(index).mailbox.take_shares())
    }

    /// Wakes a parked worker for jobs that relied on a failed start, and cancels the worker's `shares`.
    pub(in crate::engine) fn start_failed(&self, shares: Vec<Job>) {
        // A worker waiting inside a job may be the last worker.
        if self.idle.roster().has_failed_to_start() {
            self.events.candidates.call_last();
        }
        let has_work = self.queues.has_work();
        let sleeper = if has_work { self.idle.change(Roster::pick_parked) } else { None };
        if let Some(index) = sleeper {
            self.wake(index);
        }
        self.try_terminate();
        if !shares.is_empty() {
            let _work = self.off_pool();
            for share in shares {
                self.ledger.drop_job(share);
            }
        }
    }
}
