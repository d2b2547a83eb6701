//! Who searches, who is parked, whom to wake. The rule and its proof are in `README.md` beside this file.
//!
//! What it is not: it holds no queue and wakes no thread. It says *which* worker is to be woken; the
//! caller does it, outside the lock.

mod crew;
mod joins;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod quiet;
mod roster;
mod word;

use brigade_sync::atomic::{AtomicU64, Ordering, fence};
use brigade_sync::{CachePadded, Condvar, Mutex, MutexGuard};

use crew::Crew;
pub(crate) use crew::{PLACES, Size};
pub(crate) use joins::Join;
pub(crate) use quiet::Wait;
pub(crate) use roster::{Claimed, Help, Hold, Leave};
pub(crate) use word::Snapshot;
use word::{CLOSED, DISCARD, KEPT, PARKED, SEARCHING, TERMINATED, WATCHED};

/// What is known of the workers of one pool.
pub(crate) struct Idle {
    word: CachePadded<AtomicU64>,
    /// Every change of `parked`, `live` and what follows from them is made under it.
    crew: CachePadded<Mutex<Crew>>,
    /// Told when a thread that was being started has shown up, or has not.
    arrivals: Condvar,
}

/// What a worker learns when it says that it parks.
pub(crate) struct Announced {
    /// Whether it is the one that watches the queues.
    pub(crate) watches: bool,
    /// Whether it is the keeper.
    pub(crate) keeps: bool,
    /// Whether this may have been what the end of the pool, or a `wait_idle`, was waiting for.
    pub(crate) settles: bool,
}

impl Idle {
    /// No worker yet. `grows` says whether work makes the pool grow beyond its core size.
    pub(crate) fn new(size: Size, grows: bool) -> Self {
        let idle = Self {
            word: CachePadded::new(AtomicU64::new(0)),
            crew: CachePadded::new(Mutex::new(Crew::new(size, grows))),
            arrivals: Condvar::new(),
        };
        idle.change(&mut idle.crew.lock(), 0);
        idle
    }

    /// Adds to the word what the crew's lock protects: a change of the counts, and the flags that follow.
    fn change(&self, crew: &mut MutexGuard<'_, Crew>, counts: u64) -> Snapshot {
        let flags = crew.wanted_flags();
        let change = counts.wrapping_add(flags).wrapping_sub(crew.flags);
        crew.flags = flags;
        // Ordering: SeqCst, as every change of the word: its modification order is the order of the proof.
        Snapshot(self.word.fetch_add(change, Ordering::SeqCst).wrapping_add(change))
    }

