//! What is kept under the crew's lock: who sleeps, and how many workers there are and may be.

use brigade_sync::thread::ThreadId;

use super::roster::Leave;
use super::word::{BELOW_CORE, BELOW_MAX, BEYOND_CORE, OVER, QUIET_WANTED, SHORT};

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

/// A worker that has not looked for work yet.
struct Starting {
    index: usize,
    /// The thread that starts its thread, until it is known that there is one.
    starter: Option<ThreadId>,
    /// Whether its thread runs: it may be in the user's start hook.
    has_thread: bool,
}

/// The workers of one pool.
pub(super) struct Crew {
    /// The parked ones, the last one parked at the end: as many as the word says.
    pub(super) order: Vec<usize>,
    /// The one of them that watches.
    pub(super) watcher: Option<usize>,
    /// The one of them that sees to timers and to the driver.
    pub(super) keeper: Option<usize>,
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
    /// Those of them that wait for jobs of this pool.
    pub(super) joining: usize,
    /// How many are to leave because the pool was made smaller.
    pub(super) excess: usize,
    /// How many of the blocked are to leave for the same reason once they count again.
    pub(super) owed: usize,
    /// How many of the blocked have another in their place.
    replaced: usize,
    /// Workers that have not looked for work yet.
    starting: Vec<Starting>,
    /// Submitters that rely on there being a worker.
    pub(super) held: usize,
    /// Those who wait until nothing is queued and nothing runs.
    pub(super) waiting: usize,
    /// How often that was so while somebody waited.
    pub(super) quiets: u64,
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
            keeper: None,
            vacant: Vec::new(),
            places: 0,
            size,
            grows,
            live: 0,
            blocked: 0,
            joining: 0,
            excess: 0,
            owed: 0,
            replaced: 0,
            starting: Vec::new(),
            held: 0,
            waiting: 0,
            quiets: 0,
            terminated: false,
            flags: 0,
        }
    }

    /// Workers that count.
    pub(super) fn active(&self) -> usize {
        self.live - self.blocked
    }

    /// Whether there may be one more. Blocked ones that are to leave when they return have left already in this.
    pub(super) fn has_room(&self) -> bool {
        let replaceable = (self.blocked - self.owed).min(self.size.spare);
        !self.terminated
            && self.live - self.owed < self.size.max + replaceable
            && (!self.vacant.is_empty() || self.places < PLACES)
    }

    /// Whether work starts a worker in any case. One is needed to run anything at all.
    pub(super) fn is_below_core(&self) -> bool {
        self.has_room() && self.live < self.size.core.max(1)
    }

    /// Whether work starts a worker if nobody is idle: in place of a blocked one, or because the pool may grow.
    pub(super) fn is_below_max(&self, may_grow: bool) -> bool {
        let most = if may_grow && self.grows { self.size.max } else { self.size.core.max(1) };
        let unreplaced = self.blocked > self.replaced && self.active() < self.size.max;
        self.has_room() && (self.active() < most || unreplaced)
    }

    /// Workers whose thread is there: those that can be relied on, since a start may fail.
    pub(super) fn arrived(&self) -> usize {
        self.live - self.starting.iter().filter(|one| one.starter.is_some()).count()
    }

    /// Workers whose thread does not run yet, and which look for work once it does.
    pub(super) fn coming(&self) -> usize {
        self.starting.iter().filter(|one| !one.has_thread).count()
    }

    /// Workers that have not looked for work yet.
    pub(super) fn starting(&self) -> usize {
        self.starting.len()
    }

    /// Whether this thread is about to start one of ours: it is in the user's spawner.
    pub(super) fn is_starter(&self, thread: ThreadId) -> bool {
        self.starting.iter().any(|one| one.starter == Some(thread))
    }

    /// Whether one of them is to leave because the pool was made smaller.
    pub(super) fn has_excess(&self) -> bool {
        self.excess > 0 && self.arrived().saturating_sub(self.blocked) > 1
    }

    /// Whether one of them may leave that has been idle for long.
    pub(super) fn can_spare(&self, why: Leave) -> bool {
        let needed = match why {
            Leave::Idle => self.size.core,
            Leave::IdleCore => 0,
        };
        let there = self.arrived().saturating_sub(self.blocked);
        there > needed.max(usize::from(self.held > 0))
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
        self.replaced = self.replaced.min(self.blocked);
        if self.owed > 0 {
            self.owed -= 1;
            self.excess = (self.excess + 1).min(self.surplus());
        }
    }

    /// One is none any more.
    pub(super) fn leave(&mut self) {
        self.live -= 1;
        self.excess = self.excess.min(self.surplus());
        // It may have been in the place of a blocked one.
        self.replaced = self.replaced.saturating_sub(1);
    }

    /// Takes the last one parked off the list; the keeper, who has something to do there, only if it is alone. Nobody once
    /// the pool has ended: those that are parked then leave, and count as parked until the last of them has looked around.
    pub(super) fn pop_parked(&mut self) -> Option<usize> {
        if self.terminated {
            return None;
        }
        let last = *self.order.last()?;
        let count = self.order.len();
        if self.keeper == Some(last) && count > 1 {
            self.order.swap(count - 2, count - 1);
        }
        self.order.pop()
    }

    /// The flags as they should be.
    pub(super) fn wanted_flags(&self) -> u64 {
        let flag = |is, flag| if is { flag } else { 0 };
        flag(self.is_below_core(), BELOW_CORE)
            | flag(self.is_below_max(true), BELOW_MAX)
            | flag(self.is_below_max(false), SHORT)
            | flag(self.excess > 0, OVER)
            | flag(self.live > self.size.core, BEYOND_CORE)
            | flag(self.waiting > 0, QUIET_WANTED)
    }

    /// One more, whose thread the calling one is about to start; returns its place.
    pub(super) fn enlist(&mut self, starter: ThreadId) -> usize {
        self.live += 1;
        self.replaced = self.blocked.min(self.replaced + 1);
        let index = self.take_place();
        self.starting.push(Starting { index, starter: Some(starter), has_thread: false });
        index
    }

    /// The thread of this place is there, as `starter` says, who has started it.
    pub(super) fn has_thread(&mut self, index: usize, starter: ThreadId) {
        // The starter too: the thread may have come and gone, and its place be another's by now.
        let is_it = |one: &&mut Starting| one.index == index && one.starter == Some(starter);
        if let Some(one) = self.starting.iter_mut().find(is_it) {
            one.starter = None;
        }
    }

    /// The thread of this place runs.
    pub(super) fn arrives(&mut self, index: usize) {
        if let Some(one) = self.starting.iter_mut().find(|one| one.index == index) {
            one.starter = None;
            one.has_thread = true;
        }
    }

    /// The worker in this place is about to look for work, or never will.
    pub(super) fn is_up(&mut self, index: usize) {
        self.starting.retain(|one| one.index != index);
    }

    /// A place for one more worker.
    fn take_place(&mut self) -> usize {
        self.vacant.pop().unwrap_or_else(|| {
            self.places += 1;
            self.places - 1
        })
    }
}
