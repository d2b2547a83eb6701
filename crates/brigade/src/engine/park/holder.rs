//! Who waits for timers and I/O events: the driver holder. `DRIVER.md` has the rule.

use std::time::Instant;

use crate::engine::idle::Watch;
use crate::engine::roster::Roster;
use crate::engine::shared::Shared;
use crate::engine::sleep::events::WATCH_PERIOD;
use crate::engine::timers::TimerKey;
use crate::engine::timers::entry::Entry;
use crate::engine::worker::index_in;

impl Shared {
    /// Sets a timer. Returns the entry if the pool no longer accepts it, has no thread and can't start one,
    /// or belongs to another process.
    pub(crate) fn set_timer(&self, at: Instant, entry: Entry) -> Result<TimerKey, Entry> {
        let Some(Ok(_reserved)) = self.key.is_here().then(|| self.reserve()) else {
            return Err(entry);
        };
        let worker = index_in(self.key).unwrap_or(0);
        let set = self.events.timers.set(worker, at, entry);
        // During the attempt the closure counted as pending, so the end of the pool may have waited for it.
        let (key, is_first) = set.inspect_err(|_| self.try_finish())?;
        if is_first {
            self.event_added(Some(at));
        }
        Ok(key)
    }

    /// Makes the driver holder look again, or gets a holder. Called after a timer due at `at`, or a new
    /// driver, has been published.
    pub(in crate::engine) fn event_added(&self, at: Option<Instant>) {
        if self.idle.after_publishing().driver_held() {
            if let Some(index) = self.idle.change(Roster::pick_driver_holder) {
                self.wake(index);
            }
        } else if !self.events.candidates.are_there() || !self.events.candidates.call_poller() {
            // The monitor may look too late for this timer.
            let is_soon = |at| at <= self.events.timers.clock().now() + WATCH_PERIOD;
            if at.is_some_and(is_soon) || !self.idle.snapshot().attended() {
                self.call_holder();
            }
        }
    }

    /// Ensures that timers and I/O events are handled while the caller, which has just polled, runs jobs. If
    /// no worker polls, the monitor wakes a parked worker for them.
    pub(in crate::engine) fn see_to_driver(&self) {
        if !self.events.are_wanted() {
            return;
        }
        let seen = self.idle.after_publishing();
        if seen.driver_held() || seen.attended() {
            return;
        }
        if seen.parked() == 0 || !self.ask_monitor(Watch::Widely) {
            self.call_holder();
        }
    }

    /// Makes a worker hold the driver, if there is anything to wait for. If no worker can be woken or
    /// started, a candidate polls.
    pub(in crate::engine) fn call_holder(&self) {
        if !self.events.are_wanted() {
            return;
        }
        let seen = self.idle.after_publishing();
        if seen.driver_held() {
            return;
        }
        if seen.parked() > 0 || seen.is_understaffed() {
            self.events.note_call();
            // As for a single queued job.
            self.wake_and_start(
                self.idle.pick(true, &|coming| coming == 0, false),
                Self::wake_beside,
            );
            if !self.idle.roster().starts.has_failed {
                return;
            }
        }
        if self.events.candidates.are_there() {
            self.events.candidates.call();
        }
    }

    /// Removes a timer, for the caller to drop; `None` if it has fired.
    pub(crate) fn remove_timer(&self, key: TimerKey) -> Option<Entry> {
        let entry = self.events.timers.remove(key)?;
        if entry.is_closure() && self.events.timers.closure_left() {
            self.try_finish();
        }
        Some(entry)
    }
}
