//! Jobs that wait on their workers for something that only a look at timers and files may bring.
//!
//! A pool whose threads are all blocked, or busy for long, has no keeper. So who blocks in
//! [`block_on`](crate::block_on) stands by: while nobody keeps, and nobody can be woken or started for it, one of them *stands
//! in*. It sleeps where a keeper would. Any keeper that comes later drives it off: those queue what they find where it is
//! run at once.
//!
//! Who begins to stand by enters the list, fences, and looks whether anybody keeps. Who ceases to keep, or sets a timer, fences
//! and looks at the list. So one of the two sees the other, as in `idle/README.md`.

use std::sync::Arc;

use brigade_sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use brigade_sync::{Mutex, Parker};
use brigade_task::contain;

use super::Worker;
use crate::registry;

/// What a thread sleeps on that waits inside a job, or is no worker at all.
#[derive(Default)]
pub(crate) struct Seat {
    parker: Parker,
    /// The key of the pool at whose driver it sleeps, or is about to; 0 for none.
    at_driver: AtomicU64,
}

impl Seat {
    /// Puts a token down.
    pub(crate) fn unpark(&self) {
        self.parker.unpark();
        // Ordering: as in `Core::unpark`.
        fence(Ordering::SeqCst);
        let key = self.at_driver.load(Ordering::Relaxed);
        if let Some(core) = (key != 0).then(|| registry::find(key)).flatten() {
            core.keep.driver.notify();
        }
    }

    /// Sleeps until there is a token, on a thread that is no worker.
    pub(crate) fn park(&self) {
        self.parker.park(None);
    }

    /// Takes the token if there is one.
    fn try_take(&self) -> bool {
        self.parker.try_take()
    }
}

/// Those of one pool who stand by.
#[derive(Default)]
pub(super) struct Standby {
    seats: Mutex<Seats>,
    /// How many those are.
    count: AtomicUsize,
}

#[derive(Default)]
struct Seats {
    waiting: Vec<Arc<Seat>>,
    /// The one of them that stands in.
    stands_in: Option<Arc<Seat>>,
}

impl Standby {
    /// Whether anybody stands by, as it was at the caller's fence.
    pub(super) fn is_manned(&self) -> bool {
        // Ordering: Relaxed: by the fences of both sides, see the top of this file.
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Has one of them look whether to stand in, if nobody does.
    pub(super) fn call(&self) {
        let seats = self.seats.lock();
        let first = seats.waiting.first().filter(|_| seats.stands_in.is_none()).cloned();
        drop(seats);
        first.into_iter().for_each(|seat| seat.unpark());
    }

    /// Has the one that stands in look again; `false` if nobody does.
    pub(super) fn ring(&self) -> bool {
        let seat = self.seats.lock().stands_in.clone();
        seat.inspect(|seat| seat.unpark()).is_some()
    }

    fn enter(&self, seat: &Arc<Seat>) {
        let mut seats = self.seats.lock();
        seats.waiting.push(seat.clone());
        self.count.store(seats.waiting.len(), Ordering::Relaxed);
        drop(seats);
        // Ordering: entered, fence, look whether anybody keeps.
        fence(Ordering::SeqCst);
    }

    fn leave(&self, seat: &Arc<Seat>) {
        let mut seats = self.seats.lock();
        seats.waiting.retain(|other| !Arc::ptr_eq(other, seat));
        self.count.store(seats.waiting.len(), Ordering::Relaxed);
    }

    /// Stands in from now on, unless somebody does.
    fn stand_in(&self, seat: &Arc<Seat>) -> bool {
        let mut seats = self.seats.lock();
        let free = seats.stands_in.is_none();
        if free {
            seats.stands_in = Some(seat.clone());
        }
        drop(seats);
        // Ordering: who sets a timer and does not see us publishes it before this fence.
        fence(Ordering::SeqCst);
        free
    }

    fn step_down(&self) {
        self.seats.lock().stands_in = None;
    }
}

/// Stands by until it is dropped.
struct StandsBy<'a>(&'a Worker, &'a Arc<Seat>);

impl Drop for StandsBy<'_> {
    fn drop(&mut self) {
        self.0.core.keep.standby.leave(self.1);
    }
}

/// Stands in until it is dropped.
struct StandsIn<'a>(&'a Standby);

impl Drop for StandsIn<'_> {
    fn drop(&mut self) {
        self.0.step_down();
    }
}

impl Worker {
    /// As a job: sleeps until there is a token. If nobody else can, it looks at timers and files meanwhile.
    pub(crate) fn stand_by(&self, seat: &Arc<Seat>) {
        let keep = &self.core.keep;
        keep.standby.enter(seat);
        let stands_by = StandsBy(self, seat);
        let mut stands_in = None;
        while !seat.try_take() {
            if !keep.is_wanted() || self.core.idle.snapshot().kept() {
                stands_in = None;
            } else if stands_in.is_none() {
                stands_in = keep.standby.stand_in(seat).then(|| StandsIn(&keep.standby));
            }
            if self.sleep_in_job(seat, stands_in.is_some()) {
                break;
            }
            // Not while we are blocked: what is due is queued here, and announced when we block again.
            self.tend();
        }
        drop(stands_in);
        drop(stands_by);
        // We may have been called to stand in, in another's place.
        self.core.see_to_keeper();
    }

    /// Sleeps once; `false` if that was not for a token. A keeper that comes while we stand in drives us off.
    fn sleep_in_job(&self, seat: &Seat, stands_in: bool) -> bool {
        let keep = &self.core.keep;
        // Whoever stands in does so by now: else this would call somebody who does.
        let mut blocked = Some(self.block());
        if !stands_in {
            return seat.parker.park(None);
        }
        let timeout = self.until_next_timer();
        if !keep.driver.is_made() {
            return seat.parker.park(timeout);
        }
        seat.at_driver.store(self.core.key, Ordering::Relaxed);
        // Ordering: see `Seat::unpark`.
        fence(Ordering::SeqCst);
        let has_token = seat.try_take();
        let drove = has_token
            || keep.driver.drive(timeout, &mut |waker| {
                drop(blocked.take());
                contain(|| waker.wake());
            });
        seat.at_driver.store(0, Ordering::Relaxed);
        if !drove {
            // Another worker looks at it just now, and will have done soon.
            brigade_sync::thread::yield_now();
        }
        has_token
    }
}
