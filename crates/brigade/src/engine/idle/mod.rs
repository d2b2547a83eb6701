//! Which workers search, which are parked, and which worker to wake. `README.md` beside this file has the rule and its proof.
//!
//! It must know neither queues nor threads. It determines *which* worker must be woken; the caller does so, outside the lock.
//!
//! `state` has the counts and flags that all threads read, `roster` who works in the pool, under a lock; `staff` and `quiet` are further
//! methods of [`Idle`].

#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod quiet;
mod roster;
mod staff;
mod state;

use brigade_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use brigade_sync::unmodelled::AtomicUsize;
use brigade_sync::{CachePadded, Condvar, Mutex};

use crate::values::{Config, Growth};
pub(crate) use quiet::Wait;
use roster::Roster;
pub(crate) use roster::starts::PLACES;
pub(crate) use staff::{Help, NoThread};
pub(crate) use state::Snapshot;
#[cfg(feature = "trace")]
use state::TRACED;
use state::{ATTENDED, CLOSED, DISCARD, PRIORITIZED, SEARCHING, WATCHED, YIELDS};

/// The state of the workers of a pool.
pub(crate) struct Idle {
    state: CachePadded<AtomicU64>,
    /// The parts of the state that follow from the roster change under this lock.
    roster: CachePadded<Mutex<Roster>>,
    /// Notified when a worker has arrived or left, and when a spawner has returned.
    changed: Condvar,
    /// Whether the pool may have no worker at some time.
    may_be_empty: AtomicBool,
    /// Whether a worker spins before it sleeps.
    is_spinning: AtomicBool,
    /// How many threads the process may run at once. Atomic, as tests change it.
    cpus: AtomicUsize,
}

/// What a worker does after it was parked.
pub(crate) enum Parked {
    /// It searches, and counts as a searcher.
    Search,
    /// It leaves for good: it is no longer a worker, or the pool has terminated.
    Leave,
}

/// How closely the monitor watches a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watch {
    /// Not at all.
    No,
    /// It looks every few milliseconds whether timers and I/O events are handled.
    Widely,
    /// It also looks at the queues, every millisecond.
    Closely,
}

/// The result of an announcement.
pub(crate) struct Announced {
    /// Whether the worker holds the driver.
    pub(crate) holds_driver: bool,
    /// Whether the end of the pool, or a wait until it is idle, may have been waiting for this.
    pub(crate) settles: bool,
}

impl Idle {
    /// Creates the state of a pool without workers; the process may run `cpus` threads at once.
    pub(crate) fn new(config: &Config, cpus: usize) -> Self {
        let Config { size, growth, core_timeout, first, .. } = *config;
        let grows = growth != Growth::WhenBlocked;
        let may_be_empty = core_timeout || size.core == 0;
        let is_unmanned = first == 0 && !may_be_empty;
        let idle = Self {
            state: CachePadded::new(AtomicU64::new(0)),
            roster: CachePadded::new(Mutex::new(Roster::new(size, grows, is_unmanned))),
            changed: Condvar::new(),
            may_be_empty: AtomicBool::new(may_be_empty || is_unmanned),
            is_spinning: AtomicBool::new(false),
            cpus: AtomicUsize::new(cpus),
        };
        idle.change(|_| ());
        idle
    }

    /// Whether the running workers leave so many CPUs free.
    pub(crate) fn has_free_cpus(&self, cpus: usize) -> bool {
        self.snapshot().running() + cpus <= self.cpus.load(Ordering::Relaxed)
    }

    /// Has the state assume a machine with so many CPUs.
    #[cfg(all(test, not(brigade_loom)))]
    pub(crate) fn set_cpus(&self, cpus: usize) {
        self.cpus.store(cpus, Ordering::Relaxed);
    }

    /// Lets a worker spin before it sleeps, until it [ends](Self::end_spin) that, if no other worker does and the running workers leave a CPU
    /// free.
    pub(crate) fn may_spin(&self) -> bool {
        self.has_free_cpus(1) && !self.is_spinning.swap(true, Ordering::Relaxed)
    }

    /// Lets another worker spin.
    pub(crate) fn end_spin(&self) {
        self.is_spinning.store(false, Ordering::Relaxed);
    }

    /// Changes the roster, and the parts of the state that follow from it. The fence is for a caller that others relied on until now: it must look at every source
    /// once more.
    fn change<R>(&self, change: impl FnOnce(&mut Roster) -> R) -> R {
        self.change_and_see(change).0
    }

    /// The same, with the state after the change.
    fn change_and_see<R>(&self, change: impl FnOnce(&mut Roster) -> R) -> (R, Snapshot) {
        let mut roster = self.roster.lock();
        let result = change(&mut roster);
        let now = self.show(&mut roster);
        drop(roster);
        // Ordering: change, fence, look at the queues, against publish, fence, look at the state in `after_publishing`.
        fence(Ordering::SeqCst);
        (result, now)
    }

    /// Has the state show the changes of the roster.
    #[inline(never)]
    fn show(&self, roster: &mut Roster) -> Snapshot {
        let change = roster.take_change();
        // Ordering: SeqCst, as every change of the state: its modification order is the order of the proof.
        Snapshot(self.state.fetch_add(change, Ordering::SeqCst).wrapping_add(change))
    }

