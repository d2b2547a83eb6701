//! What a pool sees to besides its queues: timers, and files that somebody waits for.
//!
//! Nobody polls. A parked worker sleeps on both at once, the *keeper*; while none does, each worker that runs out of work
//! looks at them before it searches, as every worker does between two jobs now and then. The rule, and why nothing is
//! missed, is in `idle/README.md`.

#[cfg_attr(not(feature = "io"), path = "no_driver.rs")]
mod driver;
mod standby;

use core::task::Waker;
use core::time::Duration;
use std::time::Instant;

use brigade_sync::CachePadded;
use brigade_sync::atomic::{AtomicBool, Ordering, fence};
use brigade_sync::unseen::AtomicU64;
use brigade_task::{Job, contain};

use super::Core;
use super::park::Parked;
use super::peers::Peer;
use super::worker::Worker;
use crate::config::Idle as Policy;
use crate::registry;
use crate::time::entry::Entry;
use crate::time::timers::{Key, Timers};
pub(super) use driver::Driving;
pub(crate) use standby::Seat;
use standby::Standby;

/// What there is to keep.
pub(super) struct Keep {
    pub(super) timers: Timers,
    pub(super) driver: Driving,
    standby: Standby,
    /// How often workers have looked at it that ran.
    rounds: CachePadded<AtomicU64>,
}

/// Whether a worker sleeps, or is about to, on the driver and not on its parker.
pub(super) struct AtDriver(AtomicBool);

impl AtDriver {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }
}

impl Keep {
    pub(super) fn new(driver: Driving) -> Self {
        Self {
            timers: Timers::new(),
            driver,
            standby: Standby::default(),
            rounds: CachePadded::default(),
        }
    }

    /// Whether there is anything to keep.
    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        self.driver.is_made() || !self.timers.is_empty()
    }

    /// How often workers have looked at it that ran.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }
}

impl Core {
    /// Sets a timer, or gives it back: the pool has ended, or has no thread and can't start one, or is not in this process.
    pub(crate) fn set_timer(&self, at: Instant, entry: Entry) -> Result<Key, Entry> {
        if !registry::is_here(self.key) {
            return Err(entry);
        }
        let held = if self.may_be_empty() { Some(self.hold()) } else { None };
        if matches!(held, Some(None)) {
            return Err(entry);
        }
        let (key, is_first) = self.keep.timers.set(at, entry)?;
        if is_first {
            self.keep_anew();
        }
        Ok(key)
    }

    /// Takes a timer back that has not been due. The caller drops it, outside of every lock.
    pub(crate) fn unset_timer(&self, key: Key) -> Option<Entry> {
        self.keep.timers.remove(key)
    }

    /// Has a timer wake by another waker; `false` if it is not there any more.
    pub(crate) fn wake_timer_by(&self, key: Key, waker: &Waker) -> bool {
        self.keep.timers.wake_by(key, waker)
    }

    /// There is something to keep that the keeper does not know of. Called after that is published.
    fn keep_anew(&self) {
        if !self.idle.after_publishing().kept() {
            if !self.keep.standby.is_manned() || !self.keep.standby.ring() {
                self.see_to_keeper();
            }
            return;
        }
        if let Some(index) = self.idle.pick_keeper() {
            self.wake(index);
        }
    }

    /// Sees to it that somebody keeps, if there is anything to keep and a worker that could.
    pub(crate) fn see_to_keeper(&self) {
        if !self.keep.is_wanted() {
            return;
        }
        let seen = self.idle.after_publishing();
        if seen.kept() || seen.watched() {
            return;
        }
        if seen.parked() > 0 || seen.is_short() {
            // As for one job that is queued.
            self.bring(self.idle.pick(1, false));
        } else if self.keep.standby.is_manned() {
            self.keep.standby.call();
        }
    }

    /// Whether somebody blocks here who may stand in for a keeper.
    pub(super) fn has_standby(&self) -> bool {
        self.keep.standby.is_manned()
    }

