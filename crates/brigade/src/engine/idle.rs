//! Which workers search and which are parked: the state that all threads read, and the roster, under a lock.
//! `wake/README.md` has the rule and its proof.
//!
//! This module must know neither queues nor threads. It determines *which* worker must be woken; the caller
//! wakes it, outside the lock.

use brigade_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use brigade_sync::unmodelled::AtomicUsize;
use brigade_sync::{CachePadded, Condvar, Mutex, MutexGuard};

use super::roster::staff::{NoThread, Picked};
use super::roster::{Parking, Roster};
#[cfg(feature = "trace")]
use super::state::TRACED;
use super::state::{
    ATTENDED, CLOSED, DISCARD, DRAINS, POLLS, PRIORITIZED, SEARCHING, Snapshot, WATCHED,
};
use crate::values::{Config, Growth, Role, Shutdown, Size};

/// The state of the workers of a pool.
pub(crate) struct Idle {
    state: CachePadded<AtomicU64>,
    /// Guards the roster, and changes of the parts of the state derived from it.
    pub(super) roster: CachePadded<Mutex<Roster>>,
    /// Notified like the watching threads of the roster, when a worker has arrived or left, when a spawner has returned, when
    /// the pool has been quiet or has ended, and when work off the pool ends later.
    pub(super) changed: Condvar,
    /// Whether the pool may have no worker at some time.
    may_be_empty: AtomicBool,
    /// Whether a worker spins before it sleeps.
    is_spinning: AtomicBool,
    /// How many threads the process may run at once. Atomic, because tests change it.
    cpus: AtomicUsize,
}

/// How a worker continues after it was parked.
pub(crate) enum Parked {
    /// The worker searches, and counts as a searcher.
    Search,
    /// The worker leaves for good: it is no longer a worker, or the pool has terminated.
    Leave,
}

/// How closely the monitor watches a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watch {
    /// Not at all.
    No,
    /// Every few milliseconds it checks whether timers and I/O events are handled.
    Widely,
    /// It also looks at the queues, every millisecond.
    Closely,
}

/// The result of an announcement.
pub(crate) struct Announced {
    /// Whether the worker holds the driver.
    pub(crate) holds_driver: bool,
    /// Whether the end of the pool, or a wait until it is idle, may depend on this announcement.
    pub(crate) may_terminate: bool,
}

impl Idle {
    /// Creates the state of a pool without workers; the process may run `cpus` threads at once.
    pub(crate) fn new(config: &Config, cpus: usize) -> Self {
        let Config { size, growth, first, .. } = *config;
        let grows = growth != Growth::WhenBlocked;
        let may_be_empty = size.core == 0;
        let is_unmanned = first == Some(0) && !may_be_empty;
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

    /// The number of workers with a thread, or about to get it.
    pub(crate) fn workers(&self) -> usize {
        self.census().0
    }

    /// Whether the running workers leave this many CPUs free.
    pub(crate) fn has_free_cpus(&self, cpus: usize) -> bool {
        self.snapshot().running() + cpus <= self.cpus.load(Ordering::Relaxed)
    }

    /// Sets the assumed number of CPUs.
    #[cfg(all(test, not(brigade_loom)))]
    pub(crate) fn set_cpus(&self, cpus: usize) {
        self.cpus.store(cpus, Ordering::Relaxed);
    }

    /// Lets a worker spin before it sleeps, until [`end_spin`](Self::end_spin), if no other worker spins and
    /// the running workers leave a CPU free.
    pub(crate) fn may_spin(&self) -> bool {
        self.has_free_cpus(1) && !self.is_spinning.swap(true, Ordering::Relaxed)
    }

    /// Ends the spin: the next worker may spin.
    pub(crate) fn end_spin(&self) {
        self.is_spinning.store(false, Ordering::Relaxed);
    }

    /// Locks the roster, for a question, or for a change that the state does not show.
    pub(crate) fn roster(&self) -> MutexGuard<'_, Roster> {
        self.roster.lock()
    }

