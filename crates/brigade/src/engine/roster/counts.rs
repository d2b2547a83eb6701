//! How many workers a pool has, and how many it may have.

use crate::values::{Role, Size};

/// How many workers there may be beyond all limits if all others are blocked. Java's `ForkJoinPool` has the same
/// limit. Few in a seeded run, so that its small programs reach them.
const MOST_EXTRA: usize = if cfg!(brigade_seeded) { 2 } else { 256 };

/// Why a worker is blocked, and the threads that the pool may have in its place.
#[derive(Clone, Copy, Default)]
pub(crate) struct Block {
    /// Whether a job on it waits, so that its thread can be called to run jobs.
    pub(crate) is_wait: bool,
    /// Whether it waits only for jobs of this pool.
    pub(crate) is_own: bool,
    /// Whether the pool may exceed its limits if all are blocked.
    pub(crate) may_exceed: bool,
    /// Whether its stack is nearly used up: it can't run jobs inside the wait, so another thread must.
    pub(crate) is_deep: bool,
}

/// How many workers there are, and the rules that follow.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) size: Size,
    /// The most workers allowed by any of the limits so far, including blocked workers.
    most: usize,
    /// Whether work makes the pool grow beyond the core size.
    grows: bool,
    /// Workers, blocked or not.
    pub(in crate::engine) live: usize,
    /// Blocked workers, which do not count towards the size.
    pub(in crate::engine) blocked: usize,
    /// How many blocked workers have a replacement.
    replaced: usize,
    /// How many blocks may exceed the limits, are waits of jobs, and are such waits on a deep stack.
    extra: usize,
    waits: usize,
    deep: usize,
    /// How many workers must leave because the pool was made smaller: a blocked worker when it returns.
    excess: usize,
}

impl Counts {
    pub(in crate::engine) fn new(size: Size, grows: bool) -> Self {
        Self { size, most: size.max + size.spare, grows, ..Self::default() }
    }

    /// The number of active workers: live and not blocked.
    pub(in crate::engine) fn active(&self) -> usize {
        self.live - self.blocked
    }

    /// Whether there is no worker.
    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Whether another worker may be started.
    pub(in crate::engine) fn has_room(&self) -> bool {
        // A wait on a stack with room for jobs is called first.
        self.has_room_for(self.extra > 0) || (self.active() == 0 && self.all_are_deep())
    }

    /// Whether waits have used up the stacks of all workers on which a job waits.
    fn all_are_deep(&self) -> bool {
        self.deep > 0 && self.deep == self.waits
    }

    /// Whether the limits allow another worker. Blocked workers that must leave when they return do not count, so the
    /// pool does not wait for them. But there are never more workers than the highest of the limits so far, unless
    /// all are blocked and one of them `may_exceed` it.
    pub(in crate::engine) fn has_room_for(&self, may_exceed: bool) -> bool {
        let is_within = self.live < self.limit() && self.live < self.most;
        is_within || (may_exceed && self.active() == 0 && self.live < self.most + MOST_EXTRA)
    }

    /// How many workers the limits allow.
    fn limit(&self) -> usize {
        let leaving = (self.excess - self.surplus()).min(self.blocked);
        let replaceable = (self.blocked - leaving).min(self.size.spare);
        self.size.max + replaceable + leaving
    }

    /// Whether work starts a worker in any case. A pool needs a worker to run anything.
    pub(in crate::engine) fn is_below_core(&self) -> bool {
        self.live < self.size.core.max(1)
    }

    /// Whether work starts a worker if none is idle: in place of a blocked worker, or because the pool may grow.
    pub(in crate::engine) fn is_below_max(&self, may_grow: bool) -> bool {
        let most = if may_grow && self.grows { self.size.max } else { self.size.core.max(1) };
        let unreplaced = self.blocked > self.replaced && self.active() < self.size.max;
        self.active() < most || unreplaced
    }

    /// Whether there are more workers than the core size.
    pub(crate) fn is_beyond_core(&self) -> bool {
        self.live > self.size.core
    }

    /// Whether a worker must leave because the pool was made smaller.
    pub(in crate::engine) fn has_surplus(&self) -> bool {
        self.surplus() > 0
    }

    /// Whether a surplus worker may leave now, if `arrived` workers can be relied on.
    pub(in crate::engine) fn can_shed(&self, arrived: usize) -> bool {
        self.has_surplus() && arrived.saturating_sub(self.blocked) > 1
    }

    /// Whether a worker that has been idle for long may leave: it is beyond the core size, and not the last that is not
    /// blocked if no other could be started then. The pool relies on `arrived` workers, of which submitters need `held`.
    pub(in crate::engine) fn can_spare(&self, arrived: usize, held: usize) -> bool {
        let is_needed = held > 0 || (self.blocked > 0 && self.live > self.limit());
        arrived.saturating_sub(self.blocked) > self.size.core.max(usize::from(is_needed))
    }

    /// Adds a worker, which may replace a blocked worker.
    pub(in crate::engine) fn add(&mut self) {
        self.live += 1;
        self.replaced = self.blocked.min(self.replaced + 1);
    }

    /// The role of the worker added last, by the number of workers.
    pub(in crate::engine) fn role_of_last(&self) -> Role {
        match self.live {
            live if live > self.size.max => Role::Spare,
            live if live > self.size.core => Role::BeyondCore,
            _ => Role::Core,
        }
    }

