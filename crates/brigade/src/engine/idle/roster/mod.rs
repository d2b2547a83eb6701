//! The workers of a pool: how many there are (`counts`), which are being started (`starts`), and which sleep
//! (`sleepers`). The roster is data under a single lock, and knows neither threads nor atomics.

mod counts;
mod sleepers;
pub(super) mod starts;

use brigade_sync::AsymmetricFence;
use brigade_sync::thread;

use super::state::{
    BELOW_CORE, BELOW_MAX, DRIVER_HELD, LIVE, NO_HEAVY_FENCE, PARKED, QUIET_AWAITED, SEARCHING,
    SURPLUS, TERMINATED, UNDERSTAFFED,
};
use crate::values::Size;
use counts::Counts;
use sleepers::Sleepers;
use starts::{Indices, Starts};

/// The workers of a pool.
#[derive(Default)]
pub(super) struct Roster {
    pub(super) sleepers: Sleepers,
    pub(super) counts: Counts,
    pub(super) starts: Starts,
    pub(super) indices: Indices,
    pub(super) waits: Waits,
    pub(super) quiet: Quiet,
    /// Submitters that need a worker to exist.
    pub(super) held: usize,
    /// Whether the pool may be empty only until the first worker arrives.
    pub(super) is_unmanned: bool,
    /// Whether the pool has terminated: no worker is started or picked any more.
    pub(super) terminated: bool,
    /// The bits of the state derived from the roster, as the state has them.
    shown: u64,
    /// The change of the state's number of searchers, not yet shown by the state.
    searching: u64,
}

/// Threads that wait until the pool is idle.
#[derive(Default)]
pub(super) struct Quiet {
    pub(super) waiting: usize,
    /// How many quiet moments have been noted while threads waited.
    pub(super) moments: u64,
}

/// Jobs that wait while their worker is parked or blocked.
#[derive(Default)]
pub(super) struct Waits {
    /// How many of these jobs have a worker that may be parked.
    pub(super) parked: usize,
    /// How many of them wait only for jobs of the same pool.
    pub(super) own_parked: usize,
    /// How many workers are blocked by a wait only for jobs of the same pool.
    pub(super) own_blocked: usize,
}

impl Roster {
    pub(super) fn new(size: Size, grows: bool, is_unmanned: bool) -> Self {
        Self {
            sleepers: Sleepers::with_capacity(size.max),
            counts: Counts::new(size, grows),
            is_unmanned,
            ..Self::default()
        }
    }

    /// Whether a worker may be started.
    pub(super) fn has_room(&self) -> bool {
        !self.terminated && self.counts.has_room() && !self.indices.are_used_up()
    }

    /// Whether all workers are blocked, and no more may be started.
    pub(super) fn is_stuck(&self) -> bool {
        self.counts.active() == 0 && !self.has_room()
    }

    pub(super) fn is_below_core(&self) -> bool {
        self.has_room() && self.counts.is_below_core()
    }

    pub(super) fn is_below_max(&self, may_grow: bool) -> bool {
        self.has_room() && self.counts.is_below_max(may_grow)
    }

    /// The number of workers that can be relied on: their thread is known to exist.
    pub(super) fn arrived(&self) -> usize {
        self.counts.live - self.starts.doubtful()
    }

    /// Whether every worker has left, and every spawner has returned.
    pub(super) fn all_left(&self) -> bool {
        self.indices.in_use() == 0 && self.starts.spawning == 0
    }

    /// Whether no worker runs or looks for work. A worker whose thread is being started has no work, and takes the
    /// lock before it looks for any.
    pub(super) fn is_still(&self) -> bool {
        self.waits.parked == 0
            && self.sleepers.parked.len() + self.starts.list.len() == self.counts.live
    }

    /// Whether some jobs of the pool wait for other jobs of the pool, and no worker does anything else.
    pub(super) fn only_waits(&self) -> bool {
        let Waits { parked, own_parked, own_blocked } = self.waits;
        own_parked + own_blocked > 0
            && own_parked == parked
            && self.sleepers.parked.len() + own_blocked == self.counts.live
    }

    /// Counts a new worker as running, whose thread the calling thread is about to start; returns its index.
    #[inline(never)]
    pub(super) fn enlist(&mut self) -> usize {
        self.counts.add();
        let index = self.indices.take();
        self.starts.add(index, thread::current_id(), self.counts.role_of_last());
        index
    }

    /// Adds a searcher to the list of sleepers.
    pub(super) fn park(&mut self, index: usize, is_cold: bool) {
        self.sleepers.add(index, is_cold);
        self.searching = self.searching.wrapping_sub(SEARCHING);
    }

    /// Makes the most recently parked worker a searcher. Picks none once the pool has terminated: parked workers then
    /// leave, and count as parked until the last of them has looked at the queues.
    #[must_use]
    pub(super) fn pick_last(&mut self) -> Option<usize> {
        let index = if self.terminated { None } else { self.sleepers.pop() };
        self.searching = self.searching.wrapping_add(SEARCHING * u64::from(index.is_some()));
        index
    }

    /// Makes this worker a searcher, unless the pool has terminated; `false` if it is not parked.
    #[must_use]
    pub(super) fn pick(&mut self, index: usize) -> bool {
        let picked = !self.terminated && self.sleepers.remove(index);
        self.searching = self.searching.wrapping_add(SEARCHING * u64::from(picked));
        picked
    }

    /// Removes a leaving worker. If the pool was made smaller, the worker counts as surplus.
    pub(super) fn shed(&mut self, index: usize) {
        self.indices.leave(index);
        self.counts.shed();
    }

    /// Takes the difference to add to the state, which then shows the changes.
    pub(super) fn take_change(&mut self) -> u64 {
        let flag = |is, flag| if is { flag } else { 0 };
        let now = (PARKED * self.sleepers.parked.len() as u64)
            | (LIVE * self.counts.live as u64)
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
