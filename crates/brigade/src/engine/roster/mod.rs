//! The workers of a pool: how many there are (`counts`), which are being started, and which sleep. The roster is data
//! under a single lock. `staff` has the rules by which it changes, `growing` and `threads` start the threads.

pub(in crate::engine) mod counts;
mod growing;
pub(in crate::engine) mod staff;
pub(in crate::engine) mod starts;
pub(in crate::engine) mod threads;

use std::task::Waker;

use brigade_sync::AsymmetricFence;
use counts::Counts;
use starts::{GUESTS, Indices, Starts};

use crate::engine::state::{
    BELOW_CORE, BELOW_MAX, COVERED, DRIVER_HELD, LIVE, NO_HEAVY_FENCE, PARKED, QUIET_AWAITED,
    SEARCHING, SURPLUS, TERMINATED, UNDERSTAFFED,
};
use crate::values::Size;

/// The workers of a pool.
#[derive(Default)]
pub(crate) struct Roster {
    sleepers: Sleepers,
    pub(crate) counts: Counts,
    pub(crate) starts: Starts,
    pub(crate) indices: Indices,
    /// Threads that fork for the pool, and are no workers.
    guests: Indices,
    /// How many guests run nothing at the moment.
    resting: usize,
    pub(crate) waits: Waits,
    pub(in crate::engine) quiet: Quiet,
    /// Threads that wait for a change, the oldest first.
    pub(in crate::engine) watching: Vec<Waker>,
    /// Submitters that need a worker to exist.
    held: usize,
    /// Whether the pool may be empty only until the first worker arrives.
    pub(in crate::engine) is_unmanned: bool,
    /// Whether the pool has terminated: no worker is started or picked any more.
    pub(in crate::engine) terminated: bool,
    /// The bits of the state derived from the roster, as the state has them.
    shown: u64,
    /// The change of the state's number of searchers, not yet shown by the state.
    searching: u64,
}

/// A worker that parks.
#[derive(Default)]
pub(crate) struct Parking {
    pub(crate) index: usize,
    /// Whether it is to be picked after the others: it has run nothing since it started.
    pub(crate) is_cold: bool,
    /// Whether there are timers or I/O to wait for.
    pub(crate) holder_wanted: bool,
    /// Whether it is called to wait for them although other workers run.
    pub(crate) is_called: bool,
}

/// Threads that wait until the pool is idle.
#[derive(Default)]
pub(in crate::engine) struct Quiet {
    pub(in crate::engine) waiting: usize,
    /// How many quiet moments have been noted while threads waited.
    pub(in crate::engine) moments: u64,
}

/// Jobs that wait while their worker is parked or blocked.
#[derive(Default)]
pub(crate) struct Waits {
    /// How many of these jobs have a worker that may be parked. The state does not show them.
    parked: usize,
    /// How many of them wait only for jobs of the same pool.
    own_parked: usize,
    /// How many workers are blocked by a wait only for jobs of the same pool.
    own_blocked: usize,
}

impl Waits {
    /// Keeps the pool from being idle or terminated until [`end_parked`](Self::end_parked), for a job that waits
    /// while its worker parks. `is_own` says whether the job waits only for jobs of this pool.
    pub(crate) fn begin_parked(&mut self, is_own: bool) {
        self.parked += 1;
        self.own_parked += usize::from(is_own);
    }

    /// Ends a [wait](Self::begin_parked).
    pub(crate) fn end_parked(&mut self, is_own: bool) {
        self.parked -= 1;
        self.own_parked -= usize::from(is_own);
    }

    /// Whether a job waits whose worker may be parked.
    pub(crate) fn are_parked(&self) -> bool {
        self.parked > 0
    }
}

impl Roster {
    pub(in crate::engine) fn new(size: Size, grows: bool, is_unmanned: bool) -> Self {
        Self {
            sleepers: Sleepers::with_capacity(size.max),
            counts: Counts::new(size, grows),
            is_unmanned,
            ..Self::default()
        }
    }

    /// Whether a worker may be started.
    pub(in crate::engine) fn has_room(&self) -> bool {
        self.may_start(self.counts.has_room())
    }

    /// Whether a worker may be started, given room by the counts.
    fn may_start(&self, has_room: bool) -> bool {
        has_room && !self.terminated && !self.indices.are_used_up()
    }

    /// Whether all workers are blocked, and no more may be started.
    pub(crate) fn is_stuck(&self) -> bool {
        self.counts.active() == 0 && !self.has_room()
    }

    /// Whether no worker is active, and a start has failed since the last new thread ran.
    pub(crate) fn has_failed_to_start(&self) -> bool {
        self.counts.active() == 0 && self.starts.has_failed
    }

