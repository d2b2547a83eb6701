//! How workers start and leave, which makes a pool grow and shrink.

use brigade_sync::MutexGuard;
use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::thread;

use super::Idle;
use super::crew::Crew;
use super::headcount::Leave;
use super::state::{LIVE, PARKED};
use crate::config::Size;
use crate::role::Role;

/// The workers that were picked for work. The caller must wake the one and start the other.
#[derive(Default)]
#[must_use]
pub(crate) struct Help {
    /// A parked worker, which is now a searcher.
    pub(crate) wake: Option<usize>,
    /// The index of a new worker, which counts as running from now on.
    pub(crate) start: Option<usize>,
}

/// The answer to a submitter that needs a worker to exist.
#[must_use]
pub(crate) enum Hold {
    /// There is a worker, and it stays until [`Idle::release`].
    Held,
    /// The same, once the caller has started this worker; if it can't, it must [`release`](Idle::release).
    Start(usize),
    /// There is no worker, and there can't be: this very thread is starting the only one, or no more may be started.
    None,
}

impl Idle {
    /// Picks workers for published work, of which `queued` jobs wait. The worker that parked last is picked, unless one is
    /// already searching. A new one is picked if the pool is below its core size. It is picked as well if none is idle, more
    /// jobs wait than workers are arriving, and `may_grow` or a worker is blocked.
    #[cold]
    pub(crate) fn pick(&self, queued: usize, may_grow: bool) -> Help {
        let mut crew = self.crew.lock();
        let fills = crew.is_below_core();
        self.pick_or_grow(&mut crew, fills, |coming| queued > coming, may_grow)
    }

    /// Like [`pick`](Self::pick), for work for which a worker of the core size has been started already. `has_more_than` says
    /// whether more jobs than that are queued; a worker that has taken one since the submission is no reason to start another.
    #[cold]
    pub(crate) fn pick_beyond_core(
        &self,
        has_more_than: impl FnOnce(usize) -> bool,
        may_grow: bool,
    ) -> Help {
        self.pick_or_grow(&mut self.crew.lock(), false, has_more_than, may_grow)
    }

    fn pick_or_grow(
        &self,
        crew: &mut MutexGuard<'_, Crew>,
        fills: bool,
        has_more_than: impl FnOnce(usize) -> bool,
        may_grow: bool,
    ) -> Help {
        let mut help = Help::default();
        let searching = self.snapshot().searching();
        if fills {
            help.start = Some(self.enlist(crew));
        }
        if searching == 0 {
            help.wake = self.take_last(crew);
        }
        let none_comes = help.wake.is_none() && help.start.is_none() && crew.sleepers.is_empty();
        // A thread that does not run yet looks for work once it does.
        let coming = searching + crew.starts.coming();
        // Asked after the searchers were counted: what one of them has taken is no longer queued.
        if none_comes && crew.is_below_max(may_grow) && has_more_than(coming) {
            help.start = Some(self.enlist(crew));
        }
        help
    }

    /// Picks one more worker for one more job, even if there are searchers.
    #[cold]
    pub(crate) fn pick_another(&self, may_grow: bool) -> Help {
        let mut crew = self.crew.lock();
        let wake = self.take_last(&mut crew);
        let grow = crew.is_below_core() || (wake.is_none() && crew.is_below_max(may_grow));
        Help { wake, start: grow.then(|| self.enlist(&mut crew)) }
    }

    /// Picks an index for a new worker if the pool is below its core size.
    pub(crate) fn pick_core(&self) -> Option<usize> {
        let mut crew = self.crew.lock();
        let below = crew.count.live() < crew.count.size().core && crew.is_below_core();
        below.then(|| self.enlist(&mut crew))
    }

    /// Picks the worker that parked last, even if there are searchers, and starts none. The caller must wake it.
    #[must_use]
    pub(crate) fn pick_parked(&self) -> Option<usize> {
        self.take_last(&mut self.crew.lock())
    }

    /// Picks this worker if it is parked, even if there are searchers. The caller must wake it, or is it, and withdraws its announcement. `false`
    /// if it has been picked already, or the pool has terminated: then its token has been or will be set.
    #[must_use]
    #[inline(never)]
    pub(crate) fn pick_this(&self, index: usize) -> bool {
        let mut crew = self.crew.lock();
        let picked = crew.remove_parked(index);
        if picked {
            self.leave_parked(&mut crew);
        }
        picked
    }

