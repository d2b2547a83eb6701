//! Who comes and who leaves: what makes a crew grow and shrink.

use brigade_sync::MutexGuard;
use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::thread;

use super::crew::Crew;
use super::word::{LIVE, PARKED};
use super::{Idle, Size, off_duty};

/// Who is to come for work. The caller must wake the one and start the other.
#[derive(Default)]
#[must_use]
pub(crate) struct Help {
    /// A parked worker, a searcher now.
    pub(crate) wake: Option<usize>,
    /// A place for a new worker, which counts as running from now on.
    pub(crate) start: Option<usize>,
}

/// A parked worker that is to run one job.
#[must_use]
pub(crate) struct Claimed {
    pub(crate) index: usize,
    /// Whether it watched the queues, or kept, which nobody does now. The caller must look at every source once more.
    pub(crate) was_on_duty: bool,
}

/// What a submitter is told that relies on there being a worker.
#[must_use]
pub(crate) enum Hold {
    /// There is one, and it stays until [`Idle::release`].
    Held,
    /// The same, once the caller has started this one; else it is to [`release`](Idle::release).
    Start(usize),
    /// There is none, and there can't be: the only one is being started by this very thread, or there is no place.
    None,
}

/// Why a parked worker would leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It has been idle for as long as workers beyond the core size are kept.
    Idle,
    /// The same, and the core size is not kept either.
    IdleCore,
}

impl Idle {
    /// Picks who is to come for work that was published, of which `queued` jobs wait: the last worker parked, unless one
    /// is searching already; a new one if the pool is below its core size, or if nobody is idle, more jobs wait than
    /// workers are on their way, and `may_grow` or somebody is blocked.
    #[cold]
    pub(crate) fn pick(&self, queued: usize, may_grow: bool) -> Help {
        let mut crew = self.crew.lock();
        let mut help = Help::default();
        let searching = self.snapshot().searching();
        if crew.is_below_core() {
            help.start = Some(self.enlist(&mut crew));
        }
        if searching == 0 {
            help.wake = self.take_last(&mut crew);
        }
        let nobody_comes = help.wake.is_none() && help.start.is_none() && crew.order.is_empty();
        // A thread that has not shown up looks for work after this.
        let coming = searching + crew.coming();
        if nobody_comes && queued > coming && crew.is_below_max(may_grow) {
            help.start = Some(self.enlist(&mut crew));
        }
        help
    }

    /// Picks one worker more for one job more, whoever is searching.
    #[cold]
    pub(crate) fn pick_another(&self, may_grow: bool) -> Help {
        let mut crew = self.crew.lock();
        let wake = self.take_last(&mut crew);
        let grow = crew.is_below_core() || (wake.is_none() && crew.is_below_max(may_grow));
        Help { wake, start: grow.then(|| self.enlist(&mut crew)) }
    }

    /// Picks a place for a new worker if the pool is below its core size.
    pub(crate) fn pick_core(&self) -> Option<usize> {
        let mut crew = self.crew.lock();
        let below = crew.live < crew.size.core && crew.is_below_core();
        below.then(|| self.enlist(&mut crew))
    }

    /// Picks the last worker parked, whoever is searching, and starts none. The caller must wake it.
    #[must_use]
    pub(crate) fn pick_parked(&self) -> Option<usize> {
        self.take_last(&mut self.crew.lock())
    }

    /// Picks this worker if it is parked, whoever is searching. The caller must wake it.
    #[must_use]
    pub(crate) fn pick_this(&self, index: usize) -> bool {
        let mut crew = self.crew.lock();
        // Those that are parked at the end are awake already, and the word stays as it is.
        let parked = crew.order.iter().rposition(|&parked| parked == index && !crew.terminated);
        let Some(place) = parked else { return false };
        crew.order.remove(place);
        self.leave_parked(&mut crew, index);
        true
    }

    /// Claims the last worker parked to run a job that the caller hands it: it runs from now on. The caller must wake it.
    pub(crate) fn claim(&self) -> Option<Claimed> {
        let mut crew = self.crew.lock();
        let index = crew.pop_parked()?;
        let duty = off_duty(&mut crew, index);
        self.change(&mut crew, PARKED.wrapping_neg().wrapping_sub(duty));
        Some(Claimed { index, was_on_duty: duty > 0 })
    }

    /// Picks all that are parked, each once. The caller must wake them.
    #[must_use]
    pub(crate) fn pick_all_parked(&self) -> Vec<usize> {
        let mut crew = self.crew.lock();
        core::iter::from_fn(|| self.take_last(&mut crew)).collect()
    }

    fn take_last(&self, crew: &mut MutexGuard<'_, Crew>) -> Option<usize> {
        let index = crew.pop_parked()?;
        self.leave_parked(crew, index);
        Some(index)
    }

    /// Counts one more worker, running.
    fn enlist(&self, crew: &mut MutexGuard<'_, Crew>) -> usize {
        let index = crew.enlist(thread::current_id());
        self.change(crew, LIVE);
        index
    }

    /// A worker's thread runs.
    pub(crate) fn arrive(&self, index: usize) {
        self.crew.lock().arrives(index);
        self.arrivals.notify_all();
    }

    /// A new worker is about to look for work: a wait until the pool is quiet waits for it from now on.
    pub(crate) fn begin(&self, index: usize) {
        self.crew.lock().is_up(index);
    }

