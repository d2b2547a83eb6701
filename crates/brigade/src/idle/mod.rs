//! Which workers search, which are parked, and which one to wake. The rule and its proof are in `README.md` beside this file.
//!
//! It holds no queue and wakes no thread. It says *which* worker must be woken; the caller does so, outside the lock.
//!
//! `state`, `sleepers`, `headcount`, `starts` and `spinner` are the parts, `crew` holds them together; `staff`, `quiet` and
//! `joins` are further methods of [`Idle`].

mod crew;
mod headcount;
mod joins;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod quiet;
mod sleepers;
mod spinner;
mod staff;
mod starts;
mod state;

use brigade_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use brigade_sync::{CachePadded, Condvar, Mutex, MutexGuard};

use crate::config::{Config, Growth};
use crew::Crew;
pub(crate) use headcount::Leave;
pub(crate) use joins::Join;
pub(crate) use quiet::Wait;
pub(crate) use sleepers::Duty;
use spinner::Spinner;
pub(crate) use spinner::Spinning;
pub(crate) use staff::{Claimed, Help, Hold};
pub(crate) use starts::PLACES;
pub(crate) use state::Snapshot;
use state::{CLOSED, DISCARD, PARKED, SEARCHING, TERMINATED};

/// What is known of the workers of one pool.
pub(crate) struct Idle {
    state: CachePadded<AtomicU64>,
    /// Every change of `parked`, `live` and what follows from them is made under it.
    crew: CachePadded<Mutex<Crew>>,
    /// Notified when a thread that was being started runs, or never will.
    arrivals: Condvar,
    /// Whether the pool may come to have no worker.
    may_be_empty: AtomicBool,
    spinner: Spinner,
}

/// What a worker learns when it parks.
pub(crate) struct Announced {
    /// Its duty.
    pub(crate) duty: Option<Duty>,
    /// Whether this may have been what the end of the pool, or a wait until it is idle, was waiting for.
    pub(crate) settles: bool,
}

impl Idle {
    /// No worker yet; the process may run so many threads at once as there are `cpus`.
    pub(crate) fn new(config: &Config, cpus: usize) -> Self {
        let Config { size, growth, core_timeout, .. } = *config;
        let grows = growth != Growth::WhenBlocked;
        let idle = Self {
            state: CachePadded::new(AtomicU64::new(0)),
            crew: CachePadded::new(Mutex::new(Crew::new(size, grows))),
            arrivals: Condvar::new(),
            may_be_empty: AtomicBool::new(core_timeout || size.core == 0),
            spinner: Spinner::new(cpus),
        };
        idle.change(&mut idle.crew.lock(), 0);
        idle
    }

    /// Adds to the state what the crew's lock protects: a change of the counts, and the flags that follow.
    fn change(&self, crew: &mut MutexGuard<'_, Crew>, counts: u64) -> Snapshot {
        let flags = crew.wanted_flags();
        let change = counts.wrapping_add(flags).wrapping_sub(crew.flags);
        crew.flags = flags;
        // Ordering: SeqCst, as every change of the state: its modification order is the order of the proof.
        Snapshot(self.state.fetch_add(change, Ordering::SeqCst).wrapping_add(change))
    }

