//! Whom to wake for published work. `README.md` beside this file has the rule and its proof.

use brigade_sync::affinity::current_cpu;
use brigade_sync::hint;

use crate::engine::idle::Watch;
use crate::engine::queues::injectors::BATCH;
use crate::engine::roster::Roster;
use crate::engine::roster::staff::Picked;
use crate::engine::shared::Shared;
use crate::engine::state::Snapshot;
use crate::engine::worker::{Worker, with_worker};
use crate::values::Growth;

/// The most jobs, besides the first, that a worker runs alone if events woke them together.
const FEW: usize = 16;

/// The most workers that a searcher wakes for the jobs behind the found job: a fan-out on 64 cores then takes 1.15 times the
/// ideal, with two 1.17 (`examples/simulate`).
const MOST_WOKEN: usize = 4;

impl Shared {
    /// Wakes or starts a worker for work just published by the caller, if the state *seen* since requires it.
    #[inline(always)]
    pub(in crate::engine) fn wake_if_wanted(&self, seen: Snapshot) {
        if seen.wants_wake() {
            self.wake_one();
        }
    }

    /// Like [`wake_if_wanted`](Self::wake_if_wanted), after a worker was started for the job. By now this worker
    /// may be parked, or run a different job.
    pub(in crate::engine) fn grow(&self) {
        let _ = self.idle.after_publishing();
        let may_grow = self.may_grow(self.queues.len());
        let has_more_than = |jobs| self.queues.has_more_than(jobs);
        self.wake_and_start(self.idle.pick(false, &has_more_than, may_grow), Self::wake_beside);
    }

    /// Wakes or starts a worker for published work, according to the wake-up rule and the growth policy.
    /// Returns the woken worker.
    #[cold]
    #[inline(never)]
    pub(in crate::engine) fn wake_one(&self) -> Option<usize> {
        self.wake_one_by(Self::wake_beside)
    }

    /// Like [`wake_one`](Self::wake_one), with the given wake-up.
    pub(in crate::engine) fn wake_one_by(&self, wake: fn(&Self, usize)) -> Option<usize> {
        let seen = self.idle.snapshot();
        let searching = seen.searching();
        // Returns if the searchers suffice. Little else is read here, because an elastic pool below its largest
        // size gets here for each job.
        if searching > 0
            && !seen.is_below_core()
            && (seen.parked() > 0 || !self.queues.has_more_than(searching))
        {
            // More jobs wait than the searchers take at once: these may be waiting for the caller's CPU.
            let has_backlog = seen.parked() > 0
                && self.idle.has_free_cpus(1 + searching)
                && self.queues.injectors.mine().len() > searching * BATCH;
            let another = if has_backlog { self.idle.change(Roster::pick_parked) } else { None };
            if let Some(index) = another {
                wake(self, index);
            }
            return another;
        }
        let queued = if seen.is_below_max() { self.queues.len() } else { 0 };
        let may_grow = self.may_grow(queued);
        let may_help = may_grow || seen.parked() > 0 || seen.is_understaffed();
        if !may_help {
            return None;
        }
        self.wake_and_start(self.idle.pick(true, &|coming| queued > coming, may_grow), wake)
    }

    /// Like [`wake_one`](Self::wake_one), for several jobs at once. Returns the last woken worker.
    pub(in crate::engine) fn wake_many(&self, jobs: usize, seen: Snapshot) -> Option<usize> {
        let mut woken = None;
        for _ in 0..if seen.has_reserves() { jobs } else { 0 } {
            let may_grow = self.may_grow(self.queues.len());
            let picked = self.idle.change(|roster| roster.pick_another(may_grow));
            if picked.wake.is_none() && picked.start.is_none() {
                break;
            }
            woken = self.wake_and_start(picked, Self::wake_beside).or(woken);
        }
        woken
    }

    /// Whether the pool may grow beyond its core size with this number of queued jobs.
    fn may_grow(&self, queued: usize) -> bool {
        match self.config.growth {
            Growth::OnSubmit => true,
            Growth::WhenQueued(jobs) => queued >= jobs,
            Growth::WhenBlocked => false,
        }
    }

    /// Wakes and starts the picked workers; returns the woken worker.
    pub(in crate::engine) fn wake_and_start(
        &self,
        picked: Picked,
        wake: fn(&Self, usize),
    ) -> Option<usize> {
        // The wake-up comes first, because a start calls the user's spawner, which may take long.
        if let Some(index) = picked.wake {
            wake(self, index);
        }
        if let Some(index) = picked.start {
            // A failed start has been retried.
            let _ = self.start(index);
        }
        picked.wake
    }

