//! How a worker goes to sleep, and what wakes it.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;

use super::Worker;
use super::monitor::{Monitor, Tick};
use crate::engine::probe::Event;
use crate::idle::{Duty, Leave, Parked};

/// The fraction of the keep-alive, and the minimum, for which a worker sleeps again if it has been idle for long but is needed.
/// It is needed if others are blocked or a job is being submitted.
const STAY: (u32, Duration) = (8, Duration::from_millis(10));

impl Worker {
    /// Sleeps until there is something to do. Called as a searcher.
    pub(super) fn park(&self) -> Parked {
        self.park_unless(|| false)
    }

    /// Like [`park`](Self::park), but continues as a searcher if the last look finds that `is_over`. A thread that makes it so must
    /// then pick this worker, as one that waits [inside a job](super::run_until).
    #[inline]
    pub(super) fn park_unless(&self, is_over: impl FnOnce() -> bool) -> Parked {
        let core = &*self.core;
        self.pace.pause();
        self.me.counters.parks.add(1);
        self.forks.shrink();
        self.note_yields(false);
        let announced = core.idle.announce(self.index, core.events.are_wanted());
        // The last look, at every source there is. The monitor will look again.
        if announced.duty != Some(Duty::Monitor) {
            self.fence_forks();
        }
        if core.queues.has_work() || !self.me.mailbox.is_empty() || is_over() {
            return self.withdraw();
        }
        if core.is_held_up() {
            let parked = self.withdraw();
            core.cancel_waiting();
            return parked;
        }
        if announced.settles {
            core.settle();
        }
        self.sleep(announced.duty)
    }

    /// Withdraws the announcement, or takes the token of a thread that has already picked this worker.
    pub(super) fn withdraw(&self) -> Parked {
        if self.core.idle.withdraw(self.index) {
            self.tell(Event::Withdraws);
            return Parked::Search;
        }
        self.me.sleeper.spot.parker.park(None);
        self.woken()
    }

    /// What this worker was woken for.
    #[inline(never)]
    pub(super) fn woken(&self) -> Parked {
        self.me.counters.wakes.add(1);
        self.tell(Event::IsWoken);
        self.me.sleeper.runs();
        if self.me.sleeper.displaces_waker() {
            self.pace.interrupt();
        }
        if self.core.idle.snapshot().terminated() { Parked::Leave } else { Parked::Search }
    }

    /// Sleeps until this worker has been picked, has seen work itself, or is no longer a worker.
    fn sleep(&self, mut duty: Option<Duty>) -> Parked {
        if duty.is_none() && self.monitors_beside_holder() {
            duty = Some(Duty::Monitor);
        }
        self.tell(Event::Sleeps(duty));
        let mut spin = self.try_spin();
        let patience = self.core.config.keep_alive;
        let mut leave_at = self.leave_at(patience);
        let mut monitor = (duty == Some(Duty::Monitor)).then(|| Monitor::begin(self));
        loop {
            if self.is_time(leave_at) {
                if self.retire() {
                    return Parked::Leave;
                }
                leave_at = self.leave_at((patience / STAY.0).max(STAY.1));
            }
            if duty.is_none() && self.takes_driver() {
                duty = Some(Duty::Driver);
                self.tell(Event::SleepsOn(duty));
            }
            let timeouts = [
                monitor.as_ref().map(|monitor| monitor.period()),
                spin.as_ref().map(|spin| spin.left),
                leave_at.map(time::until),
            ];
            let timeout = timeouts.into_iter().flatten().min();
            let woken = match (duty, &mut spin) {
                (Some(Duty::Driver), spin) => self.sleep_on_driver(spin.as_mut(), timeout),
                (_, Some(spin)) => self.spin_for(spin, timeout).then(|| self.woken()),
                (_, None) => self.wait(timeout).then(|| self.woken()),
            };
            if let Some(parked) = woken {
                return parked;
            }
            spin = spin.filter(|spin| !spin.left.is_zero());
            match monitor.as_mut().map(|monitor| monitor.tick(self)) {
                None | Some(Tick::Nothing) => {}
                Some(Tick::Work) => return self.withdraw(),
                Some(Tick::Woken(parked)) => return parked,
                Some(Tick::Enough) => {
                    (duty, monitor) = (None, None);
                    self.tell(Event::SleepsOn(duty));
                }
            }
        }
    }

    /// Becomes the monitor if another worker holds the driver and events come often: otherwise that one wakes a worker at each.
    fn monitors_beside_holder(&self) -> bool {
        let seen = self.core.idle.snapshot();
        seen.driver_held()
            && !seen.monitored()
            && !seen.stood_by()
            && self.core.events.pulse.is_felt()
            && self.core.idle.take_up_duty(self.index, Duty::Monitor)
    }

    /// Becomes the driver holder if there is something to wait for and no other worker holds the driver; returns whether it
    /// has.
    fn takes_driver(&self) -> bool {
        let seen = self.core.idle.snapshot();
        if seen.events_are_seen_to() || !self.core.events.are_wanted() {
            return false;
        }
        self.core.idle.take_up_duty(self.index, Duty::Driver)
    }

    /// When this worker leaves if it may be idle for `patience` more; `None` if it stays.
    fn leave_at(&self, patience: Duration) -> Option<Instant> {
        if self.me.mailbox.has_locals() || self.is_inside() {
            return None;
        }
        let leaves = self.core.config.core_timeout || self.core.idle.snapshot().is_beyond_core();
        // A time too far in the future to be represented is never.
        leaves.then(|| time::now().checked_add(patience)).flatten()
    }

    /// Whether this worker has been idle for long enough, or may be surplus.
    fn is_time(&self, leave_at: Option<Instant>) -> bool {
        (self.core.idle.snapshot().has_surplus() && !self.is_inside())
            || leave_at.is_some_and(|at| at <= time::now())
    }

    /// Leaves for good, unless this worker is needed or has been picked.
    pub(super) fn retire(&self) -> bool {
        if self.me.mailbox.has_locals() {
            return false;
        }
        let core = &*self.core;
        let why = if core.config.core_timeout { Leave::IdleCore } else { Leave::Idle };
        let leaves = core.idle.retire(self.index, why, core.events.are_wanted());
        if leaves {
            // A monitor leaves lone forks behind whose owner relied on it. What another thread left to this worker it decides by the
            // crew without it, but a look is cheap here.
            self.fence_forks();
            if core.queues.has_work() {
                core.help();
            }
            core.see_to_driver();
        }
        leaves
    }
}
