//! How a worker goes to sleep, and how one of the sleepers watches.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::atomic::{AtomicBool, Ordering, fence};
use brigade_task::Job;

use super::dispatch::Handed;
use super::worker::Worker;
use crate::config::Idle as Policy;
use crate::idle::Leave;

/// How long the watcher sleeps between two looks, at first and while nothing moves. A job must be seen by two looks to count
/// as stuck, and a Linux timer comes up to 50 µs late, so a lone job waits 100 to 150 µs for it at most.
const WATCH_PERIOD: Duration = Duration::from_micros(25);

/// How long at most: each look that sees the queues move doubles the period up to here, and a lone job waits 900 µs at most.
/// On a virtual machine a look costs whoever runs on the same processor up to 25 µs, a quarter of a chain's time at the
/// short period and a twentieth at this.
const LONGEST_PERIOD: Duration = Duration::from_micros(400);

/// How many looks at which nothing has moved make the watcher stop. Afterwards a lone job costs its
/// submitter one wake, which about 2 ms of quiet have earned.
const STILL_LOOKS: u32 = 20;

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

/// What the watcher sees.
enum Look {
    /// A job has been waiting since the last look. (Where several wait, their submitter has said so.)
    Stuck,
    /// Queues have moved since the last look.
    Moving,
    /// Nothing is queued and nothing has moved.
    Still,
}

/// What the watcher remembers: for how many looks nothing has moved, and who kept.
struct Watch {
    still: u32,
    /// How long it sleeps until the next look.
    period: Duration,
    /// How often running workers had looked at what there is to keep.
    rounds: u64,
    /// Whether none of them has since the last look.
    unkept: bool,
}

/// What a look of the watcher leads to.
enum Watched {
    /// To go on watching.
    Nothing,
    /// To stop watching and sleep on.
    Enough,
    /// To search.
    Work,
}

/// The right to look out, which one worker of a pool has at a time.
struct Lookout<'a> {
    /// For how much longer.
    left: Duration,
    spinner: &'a AtomicBool,
}

impl Drop for Lookout<'_> {
    fn drop(&mut self) {
        self.spinner.store(false, Ordering::Relaxed);
    }
}

impl Worker {
    /// Sleeps until there is something to do. Called as a searcher.
    pub(super) fn park(&self) -> Parked {
        let core = &*self.core;
        self.me.counters.parks.add(1);
        let to_keep = core.keep.is_wanted();
        let announced = core.idle.announce(self.index, self.take_lateness(), to_keep);
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
            Some(Handed { job, late }) => {
                self.set_lateness(late);
                Parked::Run(job)
            }
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

    fn begin_watch(&self) -> Watch {
        self.look();
        Watch { still: 0, period: WATCH_PERIOD, rounds: self.core.keep.rounds(), unkept: false }
    }

    /// Looks at the queues once more, as the watcher.
    fn watch(&self, watch: &mut Watch) -> Watched {
        let rounds = self.core.keep.rounds();
        watch.unkept = core::mem::replace(&mut watch.rounds, rounds) == rounds;
        match self.look() {
            Look::Stuck => return Watched::Work,
            Look::Moving => {
                watch.still = 0;
                watch.period = (watch.period * 2).min(LONGEST_PERIOD);
            }
            Look::Still => {
                watch.still += 1;
                watch.period = WATCH_PERIOD;
            }
        }
        let idle = &self.core.idle;
        if watch.still < STILL_LOOKS && idle.snapshot().running() > 0 {
            return Watched::Nothing;
        }
        idle.unwatch(self.index);
        if self.core.has_work() { Watched::Work } else { Watched::Enough }
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

    /// Waits for a token; `false` if `timeout` is over.
    fn wait(&self, timeout: Option<Duration>) -> bool {
        match self.core.config.idle {
            Policy::Spin => self.spin(timeout),
            _ => self.me.parker.park(timeout),
        }
    }

    /// Whether we may look out for a token before we sleep: if the pool's policy says so, nobody else does, and
    /// there is a processor to spare.
    fn look_out(&self) -> Option<Lookout<'_>> {
        let core = &*self.core;
        let Policy::SpinThenPark(left) = core.config.idle else { return None };
        if left.is_zero()
            || core.idle.snapshot().running() >= core.cpus
            || core.spinner.swap(true, Ordering::Relaxed)
        {
            return None;
        }
        Some(Lookout { left, spinner: &core.spinner })
    }

    /// Looks out for a token for as long as the right to is ours, or for `timeout`; `false` if that is over.
    fn spin_for(&self, out: &mut Lookout<'_>, timeout: Option<Duration>) -> bool {
        let slice = timeout.map_or(out.left, |timeout| timeout.min(out.left));
        out.left -= slice;
        self.spin(Some(slice))
    }

    /// Looks out for a token; `false` if `patience` is over.
    fn spin(&self, patience: Option<Duration>) -> bool {
        let parker = &self.me.parker;
        let start = Instant::now();
        loop {
            for _ in 0..16 {
                if parker.try_take() {
                    return true;
                }
                brigade_sync::hint::spin_loop();
            }
            if patience.is_some_and(|patience| start.elapsed() >= patience) {
                return false;
            }
            if self.core.config.idle == Policy::Spin {
                // For ever is long: whoever else wants this core shall have it.
                brigade_sync::thread::yield_now();
            }
        }
    }

    /// Compares every queue with what it was at the last look.
    fn look(&self) -> Look {
        fence(Ordering::SeqCst);
        let mut marks = self.marks.borrow_mut();
        marks.resize(self.core.peers.len(), 0);
        let mut seen = if self.core.waiting() == 0 { Look::Still } else { Look::Stuck };
        for (index, last) in marks.iter_mut().enumerate() {
            let Some(peer) = self.core.peers.get(index) else { continue };
            let mark = peer.remote.mark();
            let moved = core::mem::replace(last, mark) != mark;
            if !moved && peer.remote.len() > 0 {
                seen = Look::Stuck;
            } else if moved && !matches!(seen, Look::Stuck) {
                seen = Look::Moving;
            }
        }
        seen
    }
}