    /// Picks all parked workers, each once. The caller must wake them.
    #[must_use]
    pub(crate) fn pick_all_parked(&self) -> Vec<usize> {
        let mut crew = self.crew.lock();
        core::iter::from_fn(|| self.take_last(&mut crew)).collect()
    }

    /// Calls `send` with the index of each worker there is, in order, and picks those of them that are parked. The caller must
    /// wake these, which are returned. Once the pool has terminated, there is none.
    ///
    /// No worker leaves between the call for it and its look at what was sent; `MAILBOX.md` has the proof.
    ///
    /// # Errors
    /// If there are more than `most`: how many there are. Then nothing was called.
    pub(crate) fn address_all(
        &self,
        most: usize,
        mut send: impl FnMut(usize),
    ) -> Result<Vec<usize>, usize> {
        let mut crew = self.crew.lock();
        let present = if crew.terminated { Vec::new() } else { crew.indices.present().to_vec() };
        if present.len() > most {
            return Err(present.len());
        }
        let mut picked = Vec::new();
        for index in present {
            send(index);
            if crew.remove_parked(index) {
                self.leave_parked(&mut crew);
                picked.push(index);
            }
        }
        Ok(picked)
    }

    /// Calls `send` if there is a worker with this index, as [`address_all`](Self::address_all) does; returns whether it is to be
    /// woken, or `None` if there is none.
    #[must_use]
    pub(crate) fn address(&self, index: usize, send: impl FnOnce()) -> Option<bool> {
        let mut crew = self.crew.lock();
        if crew.terminated || !crew.indices.present().contains(&index) {
            return None;
        }
        send();
        let picked = crew.remove_parked(index);
        if picked {
            self.leave_parked(&mut crew);
        }
        Some(picked)
    }

    fn take_last(&self, crew: &mut MutexGuard<'_, Crew>) -> Option<usize> {
        let index = crew.pop_parked()?;
        self.leave_parked(crew);
        Some(index)
    }

    /// Counts one more worker, as running.
    #[inline(never)]
    fn enlist(&self, crew: &mut MutexGuard<'_, Crew>) -> usize {
        let index = crew.enlist(thread::current_id());
        self.change(crew, LIVE);
        index
    }

    /// Notes that the thread of a worker runs; returns what it was started as.
    pub(crate) fn arrive(&self, index: usize) -> Role {
        let mut crew = self.crew.lock();
        let role = crew.starts.arrive(index);
        if crew.is_unmanned {
            // As its core size is not 0, the pool always has a worker from now on.
            crew.is_unmanned = false;
            self.may_be_empty.store(false, Ordering::SeqCst);
        }
        drop(crew);
        self.arrivals.notify_all();
        role
    }

    /// Notes that a new worker is about to look for work: from now on, waits until the pool is idle wait for it.
    pub(crate) fn begin(&self, index: usize) {
        self.crew.lock().starts.remove(index);
    }

    /// Notes that the thread exists that the caller had to start for a worker.
    pub(crate) fn started(&self, index: usize) {
        self.crew.lock().starts.confirm(index, thread::current_id());
        self.arrivals.notify_all();
    }

    /// Whether the calling thread is about to start a worker of this pool: it is in the user's spawner or name function.
    pub(crate) fn is_starter(&self) -> bool {
        self.crew.lock().starts.has_starter(thread::current_id())
    }

    /// Ensures that there is a worker until [`release`](Self::release), for pools that may have none. Waits for one that is
    /// being started, and makes the caller start one if there is none.
    pub(crate) fn hold(&self) -> Hold {
        let mut crew = self.crew.lock();
        loop {
            if crew.arrived() > 0 || crew.terminated {
                crew.held += 1;
                return Hold::Held;
            }
            if crew.count.live() == 0 && crew.has_room() {
                crew.held += 1;
                return Hold::Start(self.enlist(&mut crew));
            }
            // A spawner is user code, which may submit too.
            if crew.count.live() == 0 || crew.starts.has_starter(thread::current_id()) {
                return Hold::None;
            }
            crew = self.arrivals.wait(crew, None);
        }
    }

    /// Ends a [`hold`](Self::hold).
    pub(crate) fn release(&self) {
        self.crew.lock().held -= 1;
    }

