//! The monitor: a parked worker that looks for jobs that were queued without a wake-up.

use core::time::Duration;

use brigade_sync::thread::PreciseSleep;

use super::Worker;
use super::marks::Look;
use crate::engine::events::STANDBY_PERIOD;
use crate::engine::probe::Event;
use crate::idle::{Duty, Parked};

/// How long the monitor sleeps between two looks, at first and while nothing moves. A job must be seen by two looks to count as
/// stuck, so a lone job waits for 40 to 80 µs, and the few that it takes to wake and steal.
const SHORTEST: Duration = Duration::from_micros(40);

/// The longest sleep: each look that sees the queues move doubles the period up to this, and a lone job waits at most 900 µs.
/// On a virtual machine a look costs the thread that runs on the same CPU up to 25 µs. That is a quarter of a chain's time with
/// the shortest period, and a twentieth with this one.
const LONGEST: Duration = Duration::from_micros(400);

/// The sleep while events come often, workers keep up with them and nothing is queued. What a worker leaves to the monitor waits
/// for this and one more look.
const BETWEEN: Duration = Duration::from_millis(1);

/// The number of looks after which a monitor only stands by for events that come often; a look since whose last one a worker
/// relied on it counts against them. Each look takes the CPU from another thread, which on a busy machine may get it back a time
/// slice later. `idle/DRIVER.md` has figures.
const KEPT_UP: u32 = 4;

/// The number of looks without movement after which the monitor stops. After these 2 ms or so, a lone job costs its submitter
/// one wake-up.
const STILL_LOOKS: u32 = 50;

/// The same for the standby: some 130 ms, so that events which come often again after a pause need no new one.
const STILL_LOOKS_OF_STANDBY: u32 = 16;

/// The state of a worker that monitors.
pub(super) struct Monitor {
    /// The number of consecutive looks without movement.
    still: u32,
    /// Whether the last look saw the queues move.
    moved: bool,
    /// The number of looks at which events had come often, and workers kept up with them without this monitor, less those at
    /// which one had relied on it.
    kept_up: u32,
    /// The longest sleep of the standby, if it is one.
    standby: Option<Duration>,
    period: Duration,
    /// How often workers had polled at the last look.
    polls: u64,
    _precise: PreciseSleep,
}

/// What the worker does after a look.
pub(super) enum Tick {
    /// The worker continues.
    Nothing,
    /// It stops monitoring and continues to sleep.
    Enough,
    /// There is work: it must withdraw.
    Work,
    /// It has been woken, or has withdrawn for an event.
    Woken(Parked),
}

impl Monitor {
    /// Marks the current state of the queues.
    pub(super) fn begin(worker: &Worker) -> Self {
        worker.look();
        Self {
            still: 0,
            moved: false,
            kept_up: 0,
            standby: None,
            period: SHORTEST,
            polls: worker.core.events.polls(),
            _precise: PreciseSleep::begin(),
        }
    }

    /// The time until the next look.
    pub(super) fn period(&self) -> Duration {
        self.period
    }

    /// Looks at the queues once more. If running workers have moved nothing, they may be in long jobs, so this polls timers and
    /// I/O in their place.
    pub(super) fn tick(&mut self, worker: &Worker) -> Tick {
        let look = worker.look();
        match look {
            Look::Stuck => return Tick::Work,
            // After the first one it looks again soon: what has just been queued may be alone.
            Look::Moving if !self.moved => self.period = SHORTEST,
            Look::Moving => self.period = (self.period * 2).min(LONGEST),
            Look::Still => self.period = SHORTEST,
        }
        self.moved = look == Look::Moving;
        self.still = if self.moved { 0 } else { self.still + 1 };
        let core = &*worker.core;
        // Running workers poll between their jobs; those of long ones do not, and this does so in their place.
        let events = &core.events;
        let keep_up = events.polls() != self.polls || core.idle.snapshot().driver_held();
        if events.are_wanted() && !keep_up {
            if let Some(parked) = worker.poll_as_sleeper(Some(Duration::ZERO)) {
                return Tick::Woken(parked);
            }
        }
        self.polls = events.polls();
        let come_often = events.pulse.is_felt();
        self.kept_up = match events.pulse.take_kept() {
            true => self.kept_up.saturating_sub(1),
            false => self.kept_up.saturating_add(u32::from(come_often && keep_up)),
        };
        if self.standby.is_some() || self.kept_up >= KEPT_UP {
            return self.stand_by(worker, keep_up);
        }
        let seen = core.idle.snapshot();
        let others_run = seen.running() > 0;
        // The driver holder sleeps between two events that it handles itself. Without a monitor it would wake a worker for each.
        let is_between = seen.driver_held() && !others_run && come_often;
        // What such events wake has been run by the next look, as a rule. What is queued now may be stuck.
        if come_often && keep_up && !core.queues.has_work() {
            self.period = BETWEEN;
        }
        if self.still < STILL_LOOKS && (others_run || is_between) {
            return Tick::Nothing;
        }
        give_up(worker)
    }

    /// A look of the standby: what is queued without a wake-up is no longer its concern.
    pub(super) fn stand_by(&mut self, worker: &Worker, keep_up: bool) -> Tick {
        let core = &*worker.core;
        let Some(period) = self.standby else {
            self.standby = Some(BETWEEN);
            if !core.idle.take_up_duty(worker.index, Duty::Standby) {
                return give_up(worker);
            }
            worker.tell(Event::SleepsOn(Some(Duty::Standby)));
            // As when it gives up: a submitter that saw a monitor woke no worker.
            worker.fence_forks();
            return if core.queues.has_work() { Tick::Work } else { Tick::Nothing };
        };
        if self.still >= STILL_LOOKS_OF_STANDBY {
            return give_up(worker);
        }
        let longest = if keep_up { (period * 2).min(STANDBY_PERIOD) } else { BETWEEN };
        self.standby = Some(longest);
        self.period = core.events.timers.until().unwrap_or(longest).clamp(BETWEEN, longest);
        Tick::Nothing
    }
}

/// Ends the worker's duty.
pub(super) fn give_up(worker: &Worker) -> Tick {
    worker.core.idle.give_up_duty(worker.index);
    worker.fence_forks();
    if worker.core.queues.has_work() { Tick::Work } else { Tick::Enough }
}