    /// Removes a worker, which may have replaced a blocked worker.
    pub(in crate::engine) fn remove(&mut self) {
        self.live -= 1;
        self.replaced = self.replaced.saturating_sub(1);
        self.bound_excess();
    }

    /// Removes a worker, which is surplus if the pool was made smaller.
    pub(in crate::engine) fn shed(&mut self) {
        self.excess -= usize::from(self.has_surplus());
        self.remove();
    }

    /// How many active workers must leave.
    fn surplus(&self) -> usize {
        self.active().saturating_sub(self.size.max).min(self.excess)
    }

    /// No more must leave than are beyond the limit, or may be when they return.
    fn bound_excess(&mut self) {
        let beyond = self.active().saturating_sub(self.size.max);
        self.excess = self.excess.min(beyond + self.blocked);
    }

    /// Changes the limits. In a smaller pool, all workers beyond the limit must leave.
    pub(in crate::engine) fn resize(&mut self, size: Size) {
        if size.max < self.size.max {
            self.excess = self.live;
        }
        self.size = size;
        self.bound_excess();
        self.most = self.most.max(size.max + size.spare);
    }

    /// Counts a block; `workers` is 0 if the worker is already blocked, else 1.
    pub(in crate::engine) fn block(&mut self, workers: usize, block: Block) {
        self.blocked += workers;
        self.extra += usize::from(block.may_exceed);
        self.waits += usize::from(block.is_wait);
        self.deep += usize::from(block.is_deep);
    }

    /// Ends a [block](Self::block).
    pub(in crate::engine) fn unblock(&mut self, workers: usize, block: Block) {
        self.blocked -= workers;
        self.replaced = self.replaced.min(self.blocked);
        self.extra -= usize::from(block.may_exceed);
        self.waits -= usize::from(block.is_wait);
        self.deep -= usize::from(block.is_deep);
        self.bound_excess();
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use brigade_testkit::Seed;

    use super::*;

    fn with_blocked(size: Size, blocked: usize) -> Counts {
        let mut count = Counts::new(size, true);
        for _ in 0..blocked {
            assert!(count.has_room());
            count.add();
            count.block(1, Block::default());
        }
        count
    }

    /// Caught: each reduction of the size counted all blocked workers as leaving.
    #[test]
    fn a_resize_beside_blocked_workers_adds_no_room() {
        let (small, large) =
            (Size { core: 1, max: 1, spare: 2 }, Size { core: 1, max: 2, spare: 2 });
        let mut count = with_blocked(large, 4);
        for _ in 0..10 {
            count.resize(small);
            assert!(!count.has_room());
            count.resize(large);
            assert!(!count.has_room());
        }
    }

    #[test]
    fn a_limit_set_again_retires_no_blocked_worker() {
        let size = Size { core: 1, max: 2, spare: 2 };
        let mut count = with_blocked(size, 3);
        count.resize(size);
        (0..3).for_each(|_| count.unblock(1, Block::default()));
        assert!(!count.has_surplus());
    }

    #[test]
    fn a_pool_is_below_its_core_until_filled() {
        let mut count = Counts::new(Size { core: 1, max: 3, spare: 0 }, true);
        assert!(count.is_below_core());
        count.add();
        assert!(!count.is_below_core());
        let none = Counts::new(Size { core: 0, max: 3, spare: 0 }, true);
        assert!(none.is_below_core(), "one is needed to run anything");
    }

    /// Caught: a worker that returned to a smaller pool, while another was blocked, was no longer expected to leave, and
    /// neither was the other. So the pool stayed too large; or the last active worker left, and none could be started.
    #[test]
    fn a_leaving_worker_leaves_another_or_room() {
        let mut seed = Seed::printed();
        for _ in 0..20_000 {
            let mut size = |core| {
                let max = 1 + seed.below(3) as usize;
                Size { core: if core { max } else { 0 }, max, spare: 0 }
            };
            let sizes = [size(false), size(true), size(false)];
            let spare = seed.below(3) as usize;
            let mut count = Counts::new(Size { spare, ..sizes[0] }, true);
            for _ in 0..30 {
                match seed.below(5) {
                    0 if count.has_room() => count.add(),
                    1 if count.active() > 1 => count.block(1, Block::default()),
                    2 if count.blocked > 0 => count.unblock(1, Block::default()),
                    3 => count.resize(Size { spare, ..sizes[seed.below(3) as usize] }),
                    4 if count.can_shed(count.live) || count.can_spare(count.live, 0) => {
                        count.shed();
                        assert!(count.active() > 0 || count.has_room(), "no thread, and no room");
                    }
                    _ => {}
                }
                // A wait inside a blocking call.
                let wait = Block { may_exceed: true, is_wait: true, ..Block::default() };
                count.block(0, wait);
                count.unblock(0, wait);
            }
            (0..count.blocked).for_each(|_| count.unblock(1, Block::default()));
            while count.can_shed(count.live) {
                count.shed();
            }
            let workers = count.live;
            assert!(workers <= count.size.max + spare, "{workers} workers");
        }
    }

    #[test]
    fn workers_returning_to_a_smaller_pool_leave() {
        let mut count = with_blocked(Size { core: 4, max: 4, spare: 4 }, 4);
        count.resize(Size { core: 1, max: 1, spare: 1 });
        let mut left = 0;
        for _ in 0..4 {
            count.unblock(1, Block::default());
            while count.can_shed(count.live) {
                count.shed();
                left += 1;
            }
        }
        assert_eq!((left, count.active()), (3, 1));
    }
}
