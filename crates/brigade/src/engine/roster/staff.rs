//! How workers start, block and leave, which makes a pool grow and shrink. `GROWING.md` has the rules.

use super::Roster;
use super::counts::Block;
use crate::values::Size;

/// The workers picked for published work. The caller must wake the first and start the second.
#[derive(Default)]
#[must_use]
pub(crate) struct Picked {
    /// A parked worker, which is now a searcher.
    pub(crate) wake: Option<usize>,
    /// The index of a new worker, which counts as running from now on.
    pub(crate) start: Option<usize>,
}

/// The error of a pool without workers that can't start any.
pub(crate) struct NoThread;

impl Roster {
    /// Picks workers for published work, beside this many `searching` workers; [`Idle::pick`](super::super::Idle::pick) has
    /// the rule.
    pub(in crate::engine) fn pick(
        &mut self,
        searching: usize,
        fills: bool,
        has_more_than: &dyn Fn(usize) -> bool,
        may_grow: bool,
    ) -> Picked {
        let mut picked = Picked::default();
        if fills && self.is_below_core() {
            picked.start = Some(self.enlist());
        }
        if searching == 0 {
            picked.wake = self.pick_parked();
        }
        let none_comes = picked.wake.is_none() && picked.start.is_none();
        // A new worker outside the start hook looks for work soon.
        let coming = searching + self.starts.coming();
        // Asked after the searchers were counted: a job taken by a searcher is no longer queued.
        if none_comes
            && self.sleepers.parked.is_empty()
            && self.is_below_max(may_grow)
            && has_more_than(coming)
        {
            picked.start = Some(self.enlist());
        }
        picked
    }

    /// Picks another worker for another job, even beside searchers.
    #[cold]
    pub(crate) fn pick_another(&mut self, may_grow: bool) -> Picked {
        let wake = self.pick_parked();
        let grow = self.is_below_core() || (wake.is_none() && self.is_below_max(may_grow));
        Picked { wake, start: grow.then(|| self.enlist()) }
    }

    /// Picks an index for a new worker if the pool is below the core size.
    pub(crate) fn pick_core(&mut self) -> Option<usize> {
        let below = self.counts.live < self.counts.size.core && self.is_below_core();
        below.then(|| self.enlist())
    }

    /// Picks an index for a new worker if no worker can run anything: all are blocked, or there is none.
    pub(crate) fn pick_if_stuck(&mut self) -> Option<usize> {
        let is_stuck = self.counts.active() == 0 && self.has_room();
        is_stuck.then(|| self.enlist())
    }

    /// Picks the driver holder, which must look again at timers and I/O. The caller must wake it.
    #[must_use]
    pub(crate) fn pick_driver_holder(&mut self) -> Option<usize> {
        let holder = self.sleepers.driver_holder;
        holder.filter(|&index| self.pick_this(index))
    }

    /// Calls `send` with the index of each present worker in order, or of `one` only, and picks each of them if it is
    /// parked. Returns the picked workers, which the caller must wake. A terminated pool has no present worker.
    ///
    /// No addressed worker leaves before it has looked at the mailbox; `MAILBOX.md` has the proof.
    ///
    /// # Errors
    /// The number of workers, if it is above `most`. Then `send` was not called.
    pub(crate) fn address(
        &mut self,
        one: Option<usize>,
        most: usize,
        send: &mut dyn FnMut(usize),
    ) -> Result<Vec<usize>, usize> {
        let mut present = Vec::with_capacity(self.indices.present.len());
        for &index in &self.indices.present {
            if !self.terminated && (one.is_none() || one == Some(index)) {
                present.push(index);
            }
        }
        if present.len() > most {
            return Err(present.len());
        }
        let mut picked = Vec::with_capacity(present.len());
        for index in present {
            send(index);
            if self.pick_this(index) {
                picked.push(index);
            }
        }
        Ok(picked)
    }

    /// A try of [`Idle::hold`](super::super::Idle::hold): `None` if the caller must wait for a worker that is being started.
    pub(in crate::engine) fn hold(&mut self) -> Option<Result<Option<usize>, NoThread>> {
        let has_none = self.arrived() == 0 && !self.terminated;
        let starts = has_none && self.counts.live == 0 && self.has_room();
        if has_none && !starts {
            // A spawner is user code, which may submit too.
            let is_hopeless = self.counts.live == 0 || self.starts.has_starter();
            return is_hopeless.then_some(Err(NoThread));
        }
        self.held += 1;
        Some(Ok(starts.then(|| self.enlist())))
    }

    /// Ends a [`hold`](Self::hold).
    pub(crate) fn release(&mut self) {
        self.held -= 1;
    }

    /// Removes a worker whose thread could not be started.
    pub(in crate::engine) fn fail(&mut self, index: usize) {
        self.starts.remove(index);
        self.indices.give_back(index);
        self.counts.remove();
    }

    /// Lets a running worker leave if the pool was made smaller and the worker is surplus, unless it has mail.
    #[must_use]
    pub(crate) fn leave_if_surplus(
        &mut self,
        index: usize,
        has_mail: impl FnOnce() -> bool,
    ) -> bool {
        let leaves = self.counts.can_shed(self.arrived()) && !has_mail();
        if leaves {
            self.shed(index);
        }
        leaves
    }

