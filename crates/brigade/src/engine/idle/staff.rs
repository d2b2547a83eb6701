//! How workers start and leave, which makes a pool grow and shrink. `GROWING.md` has the rules.

use brigade_sync::atomic::Ordering;
use brigade_sync::thread;

use super::Idle;
use crate::values::{Role, Size};

/// The workers picked for published work. The caller must wake the first and start the second.
#[derive(Default)]
#[must_use]
pub(crate) struct Help {
    /// A parked worker, which is now a searcher.
    pub(crate) wake: Option<usize>,
    /// The index of a new worker, which counts as running from now on.
    pub(crate) start: Option<usize>,
}

/// The error of a pool without workers that can't start any.
pub(crate) struct NoThread;

impl Idle {
    /// Picks workers for published work. The most recently parked worker is picked, unless a worker is already
    /// searching. A new worker is picked if the pool is below the core size and the caller `fills` it.
    ///
    /// A new worker is also picked if no worker is idle, more jobs wait than workers are arriving (`has_more_than`),
    /// and the pool `may_grow` or a blocked worker has no replacement.
    #[cold]
    pub(crate) fn pick(
        &self,
        fills: bool,
        has_more_than: impl FnOnce(usize) -> bool,
        may_grow: bool,
    ) -> Help {
        self.change(|roster| {
            let mut help = Help::default();
            let searching = self.snapshot().searching();
            if fills && roster.is_below_core() {
                help.start = Some(roster.enlist());
            }
            if searching == 0 {
                help.wake = roster.pick_last();
            }
            let none_comes = help.wake.is_none() && help.start.is_none();
            // A new worker outside the start hook looks for work soon.
            let coming = searching + roster.starts.coming();
            // Asked after the searchers were counted: a job taken by a searcher is no longer queued.
            if none_comes
                && roster.sleepers.parked.is_empty()
                && roster.is_below_max(may_grow)
                && has_more_than(coming)
            {
                help.start = Some(roster.enlist());
            }
            help
        })
    }

    /// Picks another worker for another job, even beside searchers.
    #[cold]
    pub(crate) fn pick_another(&self, may_grow: bool) -> Help {
        self.change(|roster| {
            let wake = roster.pick_last();
            let grow = roster.is_below_core() || (wake.is_none() && roster.is_below_max(may_grow));
            Help { wake, start: grow.then(|| roster.enlist()) }
        })
    }

    /// Picks an index for a new worker if the pool is below the core size.
    pub(crate) fn pick_core(&self) -> Option<usize> {
        self.change(|roster| {
            let counts = &roster.counts;
            let below = counts.live < counts.size.core && roster.is_below_core();
            below.then(|| roster.enlist())
        })
    }

    /// Picks an index for a new worker if no worker can run anything: all are blocked, or there is none.
    pub(crate) fn pick_if_stuck(&self) -> Option<usize> {
        self.change(|roster| {
            let is_stuck = roster.counts.active() == 0 && roster.has_room();
            is_stuck.then(|| roster.enlist())
        })
    }

    /// Picks the most recently parked worker, even beside searchers, and starts none. The caller must wake it.
    #[must_use]
    pub(crate) fn pick_parked(&self) -> Option<usize> {
        self.change(|roster| roster.pick_last())
    }

    /// Picks this worker if it is parked, even beside searchers. The caller must wake it; if the caller is this
    /// worker, it withdraws its announcement.
    ///
    /// Returns `false` if the worker has been picked already, or the pool has terminated: its token has been or will
    /// be set.
    #[must_use]
    #[inline(never)]
    pub(crate) fn pick_this(&self, index: usize) -> bool {
        self.change(|roster| roster.pick(index))
    }

    /// Picks the driver holder, which must look again at timers and I/O. The caller must wake it.
    #[must_use]
    pub(crate) fn pick_driver_holder(&self) -> Option<usize> {
        self.change(|roster| {
            let holder = roster.sleepers.driver_holder;
            holder.filter(|&index| roster.pick(index))
        })
    }

    /// Calls `send` with the index of each present worker in order, or of `one` only, and picks each of them if it is
    /// parked. Returns the picked workers, which the caller must wake. A terminated pool has no present worker.
    ///
    /// No addressed worker leaves before it has looked at the mailbox; `MAILBOX.md` has the proof.
    ///
    /// # Errors
    /// The number of workers, if it is above `most`. Then `send` was not called.
    pub(crate) fn address(
        &self,
        one: Option<usize>,
        most: usize,
        mut send: impl FnMut(usize),
    ) -> Result<Vec<usize>, usize> {
        self.change(|roster| {
            let mut present = roster.indices.present.clone();
            present.retain(|&index| !roster.terminated && one.is_none_or(|one| one == index));
            if present.len() > most {
                return Err(present.len());
            }
            present.retain(|&index| {
                send(index);
                roster.pick(index)
            });
            Ok(present)
        })
    }