    /// The state as it was a moment ago.
    #[inline]
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.state.load(Ordering::Relaxed))
    }

    /// The state after all changes that come before this in the order of all of them.
    fn latest(&self) -> Snapshot {
        Snapshot(self.state.load(Ordering::SeqCst))
    }

    /// Whether the pool may have no worker at some time.
    #[inline(always)]
    pub(crate) fn may_be_empty(&self) -> bool {
        // Ordering: Relaxed: a submission that is concurrent with the resize may be treated as an earlier submission.
        self.may_be_empty.load(Ordering::Relaxed)
    }

    /// Returns a snapshot that says what to do for work that the caller has just published.
    ///
    /// Either it shows a worker that is parked, or a worker that parks later sees the work in its last look.
    #[inline]
    pub(crate) fn after_publishing(&self) -> Snapshot {
        // Ordering: the other half of the fence in `announce`: publish, fence, look at the state against
        // announce, fence, look at the queues. One of the two sees the other.
        fence(Ordering::SeqCst);
        self.snapshot()
    }

    /// Like [`after_publishing`](Self::after_publishing), for work that became visible by an exchange with `SeqCst`, as a push to
    /// an injector does.
    #[inline(always)]
    pub(crate) fn after_exchange(&self) -> Snapshot {
        // Ordering: SeqCst, as the exchange: a worker whose announcement this does not see comes after both in the one order, and
        // so does its fence in `announce`. It sees the work. There is no model: loom has no order for `SeqCst` operations other than
        // fences.
        self.latest()
    }

    /// Notes that high jobs are queued. Called under the lock of their lane.
    pub(crate) fn set_prioritized(&self) {
        self.state.fetch_or(PRIORITIZED, Ordering::SeqCst);
    }

    /// Notes that no high job is queued any more. Called under the lock of their lane.
    pub(crate) fn unset_prioritized(&self) {
        self.state.fetch_and(!PRIORITIZED, Ordering::SeqCst);
    }

    /// Sets whether workers record what they do. A worker that has read the state before may act on the old value.
    #[cfg(feature = "trace")]
    pub(crate) fn set_traced(&self, traced: bool) {
        match traced {
            true => self.state.fetch_or(TRACED, Ordering::SeqCst),
            false => self.state.fetch_and(!TRACED, Ordering::SeqCst),
        };
    }

    /// The indices of the workers that there are, and of those that are parked.
    #[cfg(feature = "trace")]
    pub(crate) fn present(&self) -> (Vec<usize>, Vec<usize>) {
        let roster = self.roster.lock();
        (roster.indices.present().to_vec(), roster.sleepers.indices().to_vec())
    }

    /// Makes a running worker a searcher.
    pub(crate) fn start_search(&self) {
        self.state.fetch_add(SEARCHING, Ordering::SeqCst);
    }

    /// Makes a searcher a running worker; `true` if it was the last searcher and must look for work for another worker.
    #[must_use]
    pub(crate) fn stop_search(&self) -> bool {
        let before = Snapshot(self.state.fetch_sub(SEARCHING, Ordering::SeqCst));
        // Ordering: a submitter that published while we searched woke no worker; the caller's look after this
        // sees its work (its fence is in `after_publishing`, or it needs none: `after_exchange`).
        fence(Ordering::SeqCst);
        before.searching() == 1 && before.has_reserves()
    }

    /// Announces that a searcher parks. It must look at every source once more before it sleeps.
    ///
    /// It becomes the driver holder if that is `wanted` and there is none. While others run, which poll, it does so only if it `is_called` to.
    pub(crate) fn announce(&self, index: usize, wanted: bool, is_called: bool) -> Announced {
        let (holds_driver, now) = self.change_and_see(|roster| {
            // A blocked worker runs nothing.
            let others_run = self.snapshot().running() > roster.counts.blocked();
            roster.park(index);
            let may_hold = wanted && (is_called || !others_run);
            may_hold && roster.sleepers.hold_driver(index)
        });
        // If the pool is open, the thread that closes it sees this worker parked.
        let may_end = now.closed() && now.all_parked();
        Announced { holds_driver, settles: may_end || now.quiet_awaited() }
    }

    /// Has a parked worker hold the driver; `false` if another does, or the worker has been picked.
    ///
    /// After that it must look at timers and I/O.
    #[must_use]
    pub(crate) fn hold_driver(&self, index: usize) -> bool {
        self.change(|roster| roster.sleepers.hold_driver(index))
    }

    /// Sets how closely the monitor watches the pool. Called under the monitor's lock. If it is less than before, the monitor must look
    /// at every source once more.
    pub(crate) fn set_watch(&self, how: Watch) {
        let flags = match how {
            Watch::No => 0,
            Watch::Widely => ATTENDED,
            Watch::Closely => ATTENDED | WATCHED,
        };
        self.state.fetch_or(flags, Ordering::SeqCst);
        self.state.fetch_and(flags | !(ATTENDED | WATCHED), Ordering::SeqCst);
    }

    /// Sets that nothing is accepted from outside, or nothing at all.
    pub(crate) fn close(&self, discard: bool) {
        let bits = if discard { CLOSED | DISCARD } else { CLOSED };
        self.state.fetch_or(bits, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Has the workers note from now on whether they run only futures that yield.
    pub(crate) fn watch_yields(&self) {
        self.state.fetch_or(YIELDS, Ordering::SeqCst);
    }
}
