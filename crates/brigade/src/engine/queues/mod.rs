//! The job queues of one pool: its injectors, and the queues of each worker. This module must not know which
//! worker is woken for a job.

pub(in crate::engine) mod injectors;
pub(in crate::engine) mod lane;
pub(in crate::engine) mod lanes;
pub(in crate::engine) mod local;
pub(in crate::engine) mod mailbox;
pub(in crate::engine) mod origins;
pub(in crate::engine) mod peers;

use brigade_queue::{Cursor, StealError, deque};
use brigade_sync::atomic::Ordering;
use brigade_sync::hint;
use brigade_sync::unmodelled::AtomicU64;
use brigade_task::Job;
use injectors::{Injectors, SWEEP};
use lanes::Lanes;
use peers::{Peer, Peers};

use crate::engine::idle::Idle;
use crate::engine::state::Snapshot;
use crate::values::{Config, Priority};

/// The queues of one pool.
pub(in crate::engine) struct Queues {
    /// Jobs from outside, and overflowing jobs of the workers' own queues.
    pub(in crate::engine) injectors: Injectors,
    /// Jobs of the classes above and below the default. Boxed, because a pool may be built on a small stack.
    pub(in crate::engine) lanes: Box<Lanes>,
    /// The workers' own queues, with everything else shared with other threads.
    pub(in crate::engine) peers: Peers,
    /// How often completed entries have been swept out of the injectors.
    sweeps: AtomicU64,
    /// Jobs visible only after a heavy fence, in tests.
    #[cfg(all(test, not(brigade_loom)))]
    pub(in crate::engine) late: late::Late,
}

/// Whether a closed queue accepts a job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Accepts {
    /// A job from outside: only an open queue accepts it.
    IfOpen,
    /// A job submitted by a job of the pool, or accepted before.
    Always,
}

impl Queues {
    pub(in crate::engine) fn new(config: &Config, cpus: usize) -> Self {
        Self {
            injectors: Injectors::new(config, cpus),
            lanes: Box::default(),
            peers: Peers::new(),
            sweeps: AtomicU64::new(0),
            #[cfg(all(test, not(brigade_loom)))]
            late: late::Late::default(),
        }
    }

    /// Queues a job of any class, or returns it.
    pub(in crate::engine) fn push(
        &self,
        class: Priority,
        job: Job,
        accepts: Accepts,
        idle: &Idle,
    ) -> Result<(), Job> {
        match (class, accepts) {
            (Priority::Normal, Accepts::IfOpen) => self.injectors.mine().push(job),
            (Priority::Normal, Accepts::Always) => {
                self.injectors.mine().push_accepted(job);
                Ok(())
            }
            _ => self.lanes.push(class, job, accepts, idle),
        }
    }

    /// Whether any job is queued, except in mailboxes.
    #[inline(never)]
    pub(in crate::engine) fn has_work(&self) -> bool {
        self.has_shared() || self.peers.iter().any(|(_, peer)| peer.len() > 0)
    }

    /// Whether there is work for which another worker must be woken: in a covered pool, only jobs.
    pub(in crate::engine) fn want_worker(&self, seen: Snapshot) -> bool {
        let queued = |peer: &Peer| if seen.is_covered() { peer.remote.len() } else { peer.len() };
        self.has_shared() || self.peers.iter().any(|(_, peer)| queued(peer) > 0)
    }

    /// Whether jobs are stuck. Such jobs are shared by all workers, or queued together on a worker, or the
    /// only job of a worker whose queues have not changed since the last call. `epochs` has a number for each
    /// worker, which changes with the queues.
    pub(in crate::engine) fn are_stuck(&self, epochs: &mut Vec<u64>) -> bool {
        let mut are_stuck = self.has_shared();
        // A slot opened meanwhile moves those of guests: then it takes a call more.
        for (number, (_, peer)) in self.peers.iter().enumerate() {
            epochs.resize(epochs.len().max(number + 1), 0);
            let last = &mut epochs[number];
            let epoch = peer.epoch();
            let has_moved = core::mem::replace(last, epoch) != epoch;
            are_stuck |= peer.len() > usize::from(has_moved);
        }
        are_stuck
    }

    /// Whether the injectors or the lanes have jobs.
    pub(in crate::engine) fn has_shared(&self) -> bool {
        !self.injectors.is_empty() || self.lanes.len() > 0
    }

    /// Counts the jobs of the injectors and the lanes.
    pub(in crate::engine) fn shared_len(&self) -> usize {
        self.injectors.len() + self.lanes.len()
    }

    /// The number of jobs ever queued in the injectors and the lanes.
    pub(in crate::engine) fn pushed(&self) -> u64 {
        self.injectors.pushed() + self.lanes.pushed()
    }

    /// Accepts nothing from outside any more.
    pub(in crate::engine) fn close(&self) {
        self.injectors.close();
        self.lanes.close();
    }

    /// Whether a worker has forked since the pool was built.
    pub(in crate::engine) fn have_forked(&self) -> bool {
        self.peers.iter().any(|(_, peer)| peer.forks.is_used())
    }

