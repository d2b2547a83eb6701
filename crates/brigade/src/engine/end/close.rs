//! Closing a pool, and waiting until it is idle or has ended. `mod.rs` beside this file decides when it is.

use std::time::{Duration, Instant};

use brigade_sync::time;
use brigade_task::Job;

use super::off_pool::is_off_pool;
use crate::engine::roster::Roster;
use crate::engine::shared::Shared;
use crate::engine::sleep::events::blocked::WaitUntil;
use crate::engine::worker::is_worker_of;
use crate::values::Shutdown;

impl Shared {
    /// Whether the calling thread may wait until the pool is idle. It would wait for itself if it runs or
    /// drops a job of the pool. So it would in the user's spawner, because the worker being started counts as
    /// running until the spawner returns.
    pub(crate) fn may_wait_idle(&self) -> bool {
        !is_worker_of(self.key)
            && !is_off_pool(self.key)
            && !self.idle.roster().starts.has_starter()
    }

    /// Waits until nothing is queued and nothing runs. Returns `false` if `timeout` elapses first. Must not
    /// be called on a thread that [may not](Self::may_wait_idle).
    pub(crate) fn wait_idle(&self, timeout: Option<Duration>, wait: WaitUntil) -> bool {
        // The owner of a pool without threads would wait for jobs that only it runs.
        let is_owner = self.config.is_driven && self.threads.is_own();
        if timeout == Some(Duration::ZERO) || is_owner {
            return self.idle.roster().is_quiet(|| self.is_empty());
        }
        // A deadline too far in the future to be represented is no deadline.
        let deadline = timeout.and_then(|timeout| time::now().checked_add(timeout));
        let Some(since) = self.idle.begin_quiet(&|| self.is_empty()) else { return true };
        let was_quiet = self.wait_while(deadline, wait, &|roster| !roster.was_quiet(since));
        self.idle.change(Roster::end_quiet);
        was_quiet
    }

    /// Acts as the worker of a pool without threads until all jobs have ended, with pending futures and delayed closures.
    pub(crate) fn run_all(&self, wait: WaitUntil) {
        let Self { tasks, events, key, .. } = self;
        let is_over = || self.is_empty() && tasks.is_empty() && !events.timers.has_closures();
        wait(key.if_threadless(), None, &mut |_| is_over());
    }

    /// Accepts nothing from outside from now on; `Discard` accepts nothing at all and drops the queued jobs.
    /// A closed pool can't be closed again in a milder way.
    pub(crate) fn close(&self, how: Shutdown) {
        self.close_as(how, false);
    }

    /// Accepts nothing from outside from now on, and drops no queued job. A pool whose drop finishes all
    /// accepted work still does so. Has no effect on a closed pool.
    pub(crate) fn close_if_open(&self) {
        let finishes = self.config.on_drop.how == Shutdown::Finish;
        self.close_as(if finishes { Shutdown::Finish } else { Shutdown::Drain }, true);
    }

    fn close_as(&self, how: Shutdown, if_open: bool) {
        self.queues.close();
        for ended in self.close_gate(how, if_open) {
            ended.give_up();
        }
        // A job accepted without being queued has been accepted by now, or its submitter sees the closed
        // pool.
        drop(self.ledger.lock());
        // Submitters that wait outside the pool.
        if let Some(permits) = &self.permits {
            permits.wake_all();
        }
        // A pool whose last thread could not be started may still have jobs.
        let may_start = || self.reserve().is_ok() || !self.is_stranded();
        let stranded = self.is_stranded() && !may_start();
        if how == Shutdown::Discard || stranded {
            self.drop_queued();
        }
        // A job may wait for a pending future, and the end of the pool for that job.
        if how == Shutdown::Discard || self.is_held_up() {
            self.cancel_waiting();
        }
        self.try_terminate();
    }

    /// Drops all queued jobs except those of scopes. Workers concurrently drop the jobs they find, and run those of
    /// scopes; if there is no worker, this thread does.
    pub(in crate::engine) fn drop_queued(&self) {
        let Self { queues, idle, ledger, .. } = self;
        let is_empty = || idle.workers() == 0;
        // Parts are taken only if there is no worker to do so: a job that forks all the time would keep this thread here.
        let left = || if is_empty() { queues.take_oldest_part() } else { None };
        let work = self.off_pool();
        let takes = |job: &Job| !job.is_of_scope() || is_empty();
        while let Some(job) = self.take_oldest(&takes).or_else(left) {
            if job.is_of_scope() { self.run_here(job) } else { ledger.drop_job(job) }
        }
        for (_, peer) in queues.peers.iter() {
            for job in peer.mailbox.take_shares() {
                ledger.drop_job(job);
            }
        }
        drop(work);
        self.wake_if_wanted(idle.after_publishing());
    }

    /// Whether the pool is closed, and has jobs but no thread.
    pub(in crate::engine) fn is_stranded(&self) -> bool {
        self.is_closed() && self.idle.workers() == 0 && self.queues.has_work()
    }

    /// Whether the calling thread may wait for the end of the pool: it is neither a thread of the pool,
    /// thread-local destructors included, nor in the user's spawner.
    pub(crate) fn may_wait_for_end(&self) -> bool {
        // A pool that finishes all accepted work waits for the work on this thread's stack.
        let is_waited_for = is_off_pool(self.key) && self.tasks.finishes();
        !is_waited_for && !self.threads.is_own() && !self.idle.roster().starts.has_starter()
    }

    /// Waits for the end of a closed pool, until `deadline` at most: for its threads, thread-local
    /// destructors included, and for jobs that other threads run or drop for it. Must not be called on a
    /// thread that [may not](Self::may_wait_for_end).
    ///
    /// Returns whether the pool has ended.
    pub(crate) fn wait_for_end(&self, deadline: Option<Instant>, wait: WaitUntil) -> bool {
        // A job on this thread's stack can't end before this returns.
        let goes_on = |_: &Roster| !is_off_pool(self.key) && self.has_late_work();
        let drop_hooks = || {
            self.drop_hooks();
            // Another thread may drop them.
            self.wait_while(deadline, wait, &goes_on)
        };
        // First: a thread about to be started is not among the threads yet.
        self.wait_while(deadline, wait, &|roster| !roster.have_all_left())
            && self.threads.join_all(deadline)
            && self.wait_while(deadline, wait, &goes_on)
            && drop_hooks()
            && self.config.observer.as_ref().is_none_or(|observer| observer.end(deadline))
    }

    /// Waits as long as a condition of the roster is `true`, until the deadline at most; `false` if that passes first.
    fn wait_while(
        &self,
        deadline: Option<Instant>,
        wait: WaitUntil,
        goes_on: &dyn Fn(&Roster) -> bool,
    ) -> bool {
        wait(self.key.if_threadless(), deadline, &mut |thread| {
            let waker = thread.map(|thread| thread.clone().into());
            self.idle.watch(waker, |roster| !goes_on(roster))
        })
    }
}
