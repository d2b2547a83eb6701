//! How a worker polls timers and I/O events.

use core::time::Duration;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use brigade_observe::What;
use brigade_sync::time;
use brigade_task::{TaskRef, contain};

use super::{Blocked, Worker};
use crate::engine::idle::Parked;
use crate::engine::sleep::backoff::{Backoff, LOOK_AGAIN};
use crate::engine::sleep::events::WATCH_PERIOD;
use crate::engine::sleep::events::blocked::{BlockedThread, Elsewhere};
use crate::engine::sleep::sleeper::ParkSpot;
use crate::engine::timers::Entry;

/// The end of a sleep inside a job.
enum Slept {
    Token,
    /// It has woken tasks, which may be queued here.
    Events,
    Time,
}

impl Worker {
    /// Polls timers and I/O as a running worker, unless a parked worker holds the driver; `true` if anything was ready.
    pub(crate) fn poll_events(&self) -> bool {
        let events = &self.processor.core.work.events;
        if !events.are_wanted() || self.processor.core.work.idle.snapshot().driver_held() {
            return false;
        }
        events.note_poll();
        let mut woken = 0;
        self.processor.activity.polls.set(true);
        let found = self.fire(|| false);
        events.driver.poll(|| false, Some(Duration::ZERO), &mut |waker| {
            woken += 1;
            self.wake(waker, false);
        });
        self.processor.activity.polls.set(false);
        self.processor.tell(What::Events(woken));
        found || woken > 0
    }

    /// Waits for timers and I/O as a parked worker, until there is something to do or the worker is woken; `None` after
    /// `timeout`.
    pub(super) fn poll_as_sleeper(&self, timeout: Option<Duration>) -> Option<Parked> {
        let (events, spot) = (&self.processor.core.work.events, &self.processor.me.sleeper.spot);
        events.note_poll();
        let timeout = timeout.into_iter().chain(events.timers.until()).min();
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
            self.processor.tell(What::Events(woken));
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
    fn await_poller(&self, spot: &ParkSpot, timeout: Option<Duration>) -> bool {
        let (begun, mut backoff) = (time::now(), Backoff::default());
        while self.processor.core.work.events.driver.is_driven() {
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
    fn wake(&self, waker: Waker, searches: bool) {
        match TaskRef::wakes(&waker) {
            true => contain(|| waker.wake()),
            false => self.wake_foreign(waker, searches),
        }
    }

    /// Calls a waker that is code of the program, which may take long or wait for a job: meanwhile the worker runs, as in
    /// a job.
    #[cold]
    fn wake_foreign(&self, waker: Waker, searches: bool) {
        let polls = self.processor.activity.polls.replace(false);
        // For the jobs woken before.
        if searches {
            self.end_search();
        } else {
            self.processor.announce_taken();
        }
        // It lies above the wait that polls: another one polls meanwhile, which may be a wait of the waker.
        let waiting = self.waiting.take();
        let candidates = &self.processor.core.work.events.candidates;
        let taken = waiting.as_ref().and_then(|thread| candidates.take(thread));
        if taken.as_ref().is_some_and(|&(_, polled)| polled) {
            self.processor.core.see_to_driver();
        }
        let was_under = waiting.as_ref().map(|thread| thread.lie_under_jobs(true));
        contain(|| waker.wake());
        waiting.iter().zip(was_under).for_each(|(thread, was)| _ = thread.lie_under_jobs(was));
        self.waiting.set(waiting);
        // The waker may have forked.
        self.processor.end_if_orphan();
        taken.into_iter().for_each(|(entry, _)| candidates.put(entry));
        if searches {
            self.processor.core.work.idle.start_search();
        }
        self.processor.activity.polls.set(polls);
    }

    /// Fires the due timers, and calls `first` before each, which returns whether the worker searches; `true` if there
    /// were any.
    #[inline]
    fn fire(&self, mut first: impl FnMut() -> bool) -> bool {
        let Some(next) = self.processor.core.work.events.timers.next() else { return false };
        let now = self.processor.core.work.events.timers.clock().now();
        next <= now && self.fire_due(now, &mut first)
    }

    /// Fires the timers due at `now`, like [`fire`](Self::fire).
    #[inline(never)]
    fn fire_due(&self, now: Instant, first: &mut dyn FnMut() -> bool) -> bool {
        let timers = &self.processor.core.work.events.timers;
        let mut count = 0;
        while let Some(entry) = timers.take_due(now) {
            count += 1;
            let searches = first();
            match entry {
                Entry::Wake(waker) => self.wake(waker, searches),
                Entry::Run { due, class, .. } => {
                    contain(|| self.processor.queue_due(class, due.due()));
                    // After the job has been queued: a pool that finishes accepted work must not end in between.
                    timers.closure_left();
                }
            }
        }
        self.processor.tell(What::Timers(count));
        count > 0
    }

    /// Sleeps inside a job until there is a token or mail, or until the given time, and counts as blocked. Polls timers
    /// and I/O if no other thread can. Returns whether the sleep ended with a token, not with mail, ready events or the
    /// time. Returns `None` immediately if no worker of the pool would be left to run jobs.
    pub(super) fn sleep_blocked(
        &self,
        thread: &Arc<BlockedThread>,
        until: Option<Instant>,
        is_own: bool,
    ) -> Option<bool> {
        let (events, mailbox) = (&self.processor.core.work.events, &self.processor.me.mailbox);
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
            let held = || self.processor.core.work.idle.snapshot().driver_held();
            let polls = candidate.polls(events.are_wanted() && !held());
            // A poller has begun before this: otherwise `block_to_wait` would call a second candidate to poll.
            let Some(blocked) = self.block_to_wait(is_own) else { break None };
            if is_own && self.processor.core.work.is_held_up() {
                drop(blocked);
                self.processor.core.work.cancel_waiting();
                break Some(false);
            }
            // A wait on a deep stack is not refused for want of a thread. It asks again for one.
            let asks_at = self.processor.core.lacks_thread().then(|| time::now() + WATCH_PERIOD);
            let until = until.into_iter().chain(asks_at).min();
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
                self.processor.announce_taken();
                break Some(false);
            }
            if until.is_some() {
                break Some(false);
            }
        };
        mailbox.stop_waiting();
        drop(candidate);
        // This thread may have been called as the poller.
        self.processor.core.see_to_driver();
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
        let (events, mut blocked) = (&self.processor.core.work.events, Some(blocked));
        let due = polls.then(|| events.timers.until()).flatten();
        let timeout = due.into_iter().chain(until.map(time::until)).min();
        let has_token = match events.driver.get().filter(|_| polls) {
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
                    self.processor.announce_taken();
                    return Slept::Events;
                }
                polled.map_or(true, |polled| !polled && self.await_poller(&thread.spot, timeout))
            }
        };
        if has_token { Slept::Token } else { Slept::Time }
    }
}
