//! Who searches, who is parked, whom to wake. The rule and its proof are in `README.md` beside this file.
//!
//! What it is not: it holds no queue and wakes no thread. It says *which* worker is to be woken; the
//! caller does it, outside the lock.

#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod word;

use brigade_sync::atomic::{AtomicU64, Ordering, fence};
use brigade_sync::{CachePadded, Mutex};

pub(crate) use word::Snapshot;
use word::{CLOSED, DISCARD, PARKED, QUIET_WANTED, SEARCHING, TERMINATED, WATCHED};

/// What is known of the workers of one pool.
pub(crate) struct Idle {
    word: CachePadded<AtomicU64>,
    /// The parked workers, the last one parked at the end. Every change of `parked` is made under it.
    sleepers: CachePadded<Mutex<Sleepers>>,
    /// How many workers there are.
    workers: usize,
}

#[derive(Default)]
struct Sleepers {
    /// As many as the word says are parked.
    order: Vec<usize>,
    /// The one of them that watches.
    watcher: Option<usize>,
}

/// What a worker learns when it says that it parks.
pub(crate) struct Announced {
    /// Whether it is the one that watches the queues.
    pub(crate) watches: bool,
    /// Whether every worker is parked now.
    pub(crate) last: bool,
}

impl Idle {
    /// All workers run.
    pub(crate) fn new(workers: usize) -> Self {
        let sleepers = Sleepers { order: Vec::with_capacity(workers), watcher: None };
        Self {
            word: CachePadded::new(AtomicU64::new(0)),
            sleepers: CachePadded::new(Mutex::new(sleepers)),
            workers,
        }
    }

    /// The word as it was a moment ago.
    #[inline]
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.word.load(Ordering::Relaxed))
    }

    /// Workers that neither search nor sleep.
    pub(crate) fn running(&self, word: Snapshot) -> usize {
        self.workers.saturating_sub(word.searching() + word.parked())
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

    /// Picks the last worker parked, to be woken as a searcher, unless one is searching already.
    ///
    /// The caller must wake it.
    #[cold]
    #[must_use]
    pub(crate) fn pick(&self) -> Option<usize> {
        let mut sleepers = self.sleepers.lock();
        if self.snapshot().searching() > 0 {
            return None;
        }
        self.take_last(&mut sleepers)
    }

    /// Picks the last worker parked, whoever is searching.
    ///
    /// The caller must wake it.
    #[cold]
    #[must_use]
    pub(crate) fn pick_another(&self) -> Option<usize> {
        self.take_last(&mut self.sleepers.lock())
    }

    fn take_last(&self, sleepers: &mut Sleepers) -> Option<usize> {
        let index = sleepers.order.pop()?;
        self.leave_parked(sleepers, index);
        Some(index)
    }

    /// Takes a worker that is off the list out of `parked` and into `searching`.
    fn leave_parked(&self, sleepers: &mut Sleepers, index: usize) {
        let mut change = SEARCHING.wrapping_sub(PARKED);
        if sleepers.watcher == Some(index) {
            sleepers.watcher = None;
            change = change.wrapping_sub(WATCHED);
        }
        // Ordering: SeqCst, as every change of the word: its modification order is the order of the proof.
        self.word.fetch_add(change, Ordering::SeqCst);
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
        before.searching() == 1 && before.parked() > 0
    }

    /// A searching worker says that it parks. It must look at every source once more before it sleeps.
    ///
    /// It is to watch the queues if others run and nobody watches.
    pub(crate) fn announce(&self, index: usize) -> Announced {
        let mut sleepers = self.sleepers.lock();
        sleepers.order.push(index);
        let mut change = PARKED.wrapping_sub(SEARCHING);
        // One that stops running between this look and the addition only makes us watch in vain.
        let others_run = self.running(self.snapshot()) > 0;
        let watches = others_run && sleepers.watcher.is_none();
        if watches {
            sleepers.watcher = Some(index);
            change = change.wrapping_add(WATCHED);
        }
        let before = self.word.fetch_add(change, Ordering::SeqCst);
        drop(sleepers);
        // Ordering: announce, fence, look: see `after_publishing`.
        fence(Ordering::SeqCst);
        let now = Snapshot(before.wrapping_add(change));
        Announced { watches, last: self.all_parked(now) }
    }

    /// A parked worker that has found work takes its announcement back and searches.
    ///
    /// `false` if somebody has picked it meanwhile: its token is on the way, and it must take that.
    #[must_use]
    pub(crate) fn withdraw(&self, index: usize) -> bool {
        let mut sleepers = self.sleepers.lock();
        // From the end: it parked a moment ago.
        let Some(place) = sleepers.order.iter().rposition(|&parked| parked == index) else {
            return false;
        };
        sleepers.order.remove(place);
        self.leave_parked(&mut sleepers, index);
        true
    }

    /// The watcher stops watching and stays parked. It must look at every source once more.
    pub(crate) fn unwatch(&self, index: usize) {
        let mut sleepers = self.sleepers.lock();
        if sleepers.watcher == Some(index) {
            sleepers.watcher = None;
            self.word.fetch_sub(WATCHED, Ordering::SeqCst);
        }
        drop(sleepers);
        // Ordering: as in `announce`: who saw `WATCHED` and kept silent published before this fence.
        fence(Ordering::SeqCst);
    }

    /// Says that nothing is accepted from outside, or nothing at all.
    pub(crate) fn close(&self, discard: bool) {
        let bits = if discard { CLOSED | DISCARD } else { CLOSED };
        self.word.fetch_or(bits, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Closes, and counts workers whose threads were never started as parked for good.
    pub(crate) fn abandon(&self, missing: usize) {
        let _sleepers = self.sleepers.lock();
        self.word.fetch_add(PARKED * missing as u64 + CLOSED, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Tells workers to leave, if the pool is closed and all are parked; `true` for the one call that did.
    ///
    /// The caller has found nothing queued since it was closed, and wakes them all.
    #[must_use]
    pub(crate) fn terminate(&self) -> bool {
        let mut word = self.word.load(Ordering::SeqCst);
        loop {
            let now = Snapshot(word);
            if !now.closed() || now.terminated() || !self.all_parked(now) {
                return false;
            }
            match self.word.compare_exchange_weak(
                word,
                word | TERMINATED,
                Ordering::SeqCst,
                Ordering::SeqCst,
            ) {
                Ok(_) => return true,
                Err(changed) => word = changed,
            }
        }
    }

    /// Asks to be told when all are parked, or no longer; returns the word with that in it.
    pub(crate) fn want_quiet(&self, wanted: bool) -> Snapshot {
        let before = if wanted {
            self.word.fetch_or(QUIET_WANTED, Ordering::SeqCst)
        } else {
            self.word.fetch_and(!QUIET_WANTED, Ordering::SeqCst)
        };
        fence(Ordering::SeqCst);
        Snapshot(if wanted { before | QUIET_WANTED } else { before & !QUIET_WANTED })
    }

    /// Whether a word says that every worker is parked.
    pub(crate) fn all_parked(&self, word: Snapshot) -> bool {
        word.parked() == self.workers
    }
}
