//! What is kept under the crew's lock: who sleeps, and how many workers there are and may be.

use brigade_sync::thread::ThreadId;

use super::roster::Leave;
use super::word::{BELOW_CORE, BELOW_MAX, BEYOND_CORE, OVER, SHORT};

/// The most places a pool has: for as many workers as it may have, blocked ones and their replacements included.
/// Who has left counts until its last hook has returned.
pub(crate) const PLACES: usize = 8192;

/// How many workers a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// So many are kept.
    pub(crate) core: usize,
    /// So many there are at most, blocked ones not counted.
    pub(crate) max: usize,
    /// So many blocked ones are replaced at most.
    pub(crate) spare: usize,
}

/// The workers of one pool.
pub(super) struct Crew {
    /// The parked ones, the last one parked at the end: as many as the word says.
    pub(super) order: Vec<usize>,
    /// The one of them that watches.
    pub(super) watcher: Option<usize>,
    /// Places that had a worker and have none now.
    pub(super) vacant: Vec<usize>,
    /// Places that ever had one.
    pub(super) places: usize,
    pub(super) size: Size,
    /// Whether work makes the pool grow beyond its core size.
    pub(super) grows: bool,
    /// Workers, as many as the word says.
    pub(super) live: usize,
    /// Workers that are blocked for a while and do not count.
    pub(super) blocked: usize,
    /// How many are to leave because the pool was made smaller.
    pub(super) excess: usize,
    /// How many of the blocked are to leave for the same reason once they count again.
    pub(super) owed: usize,
    /// Places whose thread has not shown up yet, and who starts it.
    pub(super) starting: Vec<(usize, ThreadId)>,
    /// Submitters that rely on there being a worker.
    pub(super) held: usize,
    /// Whether nobody is enlisted any more.
    pub(super) terminated: bool,
    /// Those of the flags below that are in the word.
    pub(super) flags: u64,
}

impl Crew {
    pub(super) fn new(size: Size, grows: bool) -> Self {
        Self {
            order: Vec::with_capacity(size.max),
            watcher: None,
            vacant: Vec::new(),
            places: 0,
            size,
            grows,
            live: 0,
            blocked: 0,
            excess: 0,
            owed: 0,
            starting: Vec::new(),
            held: 0,
            terminated: false,
            flags: 0,
        }
    }

    /// Workers that count.
    pub(super) fn active(&self) -> usize {
        self.live - self.blocked
    }

    fn has_room(&self) -> bool {
        !self.terminated
            && self.live < self.size.max + self.blocked.min(self.size.spare)
            && (!self.vacant.is_empty() || self.places < PLACES)
    }

    /// Whether work starts a worker in any case. One is needed to run anything at all.
    pub(super) fn is_below_core(&self) -> bool {
        self.has_room() && self.live < self.size.core.max(1)
    }

    /// Whether work starts a worker if nobody is idle: in place of a blocked one, or because the pool may grow.
    pub(super) fn is_below_max(&self, may_grow: bool) -> bool {
        let most = if may_grow && self.grows { self.size.max } else { self.size.core.max(1) };
        self.has_room() && self.active() < most
    }

    /// Workers whose thread has shown up: those that can be relied on, since a start may fail.
    pub(super) fn arrived(&self) -> usize {
        self.live - self.starting.len()
    }

    /// Whether one of them is to leave because the pool was made smaller.
    pub(super) fn has_excess(&self) -> bool {
        self.excess > 0 && self.arrived() > 1
    }

    /// Whether one of them may leave that has been idle for long.
    pub(super) fn can_spare(&self, why: Leave) -> bool {
        let needed = match why {
            Leave::Idle => self.blocked + self.size.core,
            Leave::IdleCore => 0,
        };
        self.arrived() > needed.max(usize::from(self.held > 0))
    }

    /// How many workers are more than the pool may have.
    fn surplus(&self) -> usize {
        self.active().saturating_sub(self.size.max)
    }

    /// Gives the pool another size, and says who is too many for it.
    pub(super) fn resize(&mut self, size: Size) {
        let shrinks = size.max < self.size.max;
        self.size = size;
        self.excess = self.surplus();
        self.owed = if shrinks { self.blocked } else { self.owed.min(self.blocked) };
    }

    /// One more is blocked. If one was to leave, it may be this one: then it leaves when it counts again.
    pub(super) fn block(&mut self) {
        self.blocked += 1;
        let surplus = self.surplus();
        self.owed += self.excess.saturating_sub(surplus);
        self.excess = self.excess.min(surplus);
    }

    /// One counts again.
    pub(super) fn unblock(&mut self) {
        self.blocked -= 1;
        if self.owed > 0 {
            self.owed -= 1;
            self.excess = (self.excess + 1).min(self.surplus());
        }
    }

    /// One is none any more.
    pub(super) fn leave(&mut self) {
        self.live -= 1;
        self.excess = self.excess.min(self.surplus());
    }

    /// The flags as they should be.
    pub(super) fn wanted_flags(&self) -> u64 {
        let flag = |is, flag| if is { flag } else { 0 };
        flag(self.is_below_core(), BELOW_CORE)
            | flag(self.is_below_max(true), BELOW_MAX)
            | flag(self.is_below_max(false), SHORT)
            | flag(self.excess > 0, OVER)
            | flag(self.live > self.size.core, BEYOND_CORE)
    }

    /// The thread of this place has shown up, or if `starter` is named will not; `false` if that was known.
    pub(super) fn arrives(&mut self, index: usize, starter: Option<ThreadId>) -> bool {
        // The starter too: a thread may have come and gone, and its place be another's, before the spawner returns.
        let this = |&(place, by)| place == index && starter.is_none_or(|starter| starter == by);
        let found = self.starting.iter().position(this);
        found.map(|found| self.starting.swap_remove(found)).is_some()
    }

    /// A place for one more worker.
    pub(super) fn take_place(&mut self) -> usize {
        self.vacant.pop().unwrap_or_else(|| {
            self.places += 1;
            self.places - 1
        })
    }
}
