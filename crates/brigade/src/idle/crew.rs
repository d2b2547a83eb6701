//! The data that the crew's lock protects: which workers are parked, and how many there are.

use brigade_sync::AsymmetricFence;
use brigade_sync::thread::ThreadId;

use super::headcount::Headcount;
use super::sleepers::Sleepers;
use super::starts::{Indices, Starts};
use super::state::{
    BELOW_CORE, BELOW_MAX, BEYOND_CORE, DRIVER_HELD, NO_HEAVY_FENCE, QUIET_AWAITED, SURPLUS,
    UNDERSTAFFED,
};
use crate::config::Size;

/// The workers of one pool.
pub(super) struct Crew {
    pub(super) sleepers: Sleepers,
    pub(super) count: Headcount,
    pub(super) starts: Starts,
    pub(super) indices: Indices,
    /// Submitters that need a worker to exist.
    pub(super) held: usize,
    /// Jobs that wait while their worker may be parked.
    pub(super) parked_waits: usize,
    /// How many of these, and of the workers that are blocked, wait for jobs of this pool only.
    pub(super) own_waits: [usize; 2],
    /// Threads that wait until the pool is idle.
    pub(super) waiting: usize,
    /// How often the pool was quiet while a thread waited.
    pub(super) quiets: u64,
    /// Whether the pool counts as one that may have no worker only until it has its first.
    pub(super) is_unmanned: bool,
    /// Whether the pool has terminated: no worker is started or picked any more.
    pub(super) terminated: bool,
    /// The flags that follow from the other fields, as the state has them.
    pub(super) flags: u64,
}

impl Crew {
    pub(super) fn new(size: Size, grows: bool, is_unmanned: bool) -> Self {
        Self {
            sleepers: Sleepers::with_capacity(size.max),
            count: Headcount::new(size, grows),
            starts: Starts::default(),
            indices: Indices::default(),
            held: 0,
            parked_waits: 0,
            own_waits: [0; 2],
            waiting: 0,
            quiets: 0,
            is_unmanned,
            terminated: false,
            flags: 0,
        }
    }

    /// Whether one more worker may be started.
    pub(super) fn has_room(&self) -> bool {
        !self.terminated && self.count.has_room() && !self.indices.is_empty()
    }

    /// Whether the pool's jobs wait for others of its jobs, and no worker does anything else.
    pub(super) fn only_waits(&self) -> bool {
        let [parked, blocked] = self.own_waits;
        parked + blocked > 0
            && parked == self.parked_waits
            && self.sleepers.len() + blocked == self.count.live()
    }

    /// Whether all workers are blocked, and there may be no more.
    pub(super) fn is_stuck(&self) -> bool {
        self.count.active() == 0 && !self.has_room()
    }

    pub(super) fn is_below_core(&self) -> bool {
        self.has_room() && self.count.is_below_core()
    }

    pub(super) fn is_below_max(&self, may_grow: bool) -> bool {
        self.has_room() && self.count.is_below_max(may_grow)
    }

    /// The number of workers that can be relied on, as their thread exists.
    pub(super) fn arrived(&self) -> usize {
        self.count.live() - self.starts.doubtful()
    }

    /// Counts one more worker, whose thread the calling thread is about to start; returns its index.
    pub(super) fn enlist(&mut self, starter: ThreadId) -> usize {
        self.count.add();
        let index = self.indices.take();
        self.starts.add(index, starter, self.count.role_of_last());
        index
    }

    /// Takes the last worker parked off the list. Takes none once the pool has terminated: parked workers then leave, and count
    /// as parked until the last one has looked at the queues.
    pub(super) fn pop_parked(&mut self) -> Option<usize> {
        if self.terminated { None } else { self.sleepers.pop() }
    }

    /// Takes this worker off the list, with the same exception.
    #[must_use]
    pub(super) fn remove_parked(&mut self, index: usize) -> bool {
        !self.terminated && self.sleepers.remove(index)
    }

    /// The flags as they should be.
    pub(super) fn wanted_flags(&self) -> u64 {
        let flag = |is, flag| if is { flag } else { 0 };
        flag(self.is_below_core(), BELOW_CORE)
            | flag(self.is_below_max(true), BELOW_MAX)
            | flag(self.is_below_max(false), UNDERSTAFFED)
            | flag(self.count.has_surplus(), SURPLUS)
            | flag(self.count.is_beyond_core(), BEYOND_CORE)
            | flag(self.waiting > 0, QUIET_AWAITED)
            | flag(self.sleepers.driver_holder().is_some(), DRIVER_HELD)
            | flag(AsymmetricFence::has_failed(), NO_HEAVY_FENCE)
    }
}
