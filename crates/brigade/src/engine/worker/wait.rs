//! Workers that wait inside a job for jobs of their own pool.
//!
//! Such a worker is blocked, and [counted](crate::idle::Join) as one that waits for its own pool, so that the last one that
//! would do so gets an error instead. While it waits, it polls the local futures that its job has spawned: no other thread can,
//! and the awaited jobs may wait for them.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use brigade_task::JobId;

use super::Worker;
use crate::engine::core::Core;
use crate::engine::enter::enter_job;
use crate::engine::events::blocked::BlockedThread;
use crate::idle::Join;
use crate::priority::Priority;

/// How long a waiting worker sleeps before it retries a failed thread start.
const RETRY_PERIOD: Duration = Duration::from_millis(100);

/// One wait, as the waker that ends it.
struct Waiting {
    core: Arc<Core>,
    join: Join,
    thread: Arc<BlockedThread>,
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // In a child that the job has forked, the crew's lock may be held forever.
        if self.core.key.is_here() {
            self.core.idle.end_join(&self.join);
        }
        self.thread.unpark();
    }
}

/// A wait of a worker for jobs of its own pool.
pub(crate) struct PoolWait<'a> {
    worker: &'a Worker,
    waiting: Arc<Waiting>,
}

impl Worker {
    /// Begins to wait, on the thread of this worker, for jobs that will wake the wait's [waker](PoolWait::waker).
    pub(crate) fn begin_wait(&self, thread: &Arc<BlockedThread>) -> PoolWait<'_> {
        let (core, thread) = (self.core.clone(), thread.clone());
        PoolWait { worker: self, waiting: Arc::new(Waiting { core, join: Join::new(), thread }) }
    }

    /// Runs a share of this worker inside the job that waits for it, if it has not started.
    pub(crate) fn run_share(&self, share: JobId) {
        if let Some(job) = self.me.mailbox.take_share(share) {
            let _inside = self.inside.begin();
            self.run_as(Priority::Normal, || enter_job(&self.core, || self.run(job)));
            self.end_if_orphan();
        }
    }
}

impl PoolWait<'_> {
    /// The waker that must be woken when what is waited for has ended.
    pub(crate) fn waker(&self) -> Waker {
        self.waiting.clone().into()
    }

    /// Begins again; the caller must check for the end of the jobs after this.
    pub(crate) fn reset(&self) {
        self.waiting.join.reset();
    }

    /// Waits until `is_done`, which is checked when the waker is woken; `false` if no worker would be left to run the jobs.
    pub(crate) fn until(&self, mut is_done: impl FnMut() -> bool) -> bool {
        loop {
            self.reset();
            if is_done() {
                return true;
            }
            if !self.sleep() {
                return false;
            }
        }
    }

    /// Waits until the waker may have been woken; `false` if no worker would be left to run the jobs.
    pub(crate) fn sleep(&self) -> bool {
        let mailbox = &self.worker.me.mailbox;
        // No other thread spawns local futures of this worker.
        if !mailbox.has_locals() {
            return self.sleep_counted();
        }
        let mail = mailbox.take_of(self.worker.turn(), &self.waker());
        let goes_on = match mail {
            Some(job) => {
                let worker = self.worker;
                let _inside = worker.inside.begin();
                worker.run_as(Priority::Normal, || enter_job(&worker.core, || worker.run(job)));
                // The future may have forked: the jobs that are awaited here are the parent's.
                self.worker.end_if_orphan();
                true
            }
            None => self.sleep_counted(),
        };
        mailbox.stop_waiting();
        goes_on
    }

    fn sleep_counted(&self) -> bool {
        let (worker, Waiting { core, join, thread }) = (self.worker, &*self.waiting);
        let _told = core.threads.tell_of_failures(thread);
        let _blocked = worker.block();
        if !core.idle.begin_join(join) {
            return false;
        }
        while !thread.park(core.threads.has_failed().then_some(RETRY_PERIOD)) {
            core.retry_start();
        }
        // The awaited job ends shortly before the thread that ends it calls `end_join`.
        core.idle.end_join(join);
        true
    }
}
