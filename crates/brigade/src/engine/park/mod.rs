//! How a worker without work sleeps, and on what. `DRIVER.md` has the rule for timers and I/O.

mod holder;
pub(in crate::engine) mod poll;

use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;

use crate::engine::idle::{Idle, Parked, Watch};
use crate::engine::roster::Parking;
use crate::engine::sleep::sleeper::ParkSpot;
use crate::engine::what::{Since, What};
use crate::engine::worker::Worker;
use crate::values::{Idle as Policy, KEEP_ALIVE};

/// The fraction of the keep-alive, and the minimum, for which a long-idle worker sleeps again if it is needed: peers
/// are blocked, or a job is being submitted.
const STAY: (u32, Duration) = (8, Duration::from_millis(10));

/// A spin before or instead of a sleep: the state that keeps peers from spinning meanwhile, and the end of the spin.
/// `None` if the worker never sleeps.
struct Spin<'a>(Option<(&'a Idle, Option<Instant>)>);

impl Spin<'_> {
    /// Pauses; returns `false` if the spin is over.
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
    /// Sleeps until there is something to do, or until the given time. The caller must be a searcher. It continues as a
    /// searcher if `is_over` returns `true` in the last look. A thread that ends the wait later must pick this worker, which waits [inside a
    /// job](super::run_until).
    pub(in crate::engine) fn park_unless(
        &self,
        until: Option<Instant>,
        is_over: &mut dyn FnMut() -> bool,
    ) -> Parked {
        let shared = &*self.shared;
        self.pace.pause();
        self.me.counters.parks.add(1);
        self.forks.shrink();
        self.note_polling(false);
        let events = &shared.events;
        let announced = shared.idle.announce(Parking {
            index: self.index,
            is_cold: !self.activity.has_found.get(),
            holder_wanted: events.are_wanted(),
            is_called: events.take_call(),
        });
        // The last look, at every source of work.
        self.shared.fence_forks_or_ask();
        if shared.queues.has_work() || !self.me.mailbox.is_empty() || is_over() {
            return self.withdraw();
        }
        if shared.is_held_up() {
            let parked = self.withdraw();
            shared.cancel_waiting();
            return parked;
        }
        if announced.may_terminate {
            shared.try_terminate();
        }
        self.me.counters.falls_asleep();
        let parked = self.sleep(until, announced.holds_driver);
        self.me.counters.wakes_up();
        parked
    }

    /// Withdraws the announcement. If the worker has already been picked, waits for the token.
    pub(in crate::engine) fn withdraw(&self) -> Parked {
        if self.shared.idle.change(|roster| roster.pick_this(self.index)) {
            self.tell(What::Search(Since::Parked));
            return Parked::Search;
        }
        let spot = &self.me.sleeper.spot;
        spot.parker.park(None);
        self.woken()
    }

    /// Handles a wake-up; returns whether the worker searches or leaves.
    #[inline(never)]
    pub(in crate::engine) fn woken(&self) -> Parked {
        self.me.counters.wakes.add(1);
        self.tell(What::Search(Since::Woken(0)));
        self.me.sleeper.runs();
        if self.me.sleeper.displaces_waker() {
            self.pace.interrupt();
        }
        let terminated = self.shared.idle.snapshot().terminated();
        if terminated { Parked::Leave } else { Parked::Search }
    }

    /// Sleeps until this worker is picked, sees events, or leaves; at the latest until the given time.
    fn sleep(&self, until: Option<Instant>, mut holds_driver: bool) -> Parked {
        self.tell(What::Parked { holds_driver, since: Since::Running });
        let mut spin = self.spin();
        let patience = self.shared.config.keep_alive.unwrap_or(KEEP_ALIVE);
        let mut leave_at = until.or_else(|| self.leave_at(patience));
        loop {
            // A surplus worker leaves at once.
            let is_surplus = self.shared.idle.snapshot().has_surplus() && self.depth() == 0;
            if is_surplus || leave_at.is_some_and(|at| at <= time::now()) {
                if until.is_some() {
                    return self.withdraw();
                }
                if self.retire() {
                    return Parked::Leave;
                }
                leave_at = self.leave_at((patience / STAY.0).max(STAY.1));
            }
            if !holds_driver && self.takes_driver() {
                holds_driver = true;
                self.tell(What::Parked { holds_driver, since: Since::Parked });
            }
            if spin.as_ref().is_some_and(|spin| !spin.goes_on()) {
                spin = None;
            }
            let spins = spin.is_some();
            let timeout = if spins { Some(Duration::ZERO) } else { leave_at.map(time::until) };
            if holds_driver {
                self.activity.has_slept_on_driver.set(true);
                if let Some(parked) = self.poll_as_sleeper(timeout) {
                    return parked;
                }
                continue;
            }
            let ParkSpot { parker, .. } = &self.me.sleeper.spot;
            let has_token = if spins { parker.try_take() } else { parker.park(timeout) };
            if has_token {
                return self.woken();
            }
        }
    }

    /// Returns the spin before or instead of a sleep; `None` if the worker sleeps at once.
    fn spin(&self) -> Option<Spin<'_>> {
        let (idle, policy) = (&self.shared.idle, self.shared.config.idle);
        match policy {
            Policy::Spin => Some(Spin(None)),
            Policy::SpinThenPark(time) if !time.is_zero() && idle.may_spin() => {
                Some(Spin(Some((idle, time::now().checked_add(time)))))
            }
            _ => None,
        }
    }

    /// Becomes the driver holder if timers or I/O are wanted, no worker holds the driver, and the monitor does not
    /// attend to it, as it does while workers run.
    fn takes_driver(&self) -> bool {
        let shared = &*self.shared;
        let seen = shared.idle.snapshot();
        if seen.driver_held() || seen.attended() || !shared.events.are_wanted() {
            return false;
        }
        let others_run = seen.running() > 0;
        !(others_run && shared.ask_monitor(Watch::Widely))
            && shared.idle.change(|roster| roster.hold_driver(self.index))
    }

    /// The time at which this worker leaves after idling for `patience`; `None` if it stays.
    fn leave_at(&self, patience: Duration) -> Option<Instant> {
        if self.me.mailbox.has_locals() || self.depth() > 0 {
            return None;
        }
        let may_leave = self.shared.idle.roster().counts.is_beyond_core();
        // A time too far in the future to be represented never comes.
        if may_leave { time::now().checked_add(patience) } else { None }
    }

    /// Leaves for good, unless this worker is needed or has been picked.
    pub(in crate::engine) fn retire(&self) -> bool {
        let shared = &*self.shared;
        if self.me.mailbox.has_locals() {
            return false;
        }
        let wanted = shared.events.are_wanted();
        let leaves = shared.idle.change(|roster| roster.retire(self.index, wanted));
        if leaves {
            // Forks need the fence (`engine/fork/FORKS.md`). A submitter that relied on this worker decides by the roster
            // without it, but a look is cheap here.
            shared.fence_forks(0);
            if shared.queues.has_work() {
                shared.wake_one();
            }
            shared.call_holder();
        }
        leaves
    }
}