    pub(in crate::engine) fn is_below_core(&self) -> bool {
        self.has_room() && self.counts.is_below_core()
    }

    pub(in crate::engine) fn is_below_max(&self, may_grow: bool) -> bool {
        self.has_room() && self.counts.is_below_max(may_grow)
    }

    /// The number of workers that can be relied on: their thread is known to exist.
    pub(in crate::engine) fn arrived(&self) -> usize {
        self.counts.live - self.starts.doubtful()
    }

    /// Whether the pool has terminated, every worker has left, and every spawner has returned.
    pub(crate) fn have_all_left(&self) -> bool {
        self.terminated && self.indices.in_use() == 0 && self.starts.spawning == 0
    }

    /// Whether the pool is quiet; `is_empty` looks at the queues, and at the work off the pool.
    pub(crate) fn is_quiet(&self, is_empty: impl FnOnce() -> bool) -> bool {
        (self.terminated || self.is_still()) && is_empty()
    }

    /// Whether the pool has been quiet since that number of quiet moments.
    pub(crate) fn was_quiet(&self, since: u64) -> bool {
        self.quiet.moments != since
    }

    /// Ends a wait until the pool is quiet.
    pub(crate) fn end_quiet(&mut self) {
        self.quiet.waiting -= 1;
    }

    /// Whether no worker runs or looks for work. A worker whose thread is being started has no work, and takes the
    /// lock before it looks for any.
    pub(in crate::engine) fn is_still(&self) -> bool {
        self.waits.parked == 0
            && self.sleepers.parked.len() + self.starts.list.len() == self.counts.live
    }

    /// Whether some jobs of the pool wait for other jobs of the pool, and no worker does anything else.
    pub(crate) fn only_waits(&self) -> bool {
        let Waits { parked, own_parked, own_blocked } = self.waits;
        // A guest is work off the pool, which the caller asks.
        own_parked + own_blocked + self.resting > 0
            && own_parked == parked
            && self.sleepers.parked.len() + own_blocked == self.counts.live
    }

    /// Whether no job runs but jobs that wait for other jobs of the pool, if this many workers poll futures.
    pub(crate) fn only_waits_or_polls(&self, polling: usize) -> bool {
        let Waits { parked, own_parked, own_blocked } = self.waits;
        let others = self.sleepers.parked.len() + self.starts.list.len() + own_blocked;
        own_parked == parked && others + polling >= self.counts.live
    }

    /// The indices of all present workers, and of the parked workers.
    #[cfg(feature = "trace")]
    pub(crate) fn present(&self) -> (Vec<usize>, Vec<usize>) {
        (self.indices.present.clone(), self.sleepers.parked.clone())
    }

    /// Counts a new worker as running, whose thread the calling thread is about to start; returns its index.
    #[inline(never)]
    pub(in crate::engine) fn enlist(&mut self) -> usize {
        self.counts.add();
        let index = self.indices.take();
        self.starts.add(index, self.counts.role_of_last());
        index
    }

    /// Counts a guest as running; returns its index, or `None` if there are too many, or the pool has ended.
    pub(in crate::engine) fn admit(&mut self) -> Option<usize> {
        let is_full = self.guests.are_used_up() || self.terminated;
        (!is_full).then(|| GUESTS + self.guests.take_absent())
    }

    /// Removes a guest.
    pub(in crate::engine) fn dismiss(&mut self, index: usize) {
        self.guests.release(index - GUESTS);
    }

    /// Counts a guest as one that runs nothing.
    pub(in crate::engine) fn rest(&mut self) {
        self.resting += 1;
    }

    /// Ends a [rest](Self::rest).
    pub(in crate::engine) fn end_rest(&mut self) {
        self.resting -= 1;
    }

    /// Whether no more workers are parked than guests run.
    fn is_covered(&self) -> bool {
        let run = self.guests() - self.resting;
        run > 0 && run >= self.sleepers.parked.len()
    }

    /// The number of guests.
    pub(in crate::engine) fn guests(&self) -> usize {
        self.guests.in_use()
    }

    /// Adds a searcher to the list of sleepers, while this many workers are `running`. Returns whether it holds the
    /// driver.
    pub(in crate::engine) fn park(&mut self, parking: Parking, running: usize) -> bool {
        let Parking { index, is_cold, holder_wanted, is_called } = parking;
        // A blocked worker runs nothing, and a guest no jobs of other threads.
        let others_run = running > self.counts.blocked + self.guests();
        self.sleepers.add(index, is_cold);
        self.searching = self.searching.wrapping_sub(SEARCHING);
        holder_wanted && (is_called || !others_run) && self.hold_driver(index)
    }

