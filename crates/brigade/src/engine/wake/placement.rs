//! How a worker wakes a peer, and on which CPUs the two run. `docs/design/placement.md` has the reasons.

use crate::engine::sleep::sleeper::leave_this_cpu;
use crate::engine::worker::Worker;

impl Worker {
    /// Notes a peer woken by this worker. Before its next job, this worker [looks](Self::move_woken) whether the peer
    /// runs.
    pub(in crate::engine) fn has_woken(&self, peer: Option<usize>) {
        if peer.is_some() && self.shared.config.may_spread() {
            self.activity.woken.set(peer);
            self.pace.interrupt();
        }
    }

    /// Leaves the CPU to the waking thread, if this worker runs in its place and more work is queued. Moves a peer
    /// woken by this worker to another CPU, if the peer still waits.
    pub(in crate::engine) fn move_woken(&self) {
        if self.me.sleeper.displaces_waker() && self.shared.queues.has_work() {
            leave_this_cpu();
        }
        if let Some(peer) = self.activity.woken.take() {
            if self.shared.idle.has_free_cpus(1) {
                self.shared.queues.peers.at(peer).sleeper.keep_off_this_cpu();
            }
        }
    }
}
