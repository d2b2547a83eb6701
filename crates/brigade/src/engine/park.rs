//! How a worker goes to sleep, and what wakes it.

use core::time::Duration;
use std::time::Instant;

use brigade_task::Job;

use super::lookout::Lookout;
use super::watch::{Watch, Watched};
use super::worker::Worker;
use crate::config::Idle as Policy;
use crate::idle::Leave;

/// The part of its patience for which a worker sleeps on that was idle for long and is needed all the same, because
/// others are blocked or a job is being submitted; and the least.
const STAY: (u32, Duration) = (8, Duration::from_millis(10));

/// What a worker does after it was parked.
pub(super) enum Parked {
    /// It searches: it is a searcher.
    Search,
    /// It runs this: it counts as running.
    Run(Job),
    /// It leaves for good: it is no worker any more, or the pool has terminated.
    Leave,
}

impl Worker {
    /// Sleeps until there is something to do. Called as a searcher.
    pub(super) fn park(&self) -> Parked {
        let core = &*self.core;
        self.me.counters.parks.add(1);
        let to_keep = core.keep.is_wanted();
        let announced = core.idle.announce(self.index, to_keep);
        // The last look, at every source there is.
        if core.has_work() || !self.me.post.is_empty() {
            return self.withdraw();
        }
        if announced.settles {
            core.settle();
        }
        self.sleep(announced.watches, announced.keeps)
    }

    /// Takes our announcement back, or the token of whoever has picked or claimed us already.
    pub(super) fn withdraw(&self) -> Parked {
        let core = &*self.core;
        if core.idle.withdraw(self.index) {
            return Parked::Search;
        }
        // Whoever claimed us has something else for us than what we have seen, about which others may have kept silent, as we
        // were searching. If somebody searches (we do, if we were picked), that one sees to it.
        let seen = core.idle.after_publishing();
        if seen.searching() == 0 && seen.wants_help() {
            if core.has_work() {
                core.help();
            } else {
                core.see_to_keeper();
            }
        }
        self.me.parker.park(None);
        self.woken()
    }

    /// What we were woken for.
    pub(super) fn woken(&self) -> Parked {
        self.me.counters.wakes.add(1);
        let mut placed = self.me.placed.lock();
        if let (Some(all), Some(thread)) = (placed.restore.take(), placed.thread) {
            thread.set_affinity(&all);
        }
        drop(placed);
        match self.me.slot.take() {
            Some(job) => Parked::Run(job),
            None if self.core.idle.snapshot().terminated() => Parked::Leave,
            None => Parked::Search,
        }
    }

    /// Sleeps until somebody has picked or claimed us, we have seen work ourselves, or we are no worker any more.
    fn sleep(&self, watches: bool, mut keeps: bool) -> Parked {
        let mut lookout = self.look_out();
        let patience = self.core.config.keep_alive;
        let mut leave_at = self.leave_at(patience);
        let mut watch = watches.then(|| self.begin_watch());
        loop {
            if self.is_time(leave_at) {
                if self.retire(keeps) {
                    return Parked::Leave;
                }
                leave_at = self.leave_at((patience / STAY.0).max(STAY.1));
            }
            keeps = keeps || self.takes_keep(watch.as_ref());
            let timeouts = [
                watch.as_ref().map(|watch| watch.period),
                lookout.as_ref().map(|out| out.left),
                leave_at.map(|at| at.saturating_duration_since(Instant::now())),
            ];
            let timeout = timeouts.into_iter().flatten().min();
            let woken = match (&mut lookout, keeps) {
                (out, true) => self.keep_for(out.as_mut(), timeout),
                (Some(out), false) => self.spin_for(out, timeout).then(|| self.woken()),
                (None, false) => self.wait(timeout).then(|| self.woken()),
            };
            if let Some(parked) = woken {
                return parked;
            }
            lookout = lookout.filter(|out| !out.left.is_zero());
            if let Some(watching) = &mut watch {
                match self.watch(watching) {
                    Watched::Work => return self.withdraw(),
                    Watched::Enough => watch = None,
                    Watched::Nothing => {}
                }
            }
        }
    }

    /// Whether we are the keeper from now on: there is something to keep, and nobody does or will.
    fn takes_keep(&self, watch: Option<&Watch>) -> bool {
        let seen = self.core.idle.snapshot();
        let nobody_will = match watch {
            // Those that run look at it as well, if they have time.
            Some(watch) => watch.unkept,
            None => !seen.watched(),
        };
        if !nobody_will || seen.kept() || !self.core.keep.is_wanted() {
            return false;
        }
        let keeps = self.core.idle.keep(self.index);
        if !keeps {
            // Somebody has claimed us since we stopped watching, and does not know that others kept silent till then.
            self.core.see_to_keeper();
        }
        keeps
    }

    /// As the keeper: sleeps, or looks out for as long as the right to is ours.
    fn keep_for(&self, out: Option<&mut Lookout<'_>>, timeout: Option<Duration>) -> Option<Parked> {
        let Some(out) = out else {
            return self.keep(timeout, self.core.config.idle == Policy::Spin);
        };
        let start = Instant::now();
        let parked = self.keep(timeout, true);
        out.left = out.left.saturating_sub(start.elapsed());
        parked
    }

    /// When we are to leave for good if `patience` is what is left to us; `None` if we are to stay.
    fn leave_at(&self, patience: Duration) -> Option<Instant> {
        if self.me.post.has_locals() {
            return None;
        }
        let leaves = self.core.config.core_timeout || self.core.idle.snapshot().is_beyond_core();
        // A time too far to be written down is never.
        leaves.then(|| Instant::now().checked_add(patience)).flatten()
    }

    /// Whether we have been idle for long, or are too many.
    fn is_time(&self, leave_at: Option<Instant>) -> bool {
        self.core.idle.snapshot().is_over() || leave_at.is_some_and(|at| at <= Instant::now())
    }

    /// Leaves for good, unless we are needed or have been picked. The keeper is needed if nobody sleeps who could be it.
    fn retire(&self, keeps: bool) -> bool {
        if self.me.post.has_locals() {
            return false;
        }
        let core = &*self.core;
        let seen = core.idle.snapshot();
        if keeps
            && core.keep.is_wanted()
            && seen.parked() < 2
            && !seen.is_over()
            && !seen.terminated()
        {
            return false;
        }
        let why = if core.config.core_timeout { Leave::IdleCore } else { Leave::Idle };
        let leaves = core.idle.retire(self.index, why);
        // Once more: who saw us parked goes by what the crew is without us, but a look costs little here.
        if leaves && core.has_work() {
            core.help();
        }
        if leaves {
            core.see_to_keeper();
        }
        leaves
    }
}