    /// Removes a worker whose thread could not be started, and calls `take` for what was sent to it: once it is removed, nothing
    /// more is, and another worker may get its index.
    ///
    /// The caller must look at every source once more: others may have relied on it to look before it sleeps.
    pub(crate) fn fail<R>(&self, index: usize, take: impl FnOnce() -> R) -> R {
        let mut crew = self.crew.lock();
        let taken = take();
        crew.starts.remove(index);
        crew.indices.give_back(index);
        crew.count.remove();
        self.change(&mut crew, LIVE.wrapping_neg());
        drop(crew);
        self.arrivals.notify_all();
        // Ordering: as in `announce`.
        fence(Ordering::SeqCst);
        taken
    }

    /// Picks an index for a new worker if no worker can run anything, as all are blocked or there is none.
    pub(crate) fn pick_if_stuck(&self) -> Option<usize> {
        let mut crew = self.crew.lock();
        let is_stuck = crew.count.active() == 0 && crew.has_room();
        is_stuck.then(|| self.enlist(&mut crew))
    }

    /// Frees the index of a worker that has left.
    pub(crate) fn vacate(&self, index: usize) {
        let mut crew = self.crew.lock();
        crew.indices.give_back(index);
        self.change(&mut crew, 0);
    }

    /// Lets a running worker leave if the pool was made smaller and it is surplus, unless `has_mail` says that something was sent
    /// to it; the caller must look as after [`fail`](Self::fail).
    #[must_use]
    pub(crate) fn leave_if_surplus(&self, index: usize, has_mail: impl FnOnce() -> bool) -> bool {
        let mut crew = self.crew.lock();
        let leaves = crew.count.can_shed(crew.arrived()) && !has_mail();
        if leaves {
            crew.indices.leave(index);
            crew.count.shed();
            self.change(&mut crew, LIVE.wrapping_neg());
        }
        drop(crew);
        // Ordering: as in `announce`.
        fence(Ordering::SeqCst);
        leaves
    }

    /// Lets a parked worker leave if it is surplus, or has been idle for long enough and is not needed. Returns `false` if it
    /// must stay, or has been picked in the meantime. While the driver is `wanted`, the last parked worker is needed.
    ///
    /// It must look at every source once more, as after [`fail`](Self::fail).
    #[must_use]
    pub(crate) fn retire(&self, index: usize, why: Leave, wanted: bool) -> bool {
        let mut crew = self.crew.lock();
        let arrived = crew.arrived();
        let is_needed = wanted && crew.sleepers.len() == 1;
        let may = crew.count.can_shed(arrived)
            || (!is_needed && crew.count.can_spare(why, arrived, crew.held));
        if !may || !crew.sleepers.remove(index) {
            return false;
        }
        crew.indices.leave(index);
        crew.count.shed();
        self.change(&mut crew, PARKED.wrapping_neg().wrapping_sub(LIVE));
        drop(crew);
        // Ordering: as in `announce`.
        fence(Ordering::SeqCst);
        true
    }

    /// Counts a running worker as blocked until [`unblock`](Self::unblock), to which the result must be passed. `unwinds` says whether
    /// its job does: such a worker runs nothing while it waits, so where there are spare threads, it may have one more.
    pub(crate) fn block(&self, unwinds: bool) -> bool {
        let mut crew = self.crew.lock();
        let extra = unwinds && crew.count.size().spare > 0;
        crew.count.block(extra);
        self.change(&mut crew, 0);
        drop(crew);
        // Ordering: as in `announce`: blocked, fence, look, against publish, fence, look in `after_publishing`.
        fence(Ordering::SeqCst);
        extra
    }

    /// The same for a wait inside a job; `None` if no other worker would be left that is not blocked, and none `may_start`. There may be
    /// more than the limits then if they `may_exceed` these. `is_own` says whether it waits for jobs of this pool only.
    #[must_use]
    pub(crate) fn block_to_wait(
        &self,
        unwinds: bool,
        may_exceed: bool,
        may_start: bool,
        is_own: bool,
    ) -> Option<bool> {
        let mut crew = self.crew.lock();
        let extra = may_exceed || (unwinds && crew.count.size().spare > 0);
        crew.count.block(extra);
        if crew.is_stuck() || (crew.count.active() == 0 && !may_start) {
            crew.count.unblock(extra);
            return None;
        }
        crew.own_waits[1] += usize::from(is_own);
        self.change(&mut crew, 0);
        drop(crew);
        // Ordering: as in `block`.
        fence(Ordering::SeqCst);
        Some(extra)
    }

