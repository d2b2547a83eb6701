//! Where the jobs of one pool are queued: its injectors, and what each worker has. It must not know which worker is woken for them.

pub(in crate::engine) mod injectors;
pub(in crate::engine) mod lanes;
pub(in crate::engine) mod late;
pub(in crate::engine) mod local;
pub(in crate::engine) mod mailbox;
pub(in crate::engine) mod origins;
pub(in crate::engine) mod peers;

use brigade_queue::{Cursor, StealError, deque};
use brigade_sync::atomic::Ordering;
use brigade_sync::hint;
use brigade_sync::unmodelled::AtomicU64;
use brigade_task::Job;

use super::idle::Idle;
use crate::values::{Config, Priority};
use injectors::{Injectors, MAX_STALE};
use lanes::Lanes;
use late::Late;
use peers::Peers;

/// The queues of one pool.
pub(super) struct Queues {
    /// Jobs from outside, and jobs that did not fit a worker's own queue.
    pub(super) injectors: Injectors,
    /// Jobs of the classes above and below the default. Boxed, as a pool may be built on a small stack.
    pub(super) lanes: Box<Lanes>,
    /// The workers' own queues, with everything else that they share with other threads.
    pub(super) peers: Peers,
    /// How often completed entries have been swept out of the injectors.
    sweeps: AtomicU64,
    /// What only a look after a heavy fence sees, in tests.
    pub(super) late: Late,
}

/// Whether a closed queue accepts a job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Accepts {
    /// From outside: it does not.
    IfOpen,
    /// From a job of the pool, or because the pool accepted it before.
    Always,
}

impl Queues {
    pub(super) fn new(config: &Config, cpus: usize) -> Self {
        Self {
            injectors: Injectors::new(config, cpus),
            lanes: Box::default(),
            peers: Peers::new(),
            sweeps: AtomicU64::new(0),
            late: Late::default(),
        }
    }

    /// Queues a job of any class, or returns it.
    pub(super) fn push(
        &self,
        class: Priority,
        job: Job,
        accepts: Accepts,
        idle: &Idle,
    ) -> Result<(), Job> {
        match (class, accepts) {
            (Priority::Normal, Accepts::IfOpen) => self.injectors.push(job),
            (Priority::Normal, Accepts::Always) => {
                self.injectors.push_accepted(job);
                Ok(())
            }
            _ => self.lanes.push(class, job, accepts, idle),
        }
    }

    /// Whether anything is queued that any worker may take.
    #[inline(never)]
    pub(super) fn has_work(&self) -> bool {
        self.has_shared() || self.peers.iter().any(|(_, peer)| peer.len() > 0)
    }

    /// Whether several jobs wait, or one has been waiting since the last call with these epochs, numbers that change with the queues of a worker.
    pub(super) fn are_stuck(&self, epochs: &mut Vec<u64>) -> bool {
        epochs.resize(self.peers.len(), 0);
        let mut are_stuck = self.has_shared();
        for (index, last) in epochs.iter_mut().enumerate() {
            let Some(peer) = self.peers.get(index) else { continue };
            let epoch = peer.epoch();
            let has_moved = core::mem::replace(last, epoch) != epoch;
            are_stuck |= peer.len() > usize::from(has_moved);
        }
        are_stuck
    }

    /// Whether anything is queued that belongs to no worker.
    pub(super) fn has_shared(&self) -> bool {
        !self.injectors.is_empty() || self.lanes.len() > 0
    }

    /// Counts the jobs that belong to no worker.
    pub(super) fn shared_len(&self) -> usize {
        self.injectors.len() + self.lanes.len()
    }

    /// The number of jobs that were ever queued other than on a worker.
    pub(super) fn pushed(&self) -> u64 {
        self.injectors.pushed() + self.lanes.pushed()
    }

    /// Accepts nothing from outside any more.
    pub(super) fn close(&self) {
        self.injectors.close();
        self.lanes.close();
    }

