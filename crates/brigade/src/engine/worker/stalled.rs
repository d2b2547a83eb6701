//! Jobs that wait behind a worker that does not get on: it is in a long job, or the system runs another thread on its CPU.
//!
//! A worker that has jobs of its own, or events to handle, does not steal. If all the others are like that, what is queued on a
//! worker that was preempted waits for a time slice, some 4 ms. So each looks at one peer's queue from time to time.

use core::cell::Cell;

use brigade_task::Job;

use super::Worker;

/// The look of a worker at one peer's queue.
#[derive(Default)]
pub(super) struct PeerLook {
    /// The peer.
    peer: Cell<usize>,
    /// The epoch of its queue at the last look, if there were jobs.
    epoch: Cell<Option<u64>>,
}

impl Worker {
    /// Looks at the queue of one peer. If it has not moved since the last look, takes half of its jobs: returns the oldest and
    /// queues the others. If it has, or is empty, the next look is at another one.
    pub(super) fn steal_stalled(&self) -> Option<Job> {
        let (peers, look) = (&self.core.queues.peers, &self.route.look);
        let index = look.peer.get();
        let queue = peers.get(index).filter(|_| index != self.index).map(|peer| &peer.remote);
        let seen = queue.filter(|queue| queue.len() > 0).map(|queue| (queue, queue.epoch()));
        match (seen, look.epoch.take()) {
            (Some((_, epoch)), None) => {
                look.epoch.set(Some(epoch));
                None
            }
            (Some((queue, epoch)), Some(last)) if epoch == last => {
                let before = self.local.len();
                let job = self.local.steal_from(queue).ok()?;
                self.me.counters.stolen.add(1);
                self.tell_of_steal(before, index);
                // If it is still where it is then, the rest has waited for long enough at the next look.
                look.epoch.set(Some(queue.epoch()));
                self.announce_taken();
                Some(job)
            }
            _ => {
                look.peer.set((index + 1) % peers.len());
                None
            }
        }
    }
}