    /// Like [`block_to_wait`](Self::block_to_wait), for a worker that is blocked already; `false` if no other worker would be left. If it may,
    /// the wait exceeds the limits until [`end_excess`](Self::end_excess).
    #[must_use]
    pub(crate) fn exceed_to_wait(&self) -> bool {
        let mut crew = self.crew.lock();
        crew.count.exceed(true);
        let is_stuck = crew.is_stuck();
        if is_stuck {
            crew.count.exceed(false);
        }
        self.change(&mut crew, 0);
        drop(crew);
        // Ordering: as in `block`.
        fence(Ordering::SeqCst);
        !is_stuck
    }

    /// Ends a wait that [exceeds](Self::exceed_to_wait) the limits.
    pub(crate) fn end_excess(&self) {
        let mut crew = self.crew.lock();
        crew.count.exceed(false);
        self.change(&mut crew, 0);
    }

    /// Whether all workers are blocked, and there may be no more.
    pub(crate) fn is_stuck(&self) -> bool {
        self.crew.lock().is_stuck()
    }

    /// Counts a blocked worker as active again.
    pub(crate) fn unblock(&self, extra: bool, is_own: bool) {
        let mut crew = self.crew.lock();
        crew.count.unblock(extra);
        crew.own_waits[1] -= usize::from(is_own);
        self.change(&mut crew, 0);
    }

    /// Changes the size of the pool. Parked workers must be woken to act on it.
    pub(crate) fn resize(&self, size: Size) {
        let mut crew = self.crew.lock();
        // Set before the pool can be empty, and not reset from then on, as a thread may have read it and be about to submit.
        if size.core == 0 {
            crew.is_unmanned = false;
            self.may_be_empty.store(true, Ordering::SeqCst);
        }
        crew.count.resize(size);
        self.change(&mut crew, 0);
    }

    /// How many workers there may be.
    pub(crate) fn size(&self) -> Size {
        self.crew.lock().count.size()
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::idle::PLACES;

    fn idle(core: usize, max: usize) -> Idle {
        Idle::new(&Config { size: Size { core, max, spare: 0 }, ..Config::default() }, 2)
    }

    /// Each time the one worker leaves without releasing its index, as if its last hook did not return.
    #[test]
    fn a_crew_whose_places_are_all_taken_has_room_for_none() {
        let idle = idle(0, 1);
        for place in 0..PLACES {
            assert!(matches!(idle.hold(), Hold::Start(index) if index == place));
            idle.arrive(place);
            idle.begin(place);
            idle.release();
            idle.start_search();
            let _ = idle.announce(place, false, false);
            assert!(idle.retire(place, Leave::IdleCore, false));
        }
        assert!(matches!(idle.hold(), Hold::None));
        assert!(idle.pick(1, true).start.is_none());
        idle.vacate(7);
        assert!(matches!(idle.hold(), Hold::Start(7)));
    }

    #[test]
    fn a_lazy_pool_may_be_empty_until_its_first_worker_runs() {
        let lazy = |core| {
            let size = Size { core, max: 2, spare: 0 };
            Idle::new(&Config { size, first: 0, ..Config::default() }, 2)
        };
        for (core, is_made_empty, stays) in [(1, false, false), (1, true, true), (0, false, true)] {
            let idle = lazy(core);
            if is_made_empty {
                idle.resize(Size { core: 0, max: 2, spare: 0 });
            }
            assert!(idle.may_be_empty());
            assert!(matches!(idle.hold(), Hold::Start(0)));
            idle.started(0);
            assert!(idle.may_be_empty(), "the thread that was started may be lost");
            idle.arrive(0);
            assert_eq!(idle.may_be_empty(), stays, "core size {core}");
            idle.release();
        }
    }

    /// Caught: each of the last two workers relying on the other to wait on the driver.
    #[test]
    fn the_last_parked_worker_stays_while_the_driver_is_wanted() {
        let idle = idle(0, 2);
        for index in 0..2 {
            assert_eq!(idle.pick_another(true).start, Some(index));
            idle.arrive(index);
            idle.begin(index);
        }
        for index in 0..2 {
            idle.start_search();
            let _ = idle.announce(index, true, false);
        }
        assert!(idle.retire(0, Leave::IdleCore, true));
        assert!(!idle.retire(1, Leave::IdleCore, true));
        assert!(idle.retire(1, Leave::IdleCore, false));
    }
}
