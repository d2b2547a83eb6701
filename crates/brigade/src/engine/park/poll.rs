//! How a worker polls timers and I/O events.

use core::time::Duration;
use std::task::Waker;
use std::time::Instant;

use brigade_sync::time;
use brigade_task::{TaskRef, contain};

use crate::engine::idle::Parked;
use crate::engine::sleep::backoff::{Backoff, LOOK_AGAIN};
use crate::engine::sleep::sleeper::ParkSpot;
use crate::engine::timers::entry::Entry;
use crate::engine::what::What;
use crate::engine::worker::Worker;

/// The end of a sleep inside a job.
pub(in crate::engine) enum Slept {
    Token,
    /// It has woken tasks, which may be queued here.
    Events,
    Time,
}

impl Worker {
    /// Polls timers and I/O as a running worker, unless a parked worker holds the driver; `true` if anything was ready.
    pub(crate) fn poll_events(&self) -> bool {
        let events = &self.shared.events;
        if !events.are_wanted() || self.shared.idle.snapshot().driver_held() {
            return false;
        }
        events.note_poll();
        let mut woken = 0;
        self.activity.polls.set(true);
        let found = self.fire(|| false);
        events.driver.poll(|| false, Some(Duration::ZERO), &mut |waker| {
            woken += 1;
            self.wake(waker, false);
        });
        self.activity.polls.set(false);
        self.tell(What::Events(woken));
        found || woken > 0
    }

    /// Waits for timers and I/O as a parked worker, until there is something to do or the worker is woken; `None` after
    /// `timeout`.
    pub(in crate::engine) fn poll_as_sleeper(&self, timeout: Option<Duration>) -> Option<Parked> {
        let (events, spot) = (&self.shared.events, &self.me.sleeper.spot);
        events.note_poll();
        let timeout = match (timeout, events.timers.until()) {
            (Some(timeout), Some(until)) => Some(timeout.min(until)),
            (timeout, until) => timeout.or(until),
        };
        let (mut left, mut woken) = (None, 0);
        // Withdraws before anything is queued: a parked worker queues nothing. Returns whether the worker searches.
        let leave = |left: &mut Option<Parked>| {
            matches!(left.get_or_insert_with(|| self.withdraw()), Parked::Search)
        };
        if events.driver.is_made() {
            let polled = spot.sleep_elsewhere(|| {
                events.driver.poll(|| spot.parker.has_token(), timeout, &mut |waker| {
                    woken += 1;
                    self.wake(waker, leave(&mut left));
                })
            });
            self.tell(What::Events(woken));
            match polled {
                Err(_) => return Some(self.woken()),
                Ok(true) => {}
                Ok(false) => {
                    // A blocked thread polls until it is called.
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

    /// Waits while the driver is in use, for at most `timeout`; `true` if there was a token, which is taken.
    pub(in crate::engine) fn await_poller(
        &self,
        spot: &ParkSpot,
        timeout: Option<Duration>,
    ) -> bool {
        let (begun, mut backoff) = (time::now(), Backoff::default());
        while self.shared.events.driver.is_driven() {
            let waited = time::since(begun);
            let left = timeout.map_or(Duration::MAX, |timeout| timeout.saturating_sub(waited));
            if left.is_zero() {
                break;
            }
            // A worker polls for less than the backoff, and a foreign thread does not tell of its end.
            if !backoff.snooze() && spot.parker.park(Some(left.min(LOOK_AGAIN))) {
                return true;
            }
        }
        false
    }

    /// Calls the waker of an event, as a worker that `searches` or runs.
    #[inline]
    pub(in crate::engine) fn wake(&self, waker: Waker, searches: bool) {
        if TaskRef::wakes(&waker) {
            contain(|| waker.wake());
        } else {
            self.wake_foreign(waker, searches);
        }
    }

    /// Calls a waker that is code of the program, which may take long or wait for a job: meanwhile the worker runs, as in
    /// a job.
    #[cold]
    fn wake_foreign(&self, waker: Waker, searches: bool) {
        let polls = self.activity.polls.replace(false);
        // For the jobs woken before.
        if searches {
            self.end_search();
        } else {
            self.notify_of_taken();
        }
        // It lies above the wait that polls: another one polls meanwhile, which may be a wait of the waker.
        let waiting = self.nesting.innermost.take();
        let candidates = &self.shared.events.candidates;
        let (mut taken, mut was_under) = (None, false);
        if let Some(thread) = &waiting {
            taken = candidates.take(thread);
            if let Some((_, true)) = taken {
                self.shared.see_to_driver();
            }
            was_under = thread.lie_under_jobs(true);
        }
        contain(|| waker.wake());
        if let Some(thread) = &waiting {
            _ = thread.lie_under_jobs(was_under);
        }
        self.nesting.innermost.set(waiting);
        // The waker may have forked.
        self.end_if_orphan();
        if let Some((entry, _)) = taken {
            candidates.put(entry);
        }
        if searches {
            self.shared.idle.start_search();
        }
        self.activity.polls.set(polls);
    }

    /// Fires the due timers, and calls `first` before each, which returns whether the worker searches; `true` if there
    /// were any.
    #[inline]
    fn fire(&self, mut first: impl FnMut() -> bool) -> bool {
        let Some(next) = self.shared.events.timers.next() else { return false };
        let now = self.shared.events.timers.clock().now();
        next <= now && self.fire_due(now, &mut first)
    }

    /// Fires the timers due at `now`, like [`fire`](Self::fire).
    #[inline(never)]
    fn fire_due(&self, now: Instant, first: &mut dyn FnMut() -> bool) -> bool {
        let timers = &self.shared.events.timers;
        let mut count = 0;
        while let Some(entry) = timers.take_due(now) {
            count += 1;
            let searches = first();
            match entry {
                Entry::Wake(waker) => self.wake(waker, searches),
                Entry::Run { due, class, .. } => {
                    contain(|| self.queue_due(class, due.due()));
                    // After the job has been queued: a pool that finishes accepted work must not end in between.
                    timers.closure_left();
                }
            }
        }
        self.tell(What::Timers(count));
        count > 0
    }
}
