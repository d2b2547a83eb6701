//! Jobs that wait behind a worker that does not get on: it is in a long job, or the system runs another thread on its CPU. And threads
//! that wait for the CPU of this worker.
//!
//! A worker that has jobs of its own, or events to handle, does not steal. If all the others are like that, what is queued on a
//! worker that was preempted waits for a time slice, some 4 ms. So each looks at one peer's queue from time to time.

use core::cell::Cell;

use brigade_task::Job;

use super::Worker;
use crate::engine::core::Core;
use crate::engine::sleeper::leave_this_cpu;

/// The state of a worker's looks at its peers.
#[derive(Default)]
pub(super) struct Relief {
    /// The peer that it has woken last, until its next look.
    woken: Cell<Option<usize>>,
    /// The peer whose queue it looks at.
    peer: Cell<usize>,
    /// Its mark at the last look, if there were jobs.
    mark: Cell<Option<u64>>,
}

impl Worker {
    /// Wakes or starts a worker for published work, as [`Core::help`].
    pub(super) fn help(&self) {
        // Wakes for events are the kernel's: the jobs are short, as a rule, and the events may come from other processes on this machine.
        if self.rests.polls() || self.rests.has_slept() {
            let _ = self.core.help_by(Core::wake);
        } else {
            self.has_woken(self.core.help());
        }
    }

    /// Notes a peer that this worker has woken; it [looks](Self::move_woken) before its next job whether the peer runs.
    pub(super) fn has_woken(&self, peer: Option<usize>) {
        if peer.is_some() && self.core.config.may_spread() {
            self.relief.woken.set(peer);
            self.pace.interrupt();
        }
    }

    /// Leaves the CPU to the thread that has woken this worker, if the worker runs in its place and there is more to run. Moves a peer that this worker
    /// has woken to another CPU, if the peer still waits. `docs/design/placement.md` has the reasons.
    pub(super) fn move_woken(&self) {
        if self.me.sleeper.displaces_waker() && self.core.queues.has_work() {
            leave_this_cpu();
        }
        if let Some(peer) = self.relief.woken.take() {
            if self.core.idle.has_free_cpus(1) {
                self.core.queues.peers.at(peer).sleeper.keep_off_this_cpu();
            }
        }
    }

    /// Looks at the queue of one peer. If it has not moved since the last look, takes half of its jobs: returns the oldest and
    /// queues the others. If it has, or is empty, the next look is at another one.
    pub(super) fn relieve(&self) -> Option<Job> {
        let (peers, relief) = (&self.core.queues.peers, &self.relief);
        let index = relief.peer.get();
        let queue = peers.get(index).filter(|_| index != self.index).map(|peer| &peer.remote);
        let seen = queue.filter(|queue| queue.len() > 0).map(|queue| (queue, queue.mark()));
        match (seen, relief.mark.take()) {
            (Some((_, mark)), None) => {
                relief.mark.set(Some(mark));
                None
            }
            (Some((queue, mark)), Some(last)) if mark == last => {
                let before = self.local.len();
                let job = self.local.steal_from(queue).ok()?;
                self.me.counters.stolen.add(1);
                self.tell_of_steal(before, index);
                // If it is still where it is then, the rest has waited for long enough at the next look.
                relief.mark.set(Some(queue.mark()));
                self.announce_taken();
                Some(job)
            }
            _ => {
                relief.peer.set((index + 1) % peers.len());
                None
            }
        }
    }
}