    /// Makes earlier forks visible to the caller's next look: each fork whose worker has not yet seen the
    /// caller's earlier writes. Workers fork without a fence.
    #[inline]
    pub(in crate::engine) fn fence_forks(&self) {
        if self.have_forked() {
            self.fence();
        }
    }

    /// Passes the heavy fence, which also makes earlier jobs of a worker visible that queued them without a fence.
    pub(in crate::engine) fn fence(&self) {
        if let Some((_, peer)) = self.peers.iter().next() {
            peer.forks.fence();
            #[cfg(all(test, not(brigade_loom)))]
            self.late.arrive(&self.injectors);
        }
    }

    /// Whether any mailbox has jobs.
    pub(in crate::engine) fn has_mail(&self) -> bool {
        self.peers.iter().any(|(_, peer)| !peer.mailbox.is_empty())
    }

    /// Counts the queued jobs, without mailboxes.
    #[inline(never)]
    pub(in crate::engine) fn len(&self) -> usize {
        self.peers.iter().fold(self.shared_len(), |len, (_, peer)| len + peer.len())
    }

    /// Whether more than `jobs` jobs are queued. The injectors and the lanes are counted first, because that
    /// is cheaper.
    pub(in crate::engine) fn has_more_than(&self, jobs: usize) -> bool {
        self.shared_len() > jobs || self.len() > jobs
    }

    /// Drops completed entries of the injectors, the lanes and the mailboxes. Returns the number of jobs cancelled by this.
    /// Each worker sweeps its own queue when it sees the new count of sweeps.
    pub(in crate::engine) fn sweep(&self, idle: &Idle) -> u64 {
        let cancelled = self.injectors.sweep(SWEEP) + self.lanes.sweep(SWEEP, idle);
        for (_, peer) in self.peers.iter() {
            peer.mailbox.sweep(SWEEP);
        }
        self.sweeps.fetch_add(1, Ordering::Relaxed);
        cancelled
    }

    /// How often [`sweep`](Self::sweep) was called.
    pub(in crate::engine) fn sweeps(&self) -> u64 {
        self.sweeps.load(Ordering::Relaxed)
    }

    /// Takes a worker's oldest fork or job of a scope. The caller need not be a worker.
    pub(in crate::engine) fn take_oldest_part(&self) -> Option<Job> {
        let rest = deque::Worker::new();
        self.steal_any(&|peer| {
            if peer.forks.is_empty() {
                return Err(StealError::Empty);
            }
            Ok(peer.steal_forks(&rest, &|_, _| 1)?.into_job())
        })
    }

    /// Takes the oldest job accepted by `takes`, of the lowest class that has one. Other jobs may move from the
    /// injectors and the workers' queues to the front of the injectors. The caller need not be a worker.
    pub(in crate::engine) fn take_oldest(
        &self,
        takes: &dyn Fn(&Job) -> bool,
        idle: &Idle,
    ) -> Option<Job> {
        let (Lanes { high, low }, Injectors { shards, front }) = (&*self.lanes, &self.injectors);
        if let Some(job) = low.take(None, takes, &mut || None) {
            return Some(job);
        }
        let mut next = || match shards.pop(&Cursor::default()) {
            None => self.steal_any(&|peer| peer.remote.steal()),
            job => job,
        };
        match front.take(None, takes, &mut next) {
            None => high.take(Some(idle), takes, &mut || None),
            job => job,
        }
    }

    /// Takes a job from the first worker that has one, waiting for other thieves.
    fn steal_any(&self, steal: &dyn Fn(&Peer) -> Result<Job, StealError>) -> Option<Job> {
        for (_, peer) in self.peers.iter() {
            let mut round = 0;
            loop {
                match steal(peer) {
                    Ok(job) => return Some(job),
                    Err(StealError::Empty) => break,
                    Err(StealError::Busy) => hint::snooze(round),
                }
                round += 1;
            }
        }
        None
    }
}

/// A job visible only after a heavy fence, like a fork whose store is still in the owner's store buffer.
///
/// The tests of the table in `engine/fork/FORKS.md` use it, because no test can keep a store in a store buffer.
#[cfg(all(test, not(brigade_loom)))]
mod late {
    use brigade_sync::atomic::Ordering;
    use brigade_sync::unmodelled::AtomicUsize;
    use brigade_task::Job;

    use super::injectors::Injectors;

    /// Whether the next heavy fence queues a job.
    #[derive(Default)]
    pub(in crate::engine) struct Late(AtomicUsize);

    impl Late {
        /// Makes the next heavy fence queue a job.
        pub(in crate::engine) fn expect(&self) {
            self.0.store(1, Ordering::Relaxed);
        }

        pub(in crate::engine) fn arrive(&self, injectors: &Injectors) {
            if self.0.swap(0, Ordering::Relaxed) > 0 {
                assert!(injectors.mine().push(Job::new(|| ())).is_ok(), "the pool is open");
            }
        }
    }
}
