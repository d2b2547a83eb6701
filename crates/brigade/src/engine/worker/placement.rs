//! On which CPUs a woken worker and the waking thread run. `docs/design/placement.md` has the reasons.

use super::Worker;
use crate::engine::sleep::sleeper::leave_this_cpu;

impl Worker {
    /// Wakes or starts a worker for published work, like [`Core::help`](crate::engine::Core::help).
    pub(super) fn help(&self) {
        // The kernel places workers woken for events: their jobs are usually short, and the events may come from other
        // processes on this machine.
        if self.activity.polls.get() || self.activity.has_slept_on_driver.get() {
            let _ = self.core.help_by(|core, index| core.work.wake(index));
        } else {
            self.has_woken(self.core.help());
        }
    }

    /// Notes a peer woken by this worker. Before its next job, this worker [looks](Self::move_woken) whether the peer
    /// runs.
    pub(super) fn has_woken(&self, peer: Option<usize>) {
        if peer.is_some() && self.core.config.may_spread() {
            self.activity.woken.set(peer);
            self.pace.interrupt();
        }
    }

    /// Leaves the CPU to the waking thread, if this worker runs in its place and more work is queued. Moves a peer
    /// woken by this worker to another CPU, if the peer still waits.
    pub(super) fn move_woken(&self) {
        if self.me.sleeper.displaces_waker() && self.core.work.queues.has_work() {
            leave_this_cpu();
        }
        if let Some(peer) = self.activity.woken.take() {
            if self.core.work.idle.has_free_cpus(1) {
                self.core.work.queues.peers.at(peer).sleeper.keep_off_this_cpu();
            }
        }
    }
}
