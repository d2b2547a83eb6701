//! The part of each worker shared with other threads, by the worker's index in the pool.
//!
//! Slots are allocated in runs, each as long as all runs before it, and live as long as the pool, so a pool
//! can grow while other threads read. A leaving worker releases its slot, with queues and counters, for the
//! next worker.

use core::ops::Range;
use std::sync::Arc;

use brigade_queue::{StealError, deque};
use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::{CachePadded, Mutex, OnceLock};
use brigade_task::Part;

use super::local::{Local, Remote};
use super::mailbox::Mailbox;
use super::origins::Origins;
use crate::engine::roster::starts::{GUESTS, PLACES};
use crate::engine::sleep::sleeper::Sleeper;
use crate::values::{Awake, Config, Counters, WorkerMetrics};

/// The owner's ends of a worker's queues.
pub(in crate::engine) type Own = (Local, deque::Worker<Part>);

/// The part of a worker shared with other threads.
pub(in crate::engine) struct Peer {
    pub(in crate::engine) remote: Remote,
    /// Forks and jobs of scopes, for any thread.
    pub(in crate::engine) forks: deque::Stealer<Part>,
    /// The parts that the worker is running.
    pub(in crate::engine) origins: Origins,
    pub(in crate::engine) sleeper: Sleeper,
    /// Jobs that only this worker may run.
    pub(in crate::engine) mailbox: Mailbox,
    /// In their own cache line, because the worker writes them at every turn.
    pub(in crate::engine) counters: CachePadded<Counters>,
    /// The running jobs, if the pool's jobs are observed.
    #[cfg(feature = "observe")]
    pub(in crate::engine) record: brigade_observe::Record,
    /// The worker's activity, while the pool is traced.
    #[cfg(feature = "trace")]
    pub(in crate::engine) track: brigade_trace::Track,
    /// The owner's ends of the queues, while no worker has them.
    pub(in crate::engine) own: Mutex<Option<Own>>,
}

impl Peer {
    fn new(local: Local, config: &Config) -> Arc<Self> {
        let forks = deque::Worker::new();
        let awake = config.observer.is_some().then(Awake::default);
        Arc::new(Self {
            remote: local.remote(),
            forks: forks.stealer(),
            origins: Origins::default(),
            sleeper: Sleeper::new(),
            mailbox: Mailbox::default(),
            counters: CachePadded::new(Counters { awake, ..Counters::default() }),
            #[cfg(feature = "observe")]
            record: brigade_observe::Record::default(),
            #[cfg(feature = "trace")]
            track: brigade_trace::Track::default(),
            own: Mutex::new(Some((local, forks))),
        })
    }

    /// Steals the oldest forks, as many as `limit` says of the oldest and their number: returns the first, and pushes the others to
    /// `rest`.
    #[inline(never)]
    pub(in crate::engine) fn steal_forks(
        &self,
        rest: &deque::Worker<Part>,
        limit: &dyn Fn(deque::Candidate<'_, Part>, usize) -> usize,
    ) -> Result<Part, StealError> {
        self.forks.steal(rest, limit)
    }

    /// The number of queued jobs and forks, without the mailbox.
    pub(in crate::engine) fn len(&self) -> usize {
        self.remote.len() + self.forks.len()
    }

    /// A number that changes whenever the queues change.
    pub(in crate::engine) fn epoch(&self) -> u64 {
        self.remote.epoch() ^ self.forks.epoch().rotate_left(16)
    }

    pub(in crate::engine) fn metrics(&self) -> WorkerMetrics {
        WorkerMetrics {
            run: self.counters.returned.get() + self.counters.panicked.get(),
            stolen: self.counters.stolen.get(),
            parks: self.counters.parks.get(),
            wakes: self.counters.wakes.get(),
            panics: self.counters.panics.get(),
            queued: (self.len() + self.mailbox.len()) as u64,
            busy: self.counters.awake.as_ref().map(Awake::get),
        }
    }
}

/// Runs of slots: the first run has 1 slot, and each later run as many as all runs before it.
const RUNS: usize = PLACES.ilog2() as usize + 1;

/// The slots of a pool.
pub(in crate::engine) struct Peers {
    workers: Slots,
    guests: Slots,
}

/// Slots that are opened on first use.
struct Slots {
    runs: Vec<OnceLock<Vec<Arc<Peer>>>>,
    /// The largest index used so far, plus 1.
    used: AtomicUsize,
}

/// The run of an index, and the position in this run.
fn locate(index: usize) -> (usize, usize) {
    match index.checked_ilog2() {
        None => (0, 0),
        Some(log) => (log as usize + 1, index - (1 << log)),
    }
}

impl Slots {
    fn new() -> Self {
        let mut runs = Vec::new();
        runs.resize_with(RUNS, OnceLock::new);
        Self { runs, used: AtomicUsize::new(0) }
    }

