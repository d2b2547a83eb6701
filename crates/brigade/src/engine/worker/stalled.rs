//! Jobs queued behind a worker that does not get on: it is in a long job, or the system runs another thread on its CPU.
//!
//! A worker with its own jobs, or with events to handle, does not steal. If all peers are like this, jobs queued on a
//! preempted worker wait for a time slice, about 4 ms. So each worker looks at one peer's queue from time to time.

use core::cell::Cell;

use brigade_task::Job;

use super::Worker;

/// A worker's look at the queue of a peer.
#[derive(Default)]
pub(super) struct PeerLook {
    /// The peer.
    peer: Cell<usize>,
    /// The epoch of the queue at the last look, if it had jobs.
    epoch: Cell<Option<u64>>,
}

impl Worker {
    /// Looks at the queue of a peer. If the queue has not moved since the last look, takes half of the jobs: returns
    /// the oldest and queues the rest. If it has moved or is empty, the next look is at the next peer.
    pub(super) fn steal_stalled(&self) -> Option<Job> {
        let processor = &self.processor;
        let (peers, look) = (&processor.core.work.queues.peers, &self.route.look);
        let index = look.peer.get();
        let queue = peers.get(index).filter(|_| index != processor.index).map(|peer| &peer.remote);
        let seen = queue.filter(|queue| queue.len() > 0).map(|queue| (queue, queue.epoch()));
        match (seen, look.epoch.take()) {
            (Some((_, epoch)), None) => {
                look.epoch.set(Some(epoch));
                None
            }
            (Some((queue, epoch)), Some(last)) if epoch == last => {
                let before = processor.local.len();
                let job = processor.local.steal_from(queue).ok()?;
                processor.me.counters.stolen.add(1);
                processor.tell_of_steal(before, index);
                // If the queue has not moved by the next look, the remaining jobs have waited for long enough.
                look.epoch.set(Some(queue.epoch()));
                processor.announce_taken();
                Some(job)
            }
            _ => {
                look.peer.set((index + 1) % peers.len());
                None
            }
        }
    }
}
