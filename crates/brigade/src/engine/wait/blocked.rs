//! A worker that is blocked: in a call that blocks, or in a wait inside a job. The pool may have another thread in its place.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use brigade_sync::time;

use crate::engine::park::poll::Slept;
use crate::engine::queues::origins::DEPTH;
use crate::engine::roster::counts::Block;
use crate::engine::shared::Shared;
use crate::engine::sleep::events::WATCH_PERIOD;
use crate::engine::sleep::events::blocked::{BlockedThread, Elsewhere};
use crate::engine::what::{Scope, What};
use crate::engine::worker::{Nesting, Worker, with_worker};

/// How many waits lie on a stack whose end is not known before it counts as deep. Few in a seeded run, whose small programs
/// reach them; but a pool that may start no thread must not need so many.
const LEVELS: usize = if cfg!(brigade_seeded) { 12 } else { DEPTH };

/// A guard: the worker is blocked until this is dropped.
pub(crate) struct Blocked<'a> {
    worker: &'a Worker,
    block: Block,
    _traced: Option<Scope<'a>>,
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        let Worker { shared, nesting: Nesting { blocks, .. }, .. } = self.worker;
        blocks.set(blocks.get() - 1);
        // In a forked child the roster's lock may be held forever.
        if shared.key.is_here() {
            let workers = usize::from(blocks.get() == 0);
            shared.idle.change(|roster| roster.unblock(workers, self.block));
        }
    }
}

impl Shared {
    /// If all workers are blocked and no other may be started, calls a waiting worker to run the pool's jobs.
    pub(in crate::engine) fn call_waiter_if_stuck(&self) {
        if self.idle.roster().is_stuck() {
            self.events.candidates.call_last();
        }
    }
}