    /// The thread that the caller was to start for a worker exists.
    pub(crate) fn started(&self, index: usize) {
        self.crew.lock().has_thread(index, thread::current_id());
        self.arrivals.notify_all();
    }

    /// Whether the calling thread is in the user's spawner, to start one of ours.
    pub(crate) fn is_starter(&self) -> bool {
        self.crew.lock().is_starter(thread::current_id())
    }

    /// Sees to it that there is a worker until [`release`](Self::release), for pools that may have none: waits for one
    /// that is being started, and has the caller start one if there is none.
    pub(crate) fn hold(&self) -> Hold {
        let mut crew = self.crew.lock();
        loop {
            if crew.arrived() > 0 || crew.terminated {
                crew.held += 1;
                return Hold::Held;
            }
            if crew.live == 0 && crew.has_room() {
                crew.held += 1;
                return Hold::Start(self.enlist(&mut crew));
            }
            // What starts a thread is user code, and may submit too.
            if crew.live == 0 || crew.is_starter(thread::current_id()) {
                return Hold::None;
            }
            crew = self.arrivals.wait(crew, None);
        }
    }

    /// Takes [`hold`](Self::hold) back.
    pub(crate) fn release(&self) {
        self.crew.lock().held -= 1;
    }

    /// A worker whose thread could not be started is none any more.
    ///
    /// The caller must look at every source once more: others may have relied on it to look before it sleeps.
    pub(crate) fn fail(&self, index: usize) {
        let mut crew = self.crew.lock();
        crew.is_up(index);
        crew.vacant.push(index);
        crew.leave();
        self.change(&mut crew, LIVE.wrapping_neg());
        drop(crew);
        self.arrivals.notify_all();
        // Ordering: as in `announce`.
        fence(Ordering::SeqCst);
    }

    /// The place of a worker that is none any more is free again.
    pub(crate) fn vacate(&self, index: usize) {
        let mut crew = self.crew.lock();
        crew.vacant.push(index);
        self.change(&mut crew, 0);
    }

    /// A running worker leaves if the pool was made smaller and it is one too many; the caller must look as after
    /// [`fail`](Self::fail).
    #[must_use]
    pub(crate) fn leave_if_over(&self) -> bool {
        let mut crew = self.crew.lock();
        if !crew.has_excess() {
            return false;
        }
        crew.excess -= 1;
        crew.leave();
        self.change(&mut crew, LIVE.wrapping_neg());
        drop(crew);
        // Ordering: as in `announce`.
        fence(Ordering::SeqCst);
        true
    }

    /// A parked worker leaves, if it is one too many or has been idle for long enough and is not needed; `false` if
    /// it is to stay, or somebody has picked it meanwhile.
    ///
    /// It must look at every source once more, as after [`fail`](Self::fail).
    #[must_use]
    pub(crate) fn retire(&self, index: usize, why: Leave) -> bool {
        let mut crew = self.crew.lock();
        let place = crew.order.iter().rposition(|&parked| parked == index);
        let Some(place) = place.filter(|_| crew.has_excess() || crew.can_spare(why)) else {
            return false;
        };
        crew.order.remove(place);
        crew.excess = crew.excess.saturating_sub(1);
        crew.leave();
        let change =
            PARKED.wrapping_neg().wrapping_sub(LIVE).wrapping_sub(off_duty(&mut crew, index));
        self.change(&mut crew, change);
        drop(crew);
        // Ordering: as in `announce`.
        fence(Ordering::SeqCst);
        true
    }

    /// A running worker is blocked for a while and does not count until [`unblock`](Self::unblock).
    pub(crate) fn block(&self) {
        let mut crew = self.crew.lock();
        crew.block();
        self.change(&mut crew, 0);
        drop(crew);
        // Ordering: as in `announce`: blocked, fence, look, against publish, fence, look in `after_publishing`.
        fence(Ordering::SeqCst);
    }

    /// It counts again.
    pub(crate) fn unblock(&self) {
        let mut crew = self.crew.lock();
        crew.unblock();
        self.change(&mut crew, 0);
    }

    /// Gives the pool another size. Who sleeps must be woken to learn of it.
    pub(crate) fn resize(&self, size: Size) {
        let mut crew = self.crew.lock();
        crew.resize(size);
        self.change(&mut crew, 0);
    }

    /// How many workers there may be.
    pub(crate) fn size(&self) -> Size {
        self.crew.lock().size
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use crate::idle::PLACES;

    /// Each time the one worker leaves and does not give its place back, as if it were stuck in its last hook.
    #[test]
    fn a_crew_whose_places_are_all_taken_has_room_for_nobody() {
        let idle = Idle::new(Size { core: 0, max: 1, spare: 0 }, true);
        for place in 0..PLACES {
            assert!(matches!(idle.hold(), Hold::Start(index) if index == place));
            idle.arrive(place);
            idle.release();
            idle.start_search();
            let _ = idle.announce(place, false);
            assert!(idle.retire(place, Leave::IdleCore));
        }
        assert!(matches!(idle.hold(), Hold::None));
        assert!(idle.pick(1, true).start.is_none());
        idle.vacate(7);
        assert!(matches!(idle.hold(), Hold::Start(7)));
    }
}