    /// Whether a worker has forked since the pool was built.
    pub(super) fn have_forked(&self) -> bool {
        self.peers.iter().any(|(_, peer)| peer.forks.is_used())
    }

    /// Ensures that the next look sees all forks that were pushed before by a worker that has not seen yet what this thread did
    /// before this: workers fork without a fence.
    #[inline]
    pub(super) fn fence_forks(&self) {
        if let Some((_, peer)) = self.peers.iter().find(|(_, peer)| peer.forks.is_used()) {
            peer.forks.fence();
            self.late.arrive(&self.injectors);
        }
    }

    /// Whether anything is queued that one worker alone may take.
    pub(super) fn has_mail(&self) -> bool {
        self.peers.iter().any(|(_, peer)| !peer.mailbox.is_empty())
    }

    /// Whether a worker has local futures that have not ended.
    pub(super) fn has_locals(&self) -> bool {
        self.peers.iter().any(|(_, peer)| peer.mailbox.has_locals())
    }

    /// Counts the jobs that any worker may take.
    #[inline(never)]
    pub(super) fn len(&self) -> usize {
        self.shared_len() + self.peers.iter().map(|(_, peer)| peer.len()).sum::<usize>()
    }

    /// Whether more jobs than that are queued. Those of no worker are counted first, as that is cheaper.
    pub(super) fn has_more_than(&self, jobs: usize) -> bool {
        self.shared_len() > jobs || self.len() > jobs
    }

    /// Drops completed entries of the injectors and the lanes, and returns how many of these it has cancelled. Each worker sweeps its
    /// own queue when it sees the new count of sweeps.
    pub(super) fn sweep(&self, idle: &Idle) -> u64 {
        // Twice as many as trigger a sweep, so that sweeps outpace the new completed entries.
        let most = 2 * MAX_STALE as usize;
        let cancelled = self.injectors.sweep(most) + self.lanes.sweep(most, idle);
        self.sweeps.fetch_add(1, Ordering::Relaxed);
        cancelled
    }

    /// How often [`sweep`](Self::sweep) was called.
    pub(super) fn sweeps(&self) -> u64 {
        self.sweeps.load(Ordering::Relaxed)
    }

    /// Takes the oldest fork, or job of a scope, of a worker, on a thread that need not be a worker.
    pub(super) fn take_oldest_part(&self) -> Option<Job> {
        let rest = deque::Worker::new();
        self.peers.iter().filter(|(_, peer)| !peer.forks.is_empty()).find_map(|(_, peer)| {
            let mut round = 0;
            loop {
                match peer.steal_fork(&rest) {
                    Ok(part) => return Some(part.into_job()),
                    Err(StealError::Empty) => return None,
                    Err(StealError::Busy) => {
                        hint::snooze(round);
                        round += 1;
                    }
                }
            }
        })
    }

    /// Takes the oldest job of the lowest class that has one, on a thread that need not be a worker.
    pub(super) fn take_oldest(&self, idle: &Idle) -> Option<(Priority, Job)> {
        let low = || self.lanes.pop_low(None, idle).map(|job| (Priority::Low, job));
        let normal = || self.take_oldest_normal().map(|job| (Priority::Normal, job));
        let high = || self.lanes.pop_high(idle).map(|job| (Priority::High, job));
        low().or_else(normal).or_else(high)
    }

    /// Takes the oldest job of an injector, else of a worker's queue.
    fn take_oldest_normal(&self) -> Option<Job> {
        self.injectors.pop(&Cursor::default()).or_else(|| {
            self.peers.iter().find_map(|(_, peer)| {
                let mut round = 0;
                loop {
                    match peer.remote.steal() {
                        Ok(job) => return Some(job),
                        Err(StealError::Empty) => return None,
                        Err(StealError::Busy) => {
                            hint::snooze(round);
                            round += 1;
                        }
                    }
                }
            })
        })
    }
}