    /// The word as it was a moment ago.
    #[inline]
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.word.load(Ordering::Relaxed))
    }

    /// Says what to do about work that the caller has just published: look at the returned snapshot.
    ///
    /// Either it shows a worker that is parked, or whoever parks later sees the work in its last look.
    #[inline]
    pub(crate) fn after_publishing(&self) -> Snapshot {
        // Ordering: the other half of the fence in `announce`: publish, fence, look at the word against
        // announce, fence, look at the queues. One of the two sees the other.
        fence(Ordering::SeqCst);
        self.snapshot()
    }

    /// Takes a worker that is off the list out of `parked` and into `searching`.
    fn leave_parked(&self, crew: &mut MutexGuard<'_, Crew>, index: usize) {
        let change = SEARCHING.wrapping_sub(PARKED).wrapping_sub(off_duty(crew, index));
        self.change(crew, change);
    }

    /// A running worker begins to search.
    pub(crate) fn start_search(&self) {
        self.word.fetch_add(SEARCHING, Ordering::SeqCst);
    }

    /// A searching worker runs again; `true` if it was the last searcher and must look for whom to wake.
    #[must_use]
    pub(crate) fn stop_search(&self) -> bool {
        let before = Snapshot(self.word.fetch_sub(SEARCHING, Ordering::SeqCst));
        // Ordering: those who published while we searched woke nobody; the caller's look after this
        // sees their work (their fence is in `after_publishing`).
        fence(Ordering::SeqCst);
        before.searching() == 1 && before.has_reserves()
    }

    /// A searching worker says that it parks. It must look at every source once more before it sleeps.
    ///
    /// It is to watch the queues if others run and nobody watches; and to keep, if there is something `to_keep`, nobody
    /// runs who would see to it, and nobody else keeps.
    pub(crate) fn announce(&self, index: usize, to_keep: bool) -> Announced {
        let mut crew = self.crew.lock();
        crew.order.push(index);
        let mut change = PARKED.wrapping_sub(SEARCHING);
        // One that stops running between this look and the addition only makes us watch in vain.
        let others_run = self.snapshot().running() > 0;
        let watches = others_run && crew.watcher.is_none();
        if watches {
            crew.watcher = Some(index);
            change = change.wrapping_add(WATCHED);
        }
        let keeps = to_keep && !others_run && crew.keeper.is_none();
        if keeps {
            crew.keeper = Some(index);
            change = change.wrapping_add(KEPT);
        }
        let now = self.change(&mut crew, change);
        drop(crew);
        // Ordering: announce, fence, look: see `after_publishing`.
        fence(Ordering::SeqCst);
        Announced { watches, keeps, settles: now.all_parked() || now.quiet_wanted() }
    }

    /// A parked worker that has found work takes its announcement back and searches.
    ///
    /// `false` if somebody has picked it meanwhile, or the pool has ended: its token is on the way, and it must take that.
    #[must_use]
    pub(crate) fn withdraw(&self, index: usize) -> bool {
        let mut crew = self.crew.lock();
        if crew.terminated {
            return false;
        }
        // From the end: it parked a moment ago.
        let Some(place) = crew.order.iter().rposition(|&parked| parked == index) else {
            return false;
        };
        crew.order.remove(place);
        self.leave_parked(&mut crew, index);
        true
    }

    /// The watcher stops watching and stays parked. It must look at every source once more.
    pub(crate) fn unwatch(&self, index: usize) {
        let mut crew = self.crew.lock();
        if crew.watcher == Some(index) {
            crew.watcher = None;
            self.change(&mut crew, WATCHED.wrapping_neg());
        }
        drop(crew);
        // Ordering: as in `announce`: who saw `WATCHED` and kept silent published before this fence.
        fence(Ordering::SeqCst);
    }

    /// A parked worker keeps from now on, unless somebody does or it has been picked. It must look at what there is to keep
    /// after that.
    #[must_use]
    pub(crate) fn keep(&self, index: usize) -> bool {
        let mut crew = self.crew.lock();
        let keeps = crew.keeper.is_none() && crew.order.contains(&index);
        if keeps {
            crew.keeper = Some(index);
            self.change(&mut crew, KEPT);
        }
        drop(crew);
        // Ordering: as in `announce`: who saw nobody keep published before this fence, and may have picked another.
        fence(Ordering::SeqCst);
        keeps
    }

    /// Picks the keeper, to look again at what there is to keep. The caller must wake it.
    #[must_use]
    pub(crate) fn pick_keeper(&self) -> Option<usize> {
        let mut crew = self.crew.lock();
        let index = crew.keeper.filter(|_| !crew.terminated)?;
        crew.order.retain(|&parked| parked != index);
        self.leave_parked(&mut crew, index);
        Some(index)
    }

    /// Says that nothing is accepted from outside, or nothing at all.
    pub(crate) fn close(&self, discard: bool) {
        let bits = if discard { CLOSED | DISCARD } else { CLOSED };
        self.word.fetch_or(bits, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Tells workers to leave, if the pool is closed and all are parked; `true` for the one call that did.
    ///
    /// The caller has found nothing queued since it was closed, and wakes them all.
    #[must_use]
    pub(crate) fn terminate(&self) -> bool {
        // Under the lock, so that nobody is enlisted any more once it is done.
        let mut crew = self.crew.lock();
        let now = Snapshot(self.word.load(Ordering::SeqCst));
        if !now.closed() || now.terminated() || !now.all_parked() {
            return false;
        }
        crew.terminated = true;
        self.change(&mut crew, TERMINATED);
        true
    }
}

/// Takes a worker that is off the list out of `watcher` and `keeper`; returns what that takes from the word.
fn off_duty(crew: &mut Crew, index: usize) -> u64 {
    let mut bits = 0;
    if crew.watcher == Some(index) {
        crew.watcher = None;
        bits |= WATCHED;
    }
    if crew.keeper == Some(index) {
        crew.keeper = None;
        bits |= KEPT;
    }
    bits
}