    /// Changes the roster under its lock, and the parts of the state derived from it. The fence is for a caller on
    /// which submitters relied until now: it must look at every source once more.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Roster) -> R) -> R {
        let mut roster = self.roster.lock();
        let result = change(&mut roster);
        self.show(roster);
        result
    }

    /// Updates the state with the changes of the roster, and unlocks it. Returns the state after that.
    #[inline(never)]
    fn show(&self, mut roster: MutexGuard<'_, Roster>) -> Snapshot {
        let change = roster.take_change();
        // Ordering: SeqCst, like every change of the state: its modification order is the order of the proof.
        let now = self.state.fetch_add(change, Ordering::SeqCst).wrapping_add(change);
        drop(roster);
        // Ordering: change, fence, look at the queues; the submitter's side is publish, fence, look at the state in
        // `after_publishing`.
        fence(Ordering::SeqCst);
        Snapshot(now)
    }

    /// The state as it was a moment ago.
    #[inline]
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.state.load(Ordering::Relaxed))
    }

    /// The state after all changes that precede this load in the single order of `SeqCst`.
    pub(super) fn latest(&self) -> Snapshot {
        Snapshot(self.state.load(Ordering::SeqCst))
    }

    /// Whether the pool may have no worker at some time.
    #[inline(always)]
    pub(crate) fn may_be_empty(&self) -> bool {
        // Ordering: Relaxed: a submission concurrent with the resize may be treated as an earlier submission.
        self.may_be_empty.load(Ordering::Relaxed)
    }

    /// Returns the state for a caller that has just published work.
    ///
    /// Either the state shows a parked worker, or a worker that parks later sees the work in its last look.
    #[inline]
    pub(crate) fn after_publishing(&self) -> Snapshot {
        // Ordering: the other half of the fence in `announce`: publish, fence, look at the state; there
        // announce, fence, look at the queues. At least one side sees the other.
        fence(Ordering::SeqCst);
        self.snapshot()
    }

    /// Like [`after_publishing`](Self::after_publishing), for work published by a `SeqCst` exchange, such as a
    /// push to an injector.
    #[inline(always)]
    pub(crate) fn after_exchange(&self) -> Snapshot {
        // Ordering: SeqCst, like the exchange. If this load misses a worker's announcement, the announcement follows
        // the exchange and this load in the single order, and so does the fence in `announce`: the worker sees the
        // work. There is no model: loom orders only fences by `SeqCst`, no other operations.
        self.latest()
    }

    /// Sets the flag of queued high jobs. Called under the lock of their lane.
    pub(crate) fn set_prioritized(&self) {
        self.state.fetch_or(PRIORITIZED, Ordering::SeqCst);
    }

    /// Clears the flag: no high job is queued any more. Called under the lock of their lane.
    pub(crate) fn unset_prioritized(&self) {
        self.state.fetch_and(!PRIORITIZED, Ordering::SeqCst);
    }

    /// Sets whether workers record trace events. A worker with an earlier snapshot may act on the old
    /// value.
    #[cfg(feature = "trace")]
    pub(crate) fn set_traced(&self, traced: bool) {
        match traced {
            true => self.state.fetch_or(TRACED, Ordering::SeqCst),
            false => self.state.fetch_and(!TRACED, Ordering::SeqCst),
        };
    }

    /// Makes a running worker a searcher.
    pub(crate) fn start_search(&self) {
        self.state.fetch_add(SEARCHING, Ordering::SeqCst);
    }

    /// Makes a searcher a running worker. Returns `true` if it was the last searcher and the pool has reserves: it must
    /// look at the queues, and have a worker woken or started for queued work.
    #[must_use]
    pub(crate) fn stop_search(&self) -> bool {
        let before = Snapshot(self.state.fetch_sub(SEARCHING, Ordering::SeqCst));
        // Ordering: a submitter that published during the search woke no worker; the caller's look after this
        // sees its work. The submitter's fence is in `after_publishing`; `after_exchange` needs none.
        fence(Ordering::SeqCst);
        before.searching() == 1 && before.has_reserves()
    }

    /// Announces that a searcher parks. It must look at every source once more before it sleeps.
    ///
    /// It becomes the driver holder if a holder is wanted and there is none. While other workers run, which poll, it
    /// must also be called.
    pub(crate) fn announce(&self, parking: Parking) -> Announced {
        let mut roster = self.roster.lock();
        let holds_driver = roster.park(parking, self.snapshot().running());
        let now = self.show(roster);
        // If the pool is still open, the thread that closes it sees this worker parked.
        let may_end = now.closed() && now.all_parked();
        Announced { holds_driver, may_terminate: may_end || now.quiet_awaited() }
    }

    /// Sets how closely the monitor watches the pool. Called under the monitor's lock. If it watches less
    /// closely than before, the monitor must look at every source once more.
    pub(crate) fn set_watch(&self, how: Watch) {
        let flags = match how {
            Watch::No => 0,
            Watch::Widely => ATTENDED,
            Watch::Closely => ATTENDED | WATCHED,
        };
        self.state.fetch_or(flags, Ordering::SeqCst);
        self.state.fetch_and(flags | !(ATTENDED | WATCHED), Ordering::SeqCst);
    }

    /// Closes the pool to work from outside or, with `Discard`, to all work.
    pub(crate) fn close(&self, how: Shutdown) {
        let bits = match how {
            Shutdown::Finish => CLOSED,
            Shutdown::Drain => CLOSED | DRAINS,
            Shutdown::Discard => CLOSED | DRAINS | DISCARD,
        };
        self.state.fetch_or(bits, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// From now on workers note whether they poll futures.
    pub(crate) fn note_polls(&self) {
        self.state.fetch_or(POLLS, Ordering::SeqCst);
    }

    /// Picks workers for published work. The most recently parked worker is picked, unless a worker is already
    /// searching. A new worker is picked if the pool is below the core size and the caller `fills` it.
    ///
    /// A new worker is also picked if no worker is idle, more jobs wait than workers are arriving (`has_more_than`),
    /// and the pool `may_grow` or a blocked worker has no replacement.
    #[cold]
    pub(crate) fn pick(
        &self,
        fills: bool,
        has_more_than: &dyn Fn(usize) -> bool,
        may_grow: bool,
    ) -> Picked {
        self.change(|roster| {
            roster.pick(self.snapshot().searching(), fills, has_more_than, may_grow)
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
        self.notify();
        role
    }

    /// Notes that the spawner of a worker's thread has returned. If the start failed, the worker must have been
    /// [removed](Self::fail) before.
    pub(crate) fn started(&self, index: usize, is_started: bool) {
        self.roster.lock().starts.returned(index, is_started);
        self.notify();
    }

    /// Ensures a worker for a pool that may be empty, until [`release`](Roster::release). Waits for a worker that
    /// is being started. If there is none, returns a worker for the caller to start; if the start fails, the caller
    /// must release the hold.
    ///
    /// # Errors
    /// If no worker can exist: this very thread is starting the only worker, or no more may be started.
    pub(crate) fn hold(&self) -> Result<Option<usize>, NoThread> {
        let mut roster = self.roster.lock();
        let start = loop {
            match roster.hold() {
                Some(held) => break held?,
                None => roster = self.changed.wait(roster, None),
            }
        };
        self.show(roster);
        Ok(start)
    }

    /// Removes a worker whose thread could not be started. In the same step `take` takes the mail: after the removal
    /// nothing more is sent to this worker, and the index may be reused.
    pub(crate) fn fail<R>(&self, index: usize, take: impl FnOnce() -> R) -> R {
        let taken = self.change(|roster| {
            let taken = take();
            roster.fail(index);
            if roster.counts.is_empty() {
                // From now on a submission makes sure of a worker.
                self.may_be_empty.store(true, Ordering::SeqCst);
            }
            taken
        });
        self.notify();
        taken
    }

    /// Notes that a worker has left for good, and frees the index.
    pub(crate) fn vacate(&self, index: usize) {
        self.change(|roster| roster.indices.give_back(index));
        self.notify();
    }

    /// Changes the size of the pool. Parked workers must be woken to act on it.
    pub(crate) fn resize(&self, size: Size) {
        self.change(|roster| {
            // Set before the pool can be empty. Not reset from then on, because a thread may have read it and be
            // about to submit.
            if size.core == 0 {
                self.may_be_empty.store(true, Ordering::SeqCst);
            }
            roster.resize(size);
        });
    }
}
