//! How a worker polls timers and I/O events.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::time;
use brigade_task::{Job, contain};

use super::Worker;
use super::park::Parked;
use super::spin::Spin;
use crate::engine::events::blocked::BlockedThread;
use crate::engine::park_spot::ParkSpot;
use crate::priority::Priority;

/// How long a thread yields to another that polls. No worker polls for longer, unless the system has interrupted it.
const POLL: Duration = Duration::from_micros(50);

/// How long the thread then sleeps before each look. A foreign thread that has driven the driver of a pool does not tell its
/// workers.
const FOREIGN_POLL: Duration = Duration::from_millis(1);

impl Worker {
    /// Polls timers and I/O as a running worker, unless a parked worker holds the driver; `true` if anything was ready.
    pub(crate) fn poll_events(&self) -> bool {
        let events = &self.core.events;
        if !events.are_wanted() || self.core.idle.snapshot().driver_held() {
            return false;
        }
        events.note_poll();
        let (mut found, mut woken) = (false, 0);
        self.rests.poll(|| {
            found = self.fire(|| {});
            events.driver.poll(|| false, Some(Duration::ZERO), &mut |waker| {
                woken += 1;
                contain(|| waker.wake());
            });
        });
        self.trace_events(woken);
        found || woken > 0
    }

    /// Sleeps as the driver holder, or spins for as long as it has the right to.
    pub(super) fn sleep_on_driver(
        &self,
        spin: Option<&mut Spin<'_>>,
        timeout: Option<Duration>,
    ) -> Option<Parked> {
        let spins = spin.is_some() || self.always_spins();
        let timeout = if spins { Some(Duration::ZERO) } else { timeout };
        let (parked, slept, woke) = self.rests.sleep(|| self.poll_as_sleeper(timeout));
        if parked.is_some() {
            self.core.events.pulse.beat(slept, woke);
        }
        if let Some(spin) = spin {
            spin.left = spin.left.saturating_sub(slept);
        } else if spins && parked.is_none() {
            brigade_sync::thread::yield_now();
        }
        parked
    }

    /// Waits for timers and I/O as a parked worker, until there is something to do or it is woken, for at most `timeout`;
    /// `None` if that has elapsed.
    pub(super) fn poll_as_sleeper(&self, timeout: Option<Duration>) -> Option<Parked> {
        let (events, spot) = (&self.core.events, &self.me.sleeper.spot);
        events.note_poll();
        let timeout = timeout.into_iter().chain(events.timers.until()).min();
        let (mut left, mut woken) = (None, 0);
        // Withdraws before anything is queued: while all workers are parked, nothing is.
        let leave = |left: &mut Option<Parked>| _ = left.get_or_insert_with(|| self.withdraw());
        if events.driver.is_made() {
            let polled = spot.sleep_on_driver(|| {
                events.driver.poll(|| spot.parker.has_token(), timeout, &mut |waker| {
                    leave(&mut left);
                    woken += 1;
                    contain(|| waker.wake());
                })
            });
            self.trace_events(woken);
            match polled {
                Err(_) => return Some(self.woken()),
                Ok(true) => {}
                Ok(false) => {
                    // A blocked thread polls until we call it.
                    events.candidates.call_poller();
                    if self.await_poller(spot, timeout) {
                        return Some(self.woken());
                    }
                }
            }
        } else if spot.parker.park(timeout) {
            return Some(self.woken());
        }
        if left.is_none() {
            events.timers.leap();
        }
        self.fire(|| leave(&mut left));
        if left.is_none() && spot.parker.try_take() {
            return Some(self.woken());
        }
        left
    }

    /// Waits while another thread polls, for at most `timeout`; `true` if there was a token, which has been taken.
    fn await_poller(&self, spot: &ParkSpot, timeout: Option<Duration>) -> bool {
        let begun = time::now();
        while self.core.events.driver.is_driven() {
            let waited = time::since(begun);
            let left = timeout.map_or(Duration::MAX, |timeout| timeout.saturating_sub(waited));
            if left.is_zero() {
                break;
            }
            if waited < POLL {
                brigade_sync::thread::yield_now();
            } else if spot.parker.park(Some(left.min(FOREIGN_POLL))) {
                return true;
            }
        }
        false
    }

    /// Calls `first` and fires the timers that are due; `true` if there were any.
    #[inline]
    fn fire(&self, mut first: impl FnMut()) -> bool {
        let Some(next) = self.core.events.timers.next() else { return false };
        let now = self.core.events.timers.clock().now();
        next <= now && self.fire_due(now, &mut first)
    }

    /// Fires the timers that are due at `now`, as [`fire`](Self::fire) does.
    #[inline(never)]
    fn fire_due(&self, now: Instant, first: &mut dyn FnMut()) -> bool {
        let timers = &self.core.events.timers;
        let mut count = 0;
        while let Some(entry) = timers.take_due(now) {
            count += 1;
            first();
            let is_closure = entry.is_closure();
            contain(|| entry.fire(&mut |class, job| self.queue_due(class, job)));
            if is_closure {
                // After the job has been queued: a pool that finishes what it has accepted must not end in between.
                timers.closure_left();
            }
        }
        self.trace_timers(count);
        count > 0
    }

    /// Queues the job of a timer that is due.
    fn queue_due(&self, class: Priority, job: Job) {
        // If this worker is about to end, the pool has terminated since it slept.
        let queued = match self.core.idle.snapshot().terminated() {
            true => Err(job),
            false => self.submit_as(Some(class), job),
        };
        queued.unwrap_or_else(|job| self.core.drop_job(job));
    }

    /// Sleeps in a `block_on` inside a job until there is a token, and polls timers and I/O if no other thread can.
    pub(crate) fn wait_in_job(&self, thread: &Arc<BlockedThread>) {
        if !self.core.key.is_here() {
            // In a child that the future has forked, the pool does not exist.
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
            if candidate.polls() {
                events.timers.leap();
            }
            // Not while we are blocked: due jobs are queued here, and announced when we block again.
            self.poll_events();
        }
        drop(candidate);
        // We may have been called to poll in place of another thread.
        self.core.see_to_driver();
    }

    /// Sleeps once; `false` if that did not end with a token. A worker that becomes the driver holder while we poll calls us.
    fn sleep_in_job(&self, thread: &BlockedThread, polls: bool) -> bool {
        let events = &self.core.events;
        // If we poll, this has begun before: otherwise `block` would call another candidate to poll.
        let mut blocked = Some(self.block());
        let timeout = polls.then(|| events.timers.until()).flatten();
        let Some(driver) = events.driver.get().filter(|_| polls) else {
            return thread.spot.parker.park(timeout);
        };
        *thread.driver.lock() = Some(driver);
        let polled = thread.spot.sleep_on_driver(|| {
            events.driver.poll(|| thread.spot.parker.has_token(), timeout, &mut |waker| {
                drop(blocked.take());
                contain(|| waker.wake());
            })
        });
        *thread.driver.lock() = None;
        polled.map_or(true, |polled| !polled && self.await_poller(&thread.spot, timeout))
    }
}
