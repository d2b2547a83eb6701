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
        if how == Shutdown::Discard {
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
        for peer in &self.peers {
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
        *self.cancelled.lock() += 1;
    }

    fn drop_job(&self, job: Job) {
        let ran = panic::catch_unwind(AssertUnwindSafe(|| job.cancel()));
        let ran = ran.unwrap_or_else(|payload| {
            drop_contained(payload);
            Ran::Cancelled
        });
        if ran == Ran::Cancelled {
            self.count_cancelled();
        }
    }

    /// If all workers are parked and nothing is queued: ends the pool if it is closed, tells those who wait.
    ///
    /// Called after each change that may have made that true: the last worker's announcement, the closing.
    pub(super) fn settle(&self) {
        let word = self.idle.snapshot();
        // Ordering: the queues are looked at after the word: `terminate` below relies on nothing having been
        // queued *since it was closed*, and a word from before that says nothing about it.
        fence(Ordering::SeqCst);
        if !self.idle.all_parked(word) || self.has_work() {
            // Somebody runs, or a submitter is about to wake somebody: whoever parks last comes here.
            return;
        }
        // If it was open then, whoever closes it settles after us.
        if word.closed() && self.idle.terminate() {
            for peer in &self.peers {
                peer.parker.unpark();
            }
        }
        if word.quiet_wanted() {
            drop(self.waits.lock());
            self.changed.notify_all();
        }
    }

    /// Ends a pool of which only the first `started` threads could be started.
    pub(crate) fn abandon(&self, started: usize) {
        self.inlet.close();
        self.idle.abandon(self.config.threads - started);
        self.settle();
    }

    /// Waits until all workers are parked and nothing is queued, for `timeout` at most; `false` if it is over.
    pub(crate) fn wait_idle(&self, timeout: Option<Duration>) -> bool {
        // A deadline too far to be written down is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut waits = self.waits.lock();
        waits.for_quiet += 1;
        let quiet_now = loop {
            let word = self.idle.want_quiet(true);
            // Looked at twice: between the first look and the queues' a worker may have withdrawn and taken a
            // job. One that is parked at the second look has finished what it took.
            let quiet = || self.idle.all_parked(self.idle.want_quiet(true));
            if word.terminated() || (self.idle.all_parked(word) && !self.has_work() && quiet()) {
                break true;
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break false;
            }
            waits = self.changed.wait(waits, left);
        };
        waits.for_quiet -= 1;
        if waits.for_quiet == 0 {
            self.idle.want_quiet(false);
        }
        quiet_now
    }

    /// A worker has left for good.
    pub(super) fn left(&self) {
        self.waits.lock().left += 1;
        self.changed.notify_all();
    }

    /// Waits until all workers have left, for `timeout` at most; `false` if it is over.
    pub(crate) fn wait_left(&self, timeout: Duration) -> bool {
        let deadline = Instant::now().checked_add(timeout);
        let mut waits = self.waits.lock();
        while waits.left < self.config.threads {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return false;
            }
            waits = self.changed.wait(waits, left);
        }
        true
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::sync::Arc;

    use brigade_sync::thread::Thread;

    use super::*;
    use crate::config::Config;
    use crate::engine::Worker;

    #[test]
    fn a_pool_of_which_only_some_threads_could_be_started_ends_without_a_trace() {
        for started in 0..4 {
            let config = Config { threads: 4, ..Config::default() };
            let (core, locals) = Core::new(0, config);
            let core = Arc::new(core);
            let threads: Vec<_> = (0..started)
                .zip(locals)
                .map(|(index, local)| {
                    let core = core.clone();
                    let live = move || Worker::live(core, index, local);
                    Thread::start("worker".into(), None, live).unwrap()
                })
                .collect();
            core.abandon(started);
            threads.into_iter().for_each(Thread::join);
            assert!(core.is_closed());
            assert_eq!(Arc::strong_count(&core), 1, "{started} workers have let go of it");
        }
    }
}