    /// The state as it was a moment ago.
    #[inline]
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.state.load(Ordering::Relaxed))
    }

    /// Whether the pool may come to have no worker.
    #[inline(always)]
    pub(crate) fn may_be_empty(&self) -> bool {
        // Ordering: Relaxed: a submission beside the resize that makes it so is as if it had come before.
        self.may_be_empty.load(Ordering::Relaxed)
    }

    /// Says what must be done about work that the caller has just published: see the returned snapshot.
    ///
    /// Either it shows a worker that is parked, or a worker that parks later sees the work in its last look.
    #[inline]
    pub(crate) fn after_publishing(&self) -> Snapshot {
        // Ordering: the other half of the fence in `announce`: publish, fence, look at the state against
        // announce, fence, look at the queues. One of the two sees the other.
        fence(Ordering::SeqCst);
        self.snapshot()
    }

    /// Takes a worker that is off the list out of `parked` and into `searching`.
    fn leave_parked(&self, crew: &mut MutexGuard<'_, Crew>) {
        self.change(crew, SEARCHING.wrapping_sub(PARKED));
    }

    /// A running worker begins to search.
    pub(crate) fn start_search(&self) {
        self.state.fetch_add(SEARCHING, Ordering::SeqCst);
    }

    /// A searching worker runs again; `true` if it was the last searcher and must look for work that another should take.
    #[must_use]
    pub(crate) fn stop_search(&self) -> bool {
        let before = Snapshot(self.state.fetch_sub(SEARCHING, Ordering::SeqCst));
        // Ordering: a submitter that published while we searched woke no worker; the caller's look after this
        // sees its work (its fence is in `after_publishing`).
        fence(Ordering::SeqCst);
        before.searching() == 1 && before.has_reserves()
    }

    /// A searching worker says that it parks. It must look at every source once more before it sleeps.
    ///
    /// It gets a duty that no other worker has: to monitor the queues if others run, else to wait on the driver if that is
    /// `wanted`.
    pub(crate) fn announce(&self, index: usize, wanted: bool) -> Announced {
        let mut crew = self.crew.lock();
        crew.sleepers.add(index);
        // A blocked worker runs nothing. One that stops running between this look and the change makes us monitor in vain.
        let others_run = self.snapshot().running() > crew.count.blocked();
        let duty = match (others_run, wanted) {
            (true, _) => Some(Duty::Monitor),
            (false, true) => Some(Duty::Driver),
            (false, false) => None,
        };
        let duty = duty.filter(|&duty| crew.sleepers.take_up(index, duty));
        let now = self.change(&mut crew, PARKED.wrapping_sub(SEARCHING));
        drop(crew);
        // Ordering: announce, fence, look: see `after_publishing`.
        fence(Ordering::SeqCst);
        Announced { duty, settles: now.all_parked() || now.quiet_awaited() }
    }

    /// A parked worker that has found work takes its announcement back and searches.
    ///
    /// `false` if it has been picked meanwhile, or the pool has ended: then its token is on the way, and it must take that.
    #[must_use]
    pub(crate) fn withdraw(&self, index: usize) -> bool {
        self.pick_this(index)
    }

    /// A parked worker gives up its duty and sleeps on. It must look at every source once more.
    pub(crate) fn give_up_duty(&self, index: usize) {
        let mut crew = self.crew.lock();
        crew.sleepers.relieve(index);
        self.change(&mut crew, 0);
        drop(crew);
        // Ordering: as in `announce`: a submitter that saw `MONITORED` and woke no worker published before this fence.
        fence(Ordering::SeqCst);
    }

    /// A parked worker takes up a duty, in place of any that it has; `false` if another has it, or the worker has been picked.
    ///
    /// It must look at what the duty is about after that.
    #[must_use]
    pub(crate) fn take_up_duty(&self, index: usize, duty: Duty) -> bool {
        let mut crew = self.crew.lock();
        let takes = crew.sleepers.take_up(index, duty);
        self.change(&mut crew, 0);
        drop(crew);
        // Ordering: as in `announce`: a thread that saw no holder published before this fence, and may have picked another.
        fence(Ordering::SeqCst);
        takes
    }

    /// Picks the worker that waits on the driver, to look again at what it waits for. The caller must wake it.
    #[must_use]
    pub(crate) fn pick_driver_holder(&self) -> Option<usize> {
        let mut crew = self.crew.lock();
        let index = crew.sleepers.holder(Duty::Driver)?;
        let picked = crew.remove_parked(index);
        if picked {
            self.leave_parked(&mut crew);
        }
        picked.then_some(index)
    }

    /// Says that nothing is accepted from outside, or nothing at all.
    pub(crate) fn close(&self, discard: bool) {
        let bits = if discard { CLOSED | DISCARD } else { CLOSED };
        self.state.fetch_or(bits, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Tells workers to leave, if the pool is closed and all are parked; `true` for the one call that did.
    ///
    /// The caller has found nothing queued since it was closed, and must wake all of them.
    #[must_use]
    pub(crate) fn terminate(&self) -> bool {
        // Under the lock, so that no worker is enlisted any more once it is done.
        let mut crew = self.crew.lock();
        let now = Snapshot(self.state.load(Ordering::SeqCst));
        if !now.closed() || now.terminated() || !now.all_parked() {
            return false;
        }
        crew.terminated = true;
        self.change(&mut crew, TERMINATED);
        true
    }
}