    /// Lets a parked worker leave if it is surplus, or has been idle for long enough and is not needed. Workers of
    /// the core size are needed, and so is the last parked worker while the driver is `wanted`.
    ///
    /// Returns `false` if the worker must stay, or has been picked in the meantime.
    #[must_use]
    pub(crate) fn retire(&mut self, index: usize, wanted: bool) -> bool {
        let arrived = self.arrived();
        let is_needed = wanted && self.sleepers.parked.len() == 1;
        let may = self.counts.can_shed(arrived)
            || (!is_needed && self.counts.can_spare(arrived, self.held));
        let leaves = may && self.sleepers.remove(index);
        if leaves {
            self.shed(index);
        }
        leaves
    }

    /// Counts a worker as blocked until [`unblock`](Self::unblock); `workers` is 0 if it is already blocked, else 1.
    ///
    /// Returns `false` if a job would wait while every other worker is blocked and none may be started: it must run
    /// the pool's jobs inside the wait, unless its stack is nearly used up.
    #[must_use]
    pub(crate) fn block(&mut self, workers: usize, block: Block) -> bool {
        self.counts.block(workers, block);
        let must_run = block.is_wait && !block.is_deep && self.counts.active() == 0;
        if must_run && !self.may_start(self.counts.has_room_for(block.may_exceed)) {
            self.counts.unblock(workers, block);
            return false;
        }
        self.waits.own_blocked += usize::from(block.is_own);
        true
    }

    /// Counts a blocked worker as active again, with the arguments of [`block`](Self::block).
    pub(crate) fn unblock(&mut self, workers: usize, block: Block) {
        self.counts.unblock(workers, block);
        self.waits.own_blocked -= usize::from(block.is_own);
    }

    /// Changes the size of the pool.
    pub(in crate::engine) fn resize(&mut self, size: Size) {
        self.is_unmanned &= size.core > 0;
        self.counts.resize(size);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use crate::engine::idle::Idle;
    use crate::engine::roster::Parking;
    use crate::engine::roster::starts::PLACES;
    use crate::values::Config;

    fn idle(core: usize, max: usize) -> Idle {
        Idle::new(&Config { size: Size { core, max, spare: 0 }, ..Config::default() }, 2)
    }

    /// Each time, the only worker leaves without releasing its index, as if its last hook did not return.
    #[test]
    fn a_roster_without_free_indices_has_no_room() {
        let idle = idle(0, 1);
        for place in 0..PLACES {
            assert!(matches!(idle.hold(), Ok(Some(index)) if index == place));
            idle.arrive(place, false);
            idle.roster().starts.remove(place);
            idle.roster().release();
            idle.start_search();
            let _ = idle.announce(Parking { index: place, ..Parking::default() });
            assert!(idle.change(|roster| roster.retire(place, false)));
        }
        assert!(matches!(idle.hold(), Err(NoThread)));
        assert!(idle.pick(true, &|coming| coming < 1, true).start.is_none());
        idle.vacate(7);
        assert!(matches!(idle.hold(), Ok(Some(7))));
    }

    #[test]
    fn a_lazy_pool_may_be_empty_at_first() {
        let lazy = |core| {
            let size = Size { core, max: 2, spare: 0 };
            Idle::new(&Config { size, first: Some(0), ..Config::default() }, 2)
        };
        for (core, is_made_empty, stays) in [(1, false, false), (1, true, true), (0, false, true)] {
            let idle = lazy(core);
            if is_made_empty {
                idle.resize(Size { core: 0, max: 2, spare: 0 });
            }
            assert!(idle.may_be_empty());
            assert!(matches!(idle.hold(), Ok(Some(0))));
            idle.started(0, true);
            assert!(idle.may_be_empty(), "the thread that was started may be lost");
            idle.arrive(0, false);
            assert_eq!(idle.may_be_empty(), stays, "core size {core}");
            idle.roster().release();
        }
    }

    /// Caught: a second thread for a job for which the first had just arrived.
    #[test]
    fn an_arrived_worker_looks_unless_in_a_hook() {
        for (calls_hook, coming) in [(false, 1), (true, 0)] {
            let idle = idle(0, 2);
            assert!(matches!(idle.hold(), Ok(Some(0))));
            idle.arrive(0, calls_hook);
            let picked = idle.pick(false, &|now| now != coming, true);
            assert!(picked.start.is_none(), "another number than {coming}");
            idle.start_search();
            idle.roster().starts.remove(0);
            assert!(idle.pick(false, &|now| now != 1, true).start.is_none());
        }
    }

    /// Caught: the last two workers each relied on the other to wait on the driver.
    #[test]
    fn the_last_parked_worker_stays_for_the_driver() {
        let idle = idle(0, 2);
        for index in 0..2 {
            assert_eq!(idle.change(|roster| roster.pick_another(true)).start, Some(index));
            idle.arrive(index, false);
            idle.roster().starts.remove(index);
        }
        for index in 0..2 {
            idle.start_search();
            let _ = idle.announce(Parking { index, holder_wanted: true, ..Parking::default() });
        }
        assert!(idle.change(|roster| roster.retire(0, true)));
        assert!(!idle.change(|roster| roster.retire(1, true)));
        assert!(idle.change(|roster| roster.retire(1, false)));
    }
}