    fn open(&self, index: usize, make: &dyn Fn() -> Arc<Peer>) {
        let (run, _) = locate(index);
        self.runs[run].get_or_init(|| {
            let mut peers = Vec::new();
            for _ in 0..if run == 0 { 1 } else { 1 << (run - 1) } {
                peers.push(make());
            }
            peers
        });
        // Before the worker starts, so before its queue can have a job: a thread that sees the job also sees
        // the slot.
        self.used.fetch_max(index + 1, Ordering::Release);
    }

    fn get(&self, index: usize) -> Option<&Arc<Peer>> {
        let (run, offset) = locate(index);
        Some(&self.runs[run].get()?[offset])
    }

    fn len(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `open`.
        self.used.load(Ordering::Acquire)
    }

    /// The allocated slots, with their indices from `base` on.
    fn iter(&self, base: usize) -> impl Iterator<Item = (usize, &Arc<Peer>)> {
        (0..self.len()).filter_map(move |index| Some((base + index, self.get(index)?)))
    }
}

impl Peers {
    pub(in crate::engine) fn new() -> Self {
        Self { workers: Slots::new(), guests: Slots::new() }
    }

    /// The slots that have this index, and its place among them.
    fn of(&self, index: usize) -> (&Slots, usize) {
        match index.checked_sub(GUESTS) {
            Some(place) => (&self.guests, place),
            None => (&self.workers, index),
        }
    }

    /// Allocates the slot with this index, if it is new.
    pub(in crate::engine) fn open(&self, index: usize, config: &Config) {
        let is_guest = index >= GUESTS;
        let make = || {
            // A guest has only forks.
            let local = if is_guest { Local::Shared } else { Local::new(config) };
            Peer::new(local, config)
        };
        let (slots, place) = self.of(index);
        slots.open(place, &make);
    }

    /// Returns the slot with this index, if it is allocated. Slots are not opened in order.
    pub(in crate::engine) fn get(&self, index: usize) -> Option<&Arc<Peer>> {
        let (slots, place) = self.of(index);
        slots.get(place)
    }

    /// Returns the slot with this index, which must be open.
    pub(in crate::engine) fn at(&self, index: usize) -> &Arc<Peer> {
        let Some(peer) = self.get(index) else { unreachable!("a worker's place has been opened") };
        peer
    }

    /// A number above the indices of all open slots of workers.
    pub(in crate::engine) fn len(&self) -> usize {
        self.workers.len()
    }

    /// The sum of a counter of all workers and guests.
    pub(in crate::engine) fn sum(&self, pick: &dyn Fn(&Counters) -> u64) -> u64 {
        self.iter().fold(0, |sum, (_, peer)| sum + pick(&peer.counters))
    }

    /// The indices of the guests' slots.
    pub(in crate::engine) fn guests(&self) -> Range<usize> {
        GUESTS..GUESTS + self.guests.len()
    }

    /// All allocated slots with their indices, of workers and then of guests. Some may never have had a worker, and some indices
    /// between them have no slot.
    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = (usize, &Arc<Peer>)> {
        self.workers.iter(0).chain(self.guests.iter(GUESTS))
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn places_of_any_number_are_apart_and_stay() {
        let (peers, config) = (Peers::new(), Config::default());
        let place = |index| {
            peers.open(index, &config);
            Arc::as_ptr(peers.at(index))
        };
        let opened: Vec<_> = (0..70).map(place).collect();
        assert_eq!(peers.len(), 70);
        assert!(peers.iter().map(|(_, peer)| Arc::as_ptr(peer)).eq(opened.iter().copied()));
        let mut apart = opened;
        apart.sort_unstable();
        apart.dedup();
        assert_eq!(apart.len(), 70);
        assert_eq!(locate(PLACES - 1), (RUNS - 1, PLACES / 2 - 1));
    }
}