    /// Puts a token down for a worker, wherever it sleeps.
    pub(super) fn unpark(&self, peer: &Peer) {
        peer.parker.unpark();
        if !Driving::CAN_BE_MADE {
            return;
        }
        // Ordering: token, fence, look at where it sleeps, against its say, fence, look for a token in `keep`.
        fence(Ordering::SeqCst);
        if peer.at_driver.0.load(Ordering::Relaxed) {
            self.keep.driver.notify();
        }
    }

    /// The pool has ended: whoever waits for its timers or files waits no more.
    pub(super) fn end_keep(&self) {
        self.keep.timers.end().into_iter().for_each(Entry::give_up);
        self.keep.driver.close(&mut |waker| contain(|| waker.wake()));
    }
}

impl Worker {
    /// As a worker that runs: looks at timers and files, unless a keeper does; `true` if something is queued for that.
    pub(crate) fn tend(&self) -> bool {
        let keep = &self.core.keep;
        if !keep.is_wanted() || self.core.idle.snapshot().kept() {
            return false;
        }
        // Ordering: Relaxed, and not one step: the watcher compares it with what it was.
        keep.rounds.store(keep.rounds() + 1, Ordering::Relaxed);
        let mut found = self.fire(&mut || {});
        keep.driver.drive(Some(Duration::ZERO), &mut |waker| {
            found = true;
            contain(|| waker.wake());
        });
        found
    }

    /// For how long a keeper may sleep.
    fn until_next_timer(&self) -> Option<Duration> {
        self.core.keep.timers.next().map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// As the keeper: sleeps until we are picked or there is something to do, for `timeout` at most; `None` if that is
    /// over. `spins` is whether we look and do not sleep.
    pub(super) fn keep(&self, timeout: Option<Duration>, spins: bool) -> Option<Parked> {
        let keep = &self.core.keep;
        let next = self.until_next_timer();
        let timeout =
            if spins { Some(Duration::ZERO) } else { timeout.into_iter().chain(next).min() };
        let mut left = None;
        // Before anything is queued: nothing is where all workers are parked.
        let leave = |left: &mut Option<Parked>| _ = left.get_or_insert_with(|| self.withdraw());
        if keep.driver.is_made() {
            let at_driver = &self.me.at_driver.0;
            at_driver.store(true, Ordering::Relaxed);
            // Ordering: see `Core::unpark`.
            fence(Ordering::SeqCst);
            let picked = self.me.parker.try_take();
            let drove = picked
                || keep.driver.drive(timeout, &mut |waker| {
                    leave(&mut left);
                    contain(|| waker.wake());
                });
            at_driver.store(false, Ordering::Relaxed);
            if picked {
                return Some(self.woken());
            }
            if !drove {
                // Another worker looks at it just now, and will have done soon; or stands in for us, until it hears of us.
                self.core.keep.standby.ring();
                brigade_sync::thread::yield_now();
            }
        } else if self.me.parker.park(timeout) {
            return Some(self.woken());
        }
        self.fire(&mut || leave(&mut left));
        if left.is_none() && self.me.parker.try_take() {
            return Some(self.woken());
        }
        if spins && self.core.config.idle == Policy::Spin {
            brigade_sync::thread::yield_now();
        }
        left
    }

    /// Fires the timers that are due, after a call of `first`; `true` if there were any.
    fn fire(&self, first: &mut impl FnMut()) -> bool {
        let timers = &self.core.keep.timers;
        let Some(next) = timers.next() else { return false };
        let now = Instant::now();
        if next > now {
            return false;
        }
        let mut found = false;
        for entry in timers.take_due(now) {
            found = true;
            first();
            contain(|| entry.fire(&mut |job| self.queue_due(job)));
        }
        found
    }

    /// Queues a job whose time has come.
    fn queue_due(&self, job: Job) {
        let seen = self.core.idle.snapshot();
        let queued = if seen.terminated() {
            // It was our last act: the pool has ended since we slept.
            Err(job)
        } else {
            self.submit(job)
        };
        queued.unwrap_or_else(|job| self.core.drop_job(job));
    }
}