    /// Makes a parked worker the driver holder; `false` if there is a holder, or if the worker has been picked.
    ///
    /// The new holder must then look at timers and I/O.
    #[must_use]
    pub(crate) fn hold_driver(&mut self, index: usize) -> bool {
        let sleepers = &mut self.sleepers;
        let holds = sleepers.driver_holder.is_none() && sleepers.parked.contains(&index);
        if holds {
            sleepers.driver_holder = Some(index);
        }
        holds
    }

    /// Makes the most recently parked worker a searcher, even beside searchers. The caller must wake it.
    ///
    /// Picks none once the pool has terminated: parked workers then leave, and count as parked until the last of them
    /// has looked at the queues.
    #[must_use]
    pub(crate) fn pick_parked(&mut self) -> Option<usize> {
        let index = if self.terminated { None } else { self.sleepers.pop() };
        self.searching = self.searching.wrapping_add(SEARCHING * u64::from(index.is_some()));
        index
    }

    /// Picks this worker if it is parked, even beside searchers. The caller must wake it; if the caller is this
    /// worker, it withdraws its announcement.
    ///
    /// Returns `false` if the worker has been picked already, or the pool has terminated: its token has been or will
    /// be set.
    #[must_use]
    #[inline(never)]
    pub(crate) fn pick_this(&mut self, index: usize) -> bool {
        let picked = !self.terminated && self.sleepers.remove(index);
        self.searching = self.searching.wrapping_add(SEARCHING * u64::from(picked));
        picked
    }

    /// Removes a leaving worker. If the pool was made smaller, the worker counts as surplus.
    pub(in crate::engine) fn shed(&mut self, index: usize) {
        self.indices.leave(index);
        self.counts.shed();
    }

    /// Takes the difference to add to the state, which then shows the changes.
    pub(in crate::engine) fn take_change(&mut self) -> u64 {
        let flag = |is, flag| if is { flag } else { 0 };
        let now = (PARKED * self.sleepers.parked.len() as u64)
            | (LIVE * (self.counts.live + self.guests()) as u64)
            | flag(self.is_covered(), COVERED)
            | flag(self.is_below_core(), BELOW_CORE)
            | flag(self.is_below_max(true), BELOW_MAX)
            | flag(self.is_below_max(false), UNDERSTAFFED)
            | flag(self.counts.has_surplus(), SURPLUS)
            | flag(self.quiet.waiting > 0, QUIET_AWAITED)
            | flag(self.sleepers.driver_holder.is_some(), DRIVER_HELD)
            | flag(self.terminated, TERMINATED)
            | flag(AsymmetricFence::has_failed(), NO_HEAVY_FENCE);
        let before = core::mem::replace(&mut self.shown, now);
        now.wrapping_sub(before).wrapping_add(core::mem::take(&mut self.searching))
    }
}

/// The parked workers.
#[derive(Default)]
pub(in crate::engine) struct Sleepers {
    /// The indices of the parked workers, the last parked at the end; those that have run nothing come first.
    pub(in crate::engine) parked: Vec<usize>,
    /// The sleeper on the driver: it sleeps until the next timer is due or an I/O event comes.
    pub(in crate::engine) driver_holder: Option<usize>,
}

impl Sleepers {
    pub(in crate::engine) fn with_capacity(workers: usize) -> Self {
        Self { parked: Vec::with_capacity(workers), ..Self::default() }
    }

    /// Adds a worker, which is picked first, or last if it `is_cold`.
    pub(in crate::engine) fn add(&mut self, index: usize, is_cold: bool) {
        self.parked.insert(if is_cold { 0 } else { self.parked.len() }, index);
    }

    /// Removes this worker, which no longer holds the driver; `false` if it is not parked.
    #[must_use]
    pub(in crate::engine) fn remove(&mut self, index: usize) -> bool {
        // From the end: a withdrawing worker has usually just parked.
        let Some(place) = self.parked.iter().rposition(|&parked| parked == index) else {
            return false;
        };
        self.parked.remove(place);
        self.release_driver(index);
        true
    }

    /// Removes the most recently parked worker. The driver holder is removed only if it is alone: the other workers
    /// have nothing to do.
    pub(in crate::engine) fn pop(&mut self) -> Option<usize> {
        let last = *self.parked.last()?;
        let count = self.parked.len();
        if self.driver_holder == Some(last) && count > 1 {
            self.parked.swap(count - 2, count - 1);
        }
        let index = self.parked.pop()?;
        self.release_driver(index);
        Some(index)
    }

    fn release_driver(&mut self, index: usize) {
        self.driver_holder.take_if(|holder| *holder == index);
    }
}