    /// Like [`wake`](Self::wake), for a caller that continues to run: the worker leaves this CPU to the
    /// caller if a different CPU is free.
    pub(in crate::engine) fn wake_beside(&self, index: usize) {
        let runs = with_worker(|own| own.is_some_and(|own| own.forks_for(self.key)));
        let outside = usize::from(!runs);
        let is_free = self.config.may_spread() && self.idle.has_free_cpus(1 + outside);
        let sleeper = &self.queues.peers.at(index).sleeper;
        sleeper.set_waker(if is_free { current_cpu() } else { None });
        self.wake(index);
        sleeper.set_waker(None);
    }

    /// Leaves forks, or jobs of the own queue, to the monitor; `false` if there can be no monitor, or it has no worker
    /// to wake.
    pub(in crate::engine) fn leaves_to_monitor(&self, seen: Snapshot) -> bool {
        seen.watched() || (seen.parked() > 0 && self.ask_monitor(Watch::Closely))
    }

    /// Sets the token of a picked worker.
    pub(in crate::engine) fn wake(&self, index: usize) {
        let sleeper = &self.queues.peers.at(index).sleeper;
        self.tell_wake(index, || sleeper.unpark(&self.events.driver));
    }
}

impl Worker {
    /// Wakes or starts a worker for a fork.
    #[cold]
    #[inline(never)]
    pub(in crate::engine) fn notify_of_fork(&self) {
        if self.shared.idle.snapshot().lacks_heavy_fence() {
            // Otherwise no thief could take the fork. An ordinary fence follows, because each look passes one.
            let mut round = 0;
            while !self.forks.publish() {
                hint::snooze(round);
                round += 1;
            }
            if !self.shared.idle.after_publishing().wants_wake_for_forks() {
                return;
            }
        }
        self.wake_peer();
    }

    /// Wakes or starts a worker for published work, like [`Shared::wake_one`](crate::engine::Shared::wake_one).
    pub(in crate::engine) fn wake_peer(&self) {
        // The kernel places workers woken for events: their jobs are usually short, and the events may come from other
        // processes on this machine.
        if self.activity.polls.get() || self.activity.has_slept_on_driver.get() {
            let _ = self.shared.wake_one_by(|shared, index| shared.wake(index));
        } else {
            self.has_woken(self.shared.wake_one());
        }
    }

    /// Wakes a parked peer for jobs just queued on this worker, except for a lone child while the monitor looks at the
    /// queues. `engine/wake/README.md` has the rule.
    #[inline(always)]
    pub(in crate::engine) fn notify_peers(&self, queued: usize) {
        // Checked without the fence: a thread that makes the pool larger passes the heavy one before it looks for jobs.
        if self.shared.idle.snapshot().is_alone() {
            return;
        }
        let seen = self.shared.idle.after_publishing();
        if !seen.wants_wake()
            || (queued == 1 && !seen.is_below_core() && self.leaves_lone_child(seen))
        {
            return;
        }
        self.wake_peer();
    }

    /// Announces jobs moved to this worker's queue, other than as a searcher. They were briefly not visible, so a peer
    /// may have gone to sleep.
    pub(in crate::engine) fn notify_of_taken(&self) {
        let queued = self.local.len();
        if queued > 0 {
            self.notify_peers(queued);
        }
    }

    /// Leaves a lone child to the monitor, if it looks at the queues. If not, a worker is woken, and the monitor looks
    /// from now on. The monitor wakes parked workers and starts none.
    #[inline(always)]
    fn leaves_lone_child(&self, seen: Snapshot) -> bool {
        if seen.parked() == 0 {
            return false;
        }
        // A job just woken by a poll is this worker's next job, and needs no monitor.
        let leaves = seen.watched() || self.activity.polls.get();
        if !leaves {
            self.shared.ask_monitor(Watch::Closely);
        }
        leaves
    }

    /// Wakes workers for the jobs that a searcher has queued here behind the found job, if there are several, even
    /// beside searchers. Each woken worker does the same, so their number multiplies with each wake-up.
    /// `engine/wake/README.md` has the bounds.
    pub(in crate::engine) fn wake_for_rest(&self) {
        let shared = &*self.shared;
        let queued = self.local.len();
        for _ in 0..if queued > 1 { queued.min(MOST_WOKEN) } else { 0 } {
            let seen = shared.idle.snapshot();
            if seen.parked() == 0 || !shared.idle.has_free_cpus(1 + seen.searching()) {
                return;
            }
            let Some(index) = shared.idle.change(Roster::pick_parked) else { return };
            shared.wake_beside(index);
            self.has_woken(Some(index));
        }
    }

    /// Whether this worker runs all queued jobs alone: a few, just woken by events. The monitor checks whether they
    /// wait for long.
    pub(in crate::engine) fn keeps_events(&self) -> bool {
        let queued = self.local.len();
        self.activity.has_slept_on_driver.get()
            && queued <= FEW
            && !self.shared.queues.has_more_than(queued)
            && self.shared.leaves_to_monitor(self.shared.idle.snapshot())
    }
}