    /// Notes that a worker's thread runs, and whether it calls a hook before it looks for work; returns the worker's
    /// role.
    pub(crate) fn arrive(&self, index: usize, calls_hook: bool) -> Role {
        let mut roster = self.roster.lock();
        let role = roster.starts.arrive(index, calls_hook);
        if core::mem::take(&mut roster.is_unmanned) {
            // The core size is not 0, so the pool always has a worker from now on.
            self.may_be_empty.store(false, Ordering::SeqCst);
        }
        drop(roster);
        self.changed.notify_all();
        role
    }

    /// Notes that a new worker is about to look for work. From now on it keeps the pool from being idle.
    pub(crate) fn begin(&self, index: usize) {
        self.roster.lock().starts.remove(index);
    }

    /// Notes that the spawner of a worker's thread has returned. If the start failed, the worker must have been
    /// [removed](Self::fail) before.
    pub(crate) fn started(&self, index: usize, is_started: bool) {
        self.roster.lock().starts.returned(index, thread::current_id(), is_started);
        self.changed.notify_all();
    }

    /// Whether the last start of a thread has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.roster.lock().starts.has_failed
    }

    /// Whether the calling thread is about to start a worker of this pool: it is in the user's spawner or name
    /// function.
    pub(crate) fn is_starter(&self) -> bool {
        self.roster.lock().starts.has_starter(thread::current_id())
    }

    /// Ensures a worker for a pool that may be empty, until [`release`](Self::release). Waits for a worker that
    /// is being started. If there is none, returns a worker for the caller to start; if the start fails, the caller
    /// must release the hold.
    ///
    /// # Errors
    /// If no worker can exist: this very thread is starting the only worker, or no more may be started.
    pub(crate) fn hold(&self) -> Result<Option<usize>, NoThread> {
        let mut roster = self.roster.lock();
        let mut start = None;
        while roster.arrived() == 0 && !roster.terminated {
            if roster.counts.live == 0 && roster.has_room() {
                start = Some(roster.enlist());
                break;
            }
            // A spawner is user code, which may submit too.
            if roster.counts.live == 0 || roster.starts.has_starter(thread::current_id()) {
                return Err(NoThread);
            }
            roster = self.changed.wait(roster, None);
        }
        roster.held += 1;
        self.show(&mut roster);
        Ok(start)
    }

    /// Ends a [`hold`](Self::hold).
    pub(crate) fn release(&self) {
        self.roster.lock().held -= 1;
    }

    /// Removes a worker whose thread could not be started. In the same step `take` takes the mail: after the removal
    /// nothing more is sent to this worker, and the index may be reused.
    pub(crate) fn fail<R>(&self, index: usize, take: impl FnOnce() -> R) -> R {
        let taken = self.change(|roster| {
            let taken = take();
            roster.starts.remove(index);
            roster.indices.give_back(index);
            roster.counts.remove();
            taken
        });
        self.changed.notify_all();
        taken
    }

    /// Notes that a worker has left for good, and frees the index.
    pub(crate) fn vacate(&self, index: usize) {
        self.change(|roster| roster.indices.give_back(index));
        self.changed.notify_all();
    }

    /// The number of workers that have not left for good.
    pub(crate) fn alive(&self) -> usize {
        self.roster.lock().indices.in_use()
    }

    /// Lets a running worker leave if the pool was made smaller and the worker is surplus, unless it has mail.
    #[must_use]
    pub(crate) fn leave_if_surplus(&self, index: usize, has_mail: impl FnOnce() -> bool) -> bool {
        self.change(|roster| {
            let leaves = roster.counts.can_shed(roster.arrived()) && !has_mail();
            if leaves {
                roster.shed(index);
            }
            leaves
        })
    }

    /// Whether there are more workers than the core size.
    pub(crate) fn is_beyond_core(&self) -> bool {
        self.roster.lock().counts.is_beyond_core()
    }

    /// Lets a parked worker leave if it is surplus, or has been idle for long enough and is not needed. Workers of
    /// the core size are needed, and so is the last parked worker while the driver is `wanted`.
    ///
    /// Returns `false` if the worker must stay, or has been picked in the meantime.
    #[must_use]
    pub(crate) fn retire(&self, index: usize, wanted: bool) -> bool {
        self.change(|roster| {
            let arrived = roster.arrived();
            let is_needed = wanted && roster.sleepers.parked.len() == 1;
            let may = roster.counts.can_shed(arrived)
                || (!is_needed && roster.counts.can_spare(arrived, roster.held));
            let leaves = may && roster.sleepers.remove(index);
            if leaves {
                roster.shed(index);
            }
            leaves
        })
    }

    /// Counts a running worker as blocked until [`unblock`](Self::unblock), to which the result must be passed.
    /// `unwinds` says whether the worker's job unwinds: such a worker runs nothing while it waits, so a pool with
    /// spare threads may replace it beyond the limits.
    pub(crate) fn block(&self, unwinds: bool) -> bool {
        self.change(|roster| {
            let extra = unwinds && roster.counts.size.spare > 0;
            roster.counts.block(1, extra);
            extra
        })
    }

    /// Like [`block`](Self::block), for a wait inside a job; `workers` is 0 if the worker is already blocked, else 1.
    /// The pool may exceed its limits if the wait `may_exceed` them. `is_own` says whether it waits only for jobs of
    /// this pool.
    ///
    /// Returns `None` if every other worker is blocked, and no worker can be started or the last start has failed.
    #[must_use]
    pub(crate) fn block_to_wait(
        &self,
        workers: usize,
        unwinds: bool,
        may_exceed: bool,
        is_own: bool,
    ) -> Option<bool> {
        self.change(|roster| {
            let extra = may_exceed || (unwinds && roster.counts.size.spare > 0);
            roster.counts.block(workers, extra);
            if roster.is_stuck() || (roster.counts.active() == 0 && roster.starts.has_failed) {
                roster.counts.unblock(workers, extra);
                return None;
            }
            roster.waits.own_blocked += usize::from(is_own);
            Some(extra)
        })
    }

    /// Whether all workers are blocked, and no more may be started.
    pub(crate) fn is_stuck(&self) -> bool {
        self.roster.lock().is_stuck()
    }

    /// Counts a blocked worker as active again; `workers` is 0 if the worker stays blocked, else 1.
    pub(crate) fn unblock(&self, workers: usize, extra: bool, is_own: bool) {
        self.change(|roster| {
            roster.counts.unblock(workers, extra);
            roster.waits.own_blocked -= usize::from(is_own);
        });
    }

    /// Changes the size of the pool. Parked workers must be woken to act on it.
    pub(crate) fn resize(&self, size: Size) {
        self.change(|roster| {
            // Set before the pool can be empty. Not reset from then on, because a thread may have read it and be
            // about to submit.
            if size.core == 0 {
                roster.is_unmanned = false;
                self.may_be_empty.store(true, Ordering::SeqCst);
            }
            roster.counts.resize(size);
        });
    }

    /// The limits of the number of workers.
    pub(crate) fn size(&self) -> Size {
        self.roster.lock().counts.size
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use crate::engine::idle::{PLACES, Parking};
    use crate::values::Config;

    fn idle(core: usize, max: usize) -> Idle {
        Idle::new(&Config { size: Size { core, max, spare: 0 }, ..Config::default() }, 2)
    }

    /// Each time, the only worker leaves without releasing its index, as if its last hook did not return.
    #[test]
    fn a_roster_whose_indices_are_all_taken_has_room_for_none() {
        let idle = idle(0, 1);
        for place in 0..PLACES {
            assert!(matches!(idle.hold(), Ok(Some(index)) if index == place));
            idle.arrive(place, false);
            idle.begin(place);
            idle.release();
            idle.start_search();
            let _ = idle.announce(Parking { index: place, ..Parking::default() });
            assert!(idle.retire(place, false));
        }
        assert!(matches!(idle.hold(), Err(NoThread)));
        assert!(idle.pick(true, |coming| coming < 1, true).start.is_none());
        idle.vacate(7);
        assert!(matches!(idle.hold(), Ok(Some(7))));
    }

    #[test]
    fn a_lazy_pool_may_be_empty_until_its_first_worker_runs() {
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
            idle.release();
        }
    }

    /// Caught: a second thread for a job for which the first had just arrived.
    #[test]
    fn a_worker_that_has_arrived_is_about_to_look_unless_it_is_in_a_hook() {
        for (calls_hook, coming) in [(false, 1), (true, 0)] {
            let idle = idle(0, 2);
            assert!(matches!(idle.hold(), Ok(Some(0))));
            idle.arrive(0, calls_hook);
            let help = idle.pick(false, |now| now != coming, true);
            assert!(help.start.is_none(), "another number than {coming}");
            idle.start_search();
            idle.begin(0);
            assert!(idle.pick(false, |now| now != 1, true).start.is_none());
        }
    }

    /// Caught: the last two workers each relied on the other to wait on the driver.
    #[test]
    fn the_last_parked_worker_stays_while_the_driver_is_wanted() {
        let idle = idle(0, 2);
        for index in 0..2 {
            assert_eq!(idle.pick_another(true).start, Some(index));
            idle.arrive(index, false);
            idle.begin(index);
        }
        for index in 0..2 {
            idle.start_search();
            let _ = idle.announce(Parking { index, holder_wanted: true, ..Parking::default() });
        }
        assert!(idle.retire(0, true));
        assert!(!idle.retire(1, true));
        assert!(idle.retire(1, false));
    }
}