impl Worker {
    /// Marks the worker as blocked until the guard is dropped: the pool may have another thread in its place.
    pub(crate) fn block(&self) -> Blocked<'_> {
        let (shared, is_new) = (&self.shared, self.nesting.blocks.get() == 0);
        // A blocking call inside a wait may not let the pool exceed its limits.
        let block = Block { may_exceed: is_new && self.replaces_unwinding(), ..Block::default() };
        let Some(blocked) = self.block_as(block) else { unreachable!("only waits are refused") };
        if is_new {
            shared.retry_for_long();
        }
        blocked
    }

    /// Like [`block`](Self::block), for a wait inside a job; `is_own` if the wait is only for jobs of this pool.
    /// Returns `None` if no other worker of the pool would be left to run jobs: this worker must run them.
    pub(in crate::engine) fn block_to_wait(&self, is_own: bool) -> Option<Blocked<'_>> {
        let config = &self.shared.config;
        let may_exceed = (config.spare.is_none() && !config.is_driven) || self.replaces_unwinding();
        let is_deep = self.is_deep();
        let blocked = self.block_as(Block { is_wait: true, is_own, may_exceed, is_deep })?;
        if is_deep || !self.shared.lacks_thread() { Some(blocked) } else { None }
    }

    /// Like [`block`](Self::block), for a job that runs a pool without threads: only its own mail runs here meanwhile, and another thread
    /// must run its jobs, if its pool has threads.
    pub(in crate::engine) fn block_below(&self) -> Option<Blocked<'_>> {
        let is_deep = !self.shared.config.is_driven;
        self.block_as(Block { is_wait: true, is_deep, ..Block::default() })
    }

    /// Marks the worker as blocked, and gets the pool a thread for queued work. Returns `None` if the roster refuses it.
    fn block_as(&self, block: Block) -> Option<Blocked<'_>> {
        let Worker { shared, .. } = self;
        let is_new = self.nesting.blocks.get() == 0;
        if !shared.idle.change(|roster| roster.block(usize::from(is_new), block)) {
            return None;
        }
        let traced = if is_new { self.begin(What::Blocked, false) } else { None };
        self.nesting.blocks.set(self.nesting.blocks.get() + 1);
        let blocked = Blocked { worker: self, block, _traced: traced };
        shared.replace_blocked();
        shared.call_waiter_if_stuck();
        Some(blocked)
    }

    /// Whether the pool may have a thread in this worker's place beyond its limits, because the worker runs nothing
    /// while its job unwinds.
    fn replaces_unwinding(&self) -> bool {
        let size = self.shared.config.size;
        !runs_in_place() && size.spare > 0
    }

    /// Whether less than a quarter of the stack is left, so that no further job may run inside a wait; where the stack is
    /// not known, whether the worker is inside so many waits. Never in a `LocalPool`, as no other thread runs its jobs; nor by
    /// the number of waits in a pool whose waits run anything, whose spawner may start no further thread.
    pub(in crate::engine) fn is_deep(&self) -> bool {
        let config = &self.shared.config;
        let has_levels = || !config.waits_run_anything() && self.depth() > LEVELS;
        !config.is_driven && self.nesting.stack.has_less_than(4).unwrap_or_else(has_levels)
    }

    /// Whether mail may run inside a wait: an eighth of the stack is left, because no other thread may run it.
    pub(in crate::engine) fn may_run_mail(&self) -> bool {
        self.nesting.stack.has_less_than(8) != Some(true)
    }

    /// Sleeps inside a job until there is a token or mail, or until the given time, and counts as blocked. Polls timers
    /// and I/O if no other thread can. Returns whether the sleep ended with a token, not with mail, ready events or the
    /// time. Returns `None` immediately if no worker of the pool would be left to run jobs.
    pub(in crate::engine) fn sleep_blocked(
        &self,
        thread: &Arc<BlockedThread>,
        until: Option<Instant>,
        is_own: bool,
    ) -> Option<bool> {
        let (events, mailbox) = (&self.shared.events, &self.me.mailbox);
        let candidate = events.candidates.enter(thread, !self.is_deep());
        let is_empty = mailbox.wake_by(Waker::from(thread.clone()));
        let has_mail = !is_empty && self.may_run_mail();
        let slept = loop {
            if has_mail || thread.take_token() {
                break Some(!has_mail);
            }
            if thread.take_call() {
                break None;
            }
            let held = || self.shared.idle.snapshot().driver_held();
            let polls = candidate.polls(events.are_wanted() && !held());
            // A poller has begun before this: otherwise `block_to_wait` would call a second candidate to poll.
            let Some(blocked) = self.block_to_wait(is_own) else { break None };
            if is_own && self.shared.is_held_up() {
                drop(blocked);
                self.shared.cancel_waiting();
                break Some(false);
            }
            // A wait on a deep stack is not refused for want of a thread. It asks again for one.
            let asks_at = self.shared.lacks_thread().then(|| time::now() + WATCH_PERIOD);
            let until = time::earlier(until, asks_at);
            match self.sleep_in_job(thread, polls, blocked, until) {
                Slept::Token => break Some(true),
                Slept::Events => break Some(false),
                Slept::Time => {}
            }
            if polls {
                events.timers.leap();
            }
            // Not while blocked: due jobs are queued here. The wait may be over meanwhile, and the job take long.
            if self.poll_events() {
                self.notify_of_taken();
                break Some(false);
            }
            if until.is_some() {
                break Some(false);
            }
        };
        mailbox.stop_waiting();
        drop(candidate);
        // This thread may have been called as the poller.
        self.shared.see_to_driver();
        slept
    }

    /// Sleeps once. A worker that becomes the driver holder while this thread polls calls it.
    fn sleep_in_job(
        &self,
        thread: &BlockedThread,
        polls: bool,
        blocked: Blocked<'_>,
        until: Option<Instant>,
    ) -> Slept {
        let (events, mut blocked) = (&self.shared.events, Some(blocked));
        let due = if polls { events.timers.until() } else { None };
        let timeout = time::earlier(due, until.map(time::until));
        let driver = if polls { events.driver.get() } else { None };
        let has_token = match driver {
            None => thread.spot.parker.park(timeout),
            Some(driver) => {
                *thread.elsewhere.lock() = Some(Elsewhere::Driver(driver));
                let mut woken = 0;
                let polled = thread.spot.sleep_elsewhere(|| {
                    events.driver.poll(|| thread.spot.parker.has_token(), timeout, &mut |waker| {
                        drop(blocked.take());
                        woken += 1;
                        self.wake(waker, false);
                    })
                });
                *thread.elsewhere.lock() = None;
                if woken > 0 {
                    self.notify_of_taken();
                    return Slept::Events;
                }
                match polled {
                    Ok(polled) => !polled && self.await_poller(&thread.spot, timeout),
                    Err(_) => true,
                }
            }
        };
        if has_token { Slept::Token } else { Slept::Time }
    }
}

/// Whether a wait on this thread may run jobs inside the current job. A job that unwinds may wait in a destructor. Jobs
/// that ran inside this wait would see [`std::thread::panicking`] although they don't panic.
pub(crate) fn runs_in_place() -> bool {
    !std::thread::panicking()
}

/// Calls a closure that may block. On a worker, the pool may have another thread in its place meanwhile.
pub(crate) fn blocking<R>(call: impl FnOnce() -> R) -> R {
    with_worker(|worker| {
        let guest = worker.filter(|worker| worker.is_guest());
        let _rest = guest.map(Worker::rest);
        let _blocked = worker.filter(|worker| !worker.is_guest()).map(Worker::block);
        call()
    })
}
