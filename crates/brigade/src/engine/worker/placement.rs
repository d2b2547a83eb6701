//! Where the threads run that this worker wakes, or that wake it. `docs/design/placement.md` has the reasons.

use super::Worker;
use crate::engine::core::Core;
use crate::engine::sleep::sleeper::leave_this_cpu;

impl Worker {
    /// Wakes or starts a worker for published work, as [`Core::help`].
    pub(super) fn help(&self) {
        // Wakes for events are the kernel's: the jobs are short, as a rule, and the events may come from other processes on this machine.
        if self.activity.polls() || self.activity.has_slept_on_driver() {
            let _ = self.core.help_by(Core::wake);
        } else {
            self.has_woken(self.core.help());
        }
    }

    /// Notes a peer that this worker has woken; it [looks](Self::move_woken) before its next job whether the peer runs.
    pub(super) fn has_woken(&self, peer: Option<usize>) {
        if peer.is_some() && self.core.config.may_spread() {
            self.activity.wake(peer);
            self.pace.interrupt();
        }
    }

    /// Leaves the CPU to the thread that has woken this worker, if the worker runs in its place and there is more to run. Moves a peer that this worker
    /// has woken to another CPU, if the peer still waits.
    pub(super) fn move_woken(&self) {
        if self.me.sleeper.displaces_waker() && self.core.queues.has_work() {
            leave_this_cpu();
        }
        if let Some(peer) = self.activity.take_woken() {
            if self.core.idle.has_free_cpus(1) {
                self.core.queues.peers.at(peer).sleeper.keep_off_this_cpu();
            }
        }
    }
}
