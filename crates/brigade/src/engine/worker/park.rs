//! How a worker goes to sleep, and what wakes it.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;

use super::Worker;
use crate::engine::idle::{Idle, Parked, Watch};
use crate::engine::probe::Event;
use crate::values::Idle as Policy;

/// The fraction of the keep-alive, and the minimum, for which a worker sleeps again if it has been idle for long but is needed.
/// It is needed if others are blocked or a job is being submitted.
const STAY: (u32, Duration) = (8, Duration::from_millis(10));

/// A spin before a sleep, or instead: the state that keeps other workers from spinning meanwhile, and its end; `None` if this worker never sleeps.
struct Spin<'a>(Option<(&'a Idle, Option<Instant>)>);

impl Spin<'_> {
    /// Pauses; `false` if the worker sleeps now.
    fn goes_on(&self) -> bool {
        brigade_sync::hint::spin_loop();
        match self.0 {
            Some((_, until)) => until.is_none_or(|until| time::now() < until),
            None => {
                // This may last forever, so other threads must get this CPU.
                brigade_sync::thread::yield_now();
                true
            }
        }
    }
}

impl Drop for Spin<'_> {
    fn drop(&mut self) {
        if let Some((idle, _)) = self.0 {
            idle.end_spin();
        }
    }
}

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
        let events = &core.events;
        let announced = core.idle.announce(self.index, events.are_wanted(), events.take_call());
        // The last look, at every source there is.
        self.fence_forks_or_ask();
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
        self.me.counters.awake.falls_asleep();
        let parked = self.sleep(announced.holds_driver);
        self.me.counters.awake.wakes_up();
        parked
    }

    /// Withdraws the announcement, or takes the token of a thread that has already picked this worker.
    pub(super) fn withdraw(&self) -> Parked {
        if self.core.idle.pick_this(self.index) {
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

    /// Sleeps until this worker has been picked, has seen events, or is no longer a worker.
    fn sleep(&self, mut holds_driver: bool) -> Parked {
        self.tell(Event::Sleeps(holds_driver));
        let mut spin = self.spin();
        let patience = self.core.config.keep_alive;
        let mut leave_at = self.leave_at(patience);
        loop {
            if self.is_time(leave_at) {
                if self.retire() {
                    return Parked::Leave;
                }
                leave_at = self.leave_at((patience / STAY.0).max(STAY.1));
            }
            if !holds_driver && self.takes_driver() {
                holds_driver = true;
                self.tell(Event::HoldsDriver);
            }
            let spins = spin.as_ref().is_some_and(Spin::goes_on);
            if !spins {
                spin = None;
            }
            let timeout = if spins { Some(Duration::ZERO) } else { leave_at.map(time::until) };
            let parked = if holds_driver {
                self.activity.sleep_on_driver();
                self.poll_as_sleeper(timeout)
            } else {
                let parker = &self.me.sleeper.spot.parker;
                let has_token = if spins { parker.try_take() } else { parker.park(timeout) };
                has_token.then(|| self.woken())
            };
            if let Some(parked) = parked {
                return parked;
            }
        }
    }

    /// How this worker spins before it sleeps, or instead, if it does.
    fn spin(&self) -> Option<Spin<'_>> {
        let (idle, policy) = (&self.core.idle, self.core.config.idle);
        let until = match policy {
            Policy::Park => return None,
            Policy::Spin => None,
            Policy::SpinThenPark(time) if !time.is_zero() && idle.may_spin() => {
                Some((idle, time::now().checked_add(time)))
            }
            Policy::SpinThenPark(_) => return None,
        };
        Some(Spin(until))
    }

    /// Becomes the driver holder if there is something to wait for, no other worker holds the driver, and the monitor does not look after it, as it
    /// does while workers run.
    fn takes_driver(&self) -> bool {
        let core = &*self.core;
        let seen = core.idle.snapshot();
        if seen.driver_held() || seen.attended() || !core.events.are_wanted() {
            return false;
        }
        let others_run = seen.running() > 0;
        !(others_run && core.ask_monitor(Watch::Widely)) && core.idle.hold_driver(self.index)
    }

    /// When this worker leaves if it may be idle for `patience` more; `None` if it stays.
    fn leave_at(&self, patience: Duration) -> Option<Instant> {
        if self.me.mailbox.has_locals() || self.is_inside() {
            return None;
        }
        let leaves = self.core.config.core_timeout || self.core.idle.is_beyond_core();
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
        let core_too = core.config.core_timeout;
        let leaves = core.idle.retire(self.index, core_too, core.events.are_wanted());
        if leaves {
            // What another thread left to this worker it decides by the roster without it, but a look is cheap here.
            self.fence_forks();
            if core.queues.has_work() {
                core.help();
            }
            core.call_holder();
        }
        leaves
    }
}
