//! The end of a pool, and waiting for its workers.
//!
//! Open, then closed, then terminated. `close` refuses work from outside; the workers go on as always.
//! Whoever sees that all are parked and nothing is queued, after it was closed, terminates: the last
//! worker to park, or the closer if they were parked already. Nothing can be accepted from then on, as
//! only running workers still could, and there is none.
//!
//! The injectors are closed one after the other, each in one step with the pushes to it: a push is accepted or
//! refused for good. While that goes on one producer may be refused and another still accepted; the word is
//! changed last, so nobody is accepted who has seen the pool closed.

use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use brigade_queue::{Cursor, StealError};
use brigade_sync::atomic::{Ordering, fence};
use brigade_task::{Job, Ran, drop_contained};

use super::Core;
use crate::config::Shutdown;

impl Core {
    /// Accepts nothing from outside from now on; `Discard` accepts nothing at all and drops what is queued.
    pub(crate) fn close(&self, how: Shutdown) {
        self.inlet.close();
        self.idle.close(how == Shutdown::Discard);
        drop(self.keep.timers.close());
        // Whoever accepts a job that is not queued has done so by now, or sees that it is too late.
        drop(self.elsewhere.lock());
        if let Some(room) = &self.room {
            room.wake_outsiders();
        }
        // A pool whose last thread could not be started may still have jobs.
        let stranded = self.idle.snapshot().live() == 0 && self.has_work() && self.hold().is_none();
        if how == Shutdown::Discard || stranded {
            self.drop_queued();
        }
        self.settle();
    }

    /// Whether nothing is accepted from outside any more.
    pub(crate) fn is_closed(&self) -> bool {
        // The word is changed last, so whoever sees it finds all of it in force.
        self.idle.snapshot().closed()
    }

    /// Drops all jobs that are queued. Workers drop what they come upon meanwhile.
    fn drop_queued(&self) {
        let mut round = 0;
        let cursor = Cursor::default();
        while let Some(job) = self.inlet.pop(&cursor) {
            self.drop_job(job);
        }
        for peer in self.peers.iter() {
            loop {
                match peer.remote.steal() {
                    Ok(job) => self.drop_job(job),
                    Err(StealError::Empty) => break,
                    Err(StealError::Busy) => {
                        brigade_sync::hint::snooze(round);
                        round += 1;
                    }
                }
            }
        }
    }

    /// Counts a job that was cancelled elsewhere than on a worker.
    pub(crate) fn count_cancelled(&self) {
        self.elsewhere.lock().cancelled += 1;
    }

    pub(super) fn drop_job(&self, job: Job) {
        if cancel_contained(job) {
            self.count_cancelled();
        }
    }

    /// If all workers are parked and nothing is queued: tells those who wait for that, and ends the pool if it is closed.
    ///
    /// Called after each change that may have made that true: a worker's announcement, its leaving, the closing.
    pub(super) fn settle(&self) {
        self.look_for_quiet();
        let word = self.idle.snapshot();
        // Ordering: the queues are looked at after the word: `terminate` below relies on nothing having been
        // queued *since it was closed*, and a word from before that says nothing about it.
        fence(Ordering::SeqCst);
        if !word.all_parked() || self.has_work() {
            // Somebody runs, or a submitter is about to wake somebody: whoever parks last comes here.
            return;
        }
        // If it was open then, whoever closes it settles after us.
        if word.closed() && self.ends() {
            for peer in self.peers.iter() {
                self.unpark(peer);
            }
            self.tell_waiters();
        }
        self.cancel_waiting();
    }

    /// Waits until all workers have left, for `timeout` at most; `false` if it is over.
    pub(crate) fn wait_left(&self, timeout: Duration) -> bool {
        let deadline = Instant::now().checked_add(timeout);
        let mut waits = self.waits.lock();
        while waits.alive > 0 || waits.spawning > 0 {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return false;
            }
            waits = self.changed.wait(waits, left);
        }
        true
    }
}

/// Drops a job's closure, panics of that contained; `false` if it had been taken from the job before.
pub(super) fn cancel_contained(job: Job) -> bool {
    let ran = panic::catch_unwind(AssertUnwindSafe(|| job.cancel()));
    let ran = ran.unwrap_or_else(|payload| {
        drop_contained(payload);
        Ran::Cancelled
    });
    ran == Ran::Cancelled
}
