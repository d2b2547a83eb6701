//! How a worker polls timers and I/O events.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use brigade_task::{Job, contain};

use super::Worker;
use super::park::Parked;
use super::spin::Spin;
use crate::engine::events::blocked::BlockedThread;

impl Worker {
    /// As a worker that runs: looks at timers and I/O, unless a sleeper holds the driver; `true` if something was found.
    pub(crate) fn poll_events(&self) -> bool {
        let events = &self.core.events;
        if !events.are_wanted() || self.core.idle.snapshot().driver_held() {
            return false;
        }
        let mut found = self.fire(&mut || {});
        events.driver.poll(Some(Duration::ZERO), &mut |waker| {
            found = true;
            contain(|| waker.wake());
        });
        found
    }

    /// As the driver holder: sleeps, or spins for as long as we have the right to.
    pub(super) fn sleep_on_driver(
        &self,
        spin: Option<&mut Spin<'_>>,
        timeout: Option<Duration>,
    ) -> Option<Parked> {
        let spins = spin.is_some() || self.always_spins();
        let start = Instant::now();
        let parked = self.poll_as_sleeper(if spins { Some(Duration::ZERO) } else { timeout });
        if let Some(spin) = spin {
            spin.left = spin.left.saturating_sub(start.elapsed());
        } else if spins && parked.is_none() {
            brigade_sync::thread::yield_now();
        }
        parked
    }

    /// As a sleeper: waits for timers and I/O until there is something to do or we are woken, for `timeout` at most; `None` if
    /// that is over.
    pub(super) fn poll_as_sleeper(&self, timeout: Option<Duration>) -> Option<Parked> {
        let (events, spot) = (&self.core.events, &self.me.sleeper.spot);
        let timeout = timeout.into_iter().chain(events.until_next_timer()).min();
        let mut left = None;
        // Before anything is queued: nothing is where all workers are parked.
        let leave = |left: &mut Option<Parked>| _ = left.get_or_insert_with(|| self.withdraw());
        if events.driver.is_made() {
            let polled = spot.sleep_on_driver(|| {
                events.driver.poll(timeout, &mut |waker| {
                    leave(&mut left);
                    contain(|| waker.wake());
                })
            });
            match polled {
                Err(_) => return Some(self.woken()),
                Ok(true) => {}
                Ok(false) => {
                    // Another worker polls just now, and will have finished soon; or a blocked thread does until we call it.
                    events.candidates.call_poller();
                    brigade_sync::thread::yield_now();
                }
            }
        } else if spot.parker.park(timeout) {
            return Some(self.woken());
        }
        self.fire(&mut || leave(&mut left));
        if left.is_none() && spot.parker.try_take() {
            return Some(self.woken());
        }
        left
    }

    /// Fires the timers that are due, after a call of `first`; `true` if there were any.
    fn fire(&self, first: &mut impl FnMut()) -> bool {
        let timers = &self.core.events.timers;
        let Some(next) = timers.next() else { return false };
        let now = Instant::now();
        if next > now {
            return false;
        }
        let mut found = false;
        for entry in timers.take_due(now) {
            found = true;
            first();
            let is_closure = entry.is_closure();
            contain(|| entry.fire(&mut |job| self.queue_due(job)));
            if is_closure {
                // Not before it is queued: a pool that finishes what it has accepted must not end in between.
                timers.closure_left();
            }
        }
        found
    }

    /// Queues a job whose time has come.
    fn queue_due(&self, job: Job) {
        // If it was our last act, the pool has ended since we slept.
        let queued = match self.core.idle.snapshot().terminated() {
            true => Err(job),
            false => self.submit(job),
        };
        queued.unwrap_or_else(|job| self.core.drop_job(job));
    }

    /// As a job that waits in `block_on`: sleeps until there is a token. If no other thread can, it polls meanwhile.
    pub(crate) fn wait_in_job(&self, thread: &Arc<BlockedThread>) {
        if !self.core.key.is_here() {
            // In a child that the future has forked: the pool is not there.
            thread.park(None);
            return;
        }
        let events = &self.core.events;
        let mut candidate = events.candidates.enter(thread);
        while !thread.spot.parker.try_take() {
            if !events.are_wanted() || self.core.idle.snapshot().driver_held() {
                candidate.end_polling();
            } else {
                candidate.begin_polling();
            }
            if self.sleep_in_job(thread, candidate.polls()) {
                break;
            }
            // Not while we are blocked: what is due is queued here, and announced when we block again.
            self.poll_events();
        }
        drop(candidate);
        // We may have been called to poll, in another's place.
        self.core.see_to_driver();
    }

    /// Sleeps once; `false` if that did not end with a token. A worker that holds the driver while we poll calls us.
    fn sleep_in_job(&self, thread: &BlockedThread, polls: bool) -> bool {
        let events = &self.core.events;
        // If we poll, we do so by now: else this would call a candidate that does.
        let mut blocked = Some(self.block());
        let timeout = polls.then(|| events.until_next_timer()).flatten();
        let Some(driver) = events.driver.get().filter(|_| polls) else {
            return thread.spot.parker.park(timeout);
        };
        *thread.driver.lock() = Some(driver);
        let polled = thread.spot.sleep_on_driver(|| {
            events.driver.poll(timeout, &mut |waker| {
                drop(blocked.take());
                contain(|| waker.wake());
            })
        });
        *thread.driver.lock() = None;
        if let Ok(false) = polled {
            // Another worker polls just now, and will have finished soon.
            brigade_sync::thread::yield_now();
        }
        polled.is_err()
    }
}
