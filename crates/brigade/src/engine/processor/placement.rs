//! How a worker wakes a peer, and on which CPUs the two run. `docs/design/placement.md` has the reasons.

use core::cell::Cell;

use super::Processor;
use crate::engine::sleep::sleeper::leave_this_cpu;

/// The recent actions of a worker: how it wakes peers and takes mail depends on them.
#[derive(Default)]
pub(in crate::engine) struct Activity {
    /// Whether the worker polls without sleeping now: the jobs queued meanwhile come from events.
    pub(in crate::engine) polls: Cell<bool>,
    /// Whether the worker has slept on the driver since the last search.
    pub(in crate::engine) has_slept_on_driver: Cell<bool>,
    /// The peer woken last, until this worker has checked whether it runs.
    pub(super) woken: Cell<Option<usize>>,
    /// Whether the worker polls a future of a closed pool, and runs no closure.
    pub(super) polls_future: Cell<bool>,
    /// Whether the last job taken in turn came from the mailbox.
    pub(super) came_by_mail: Cell<bool>,
}

impl Processor {
    /// Wakes or starts a worker for published work, like [`Core::help`](crate::engine::Core::help).
    pub(in crate::engine) fn help(&self) {
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
    pub(in crate::engine) fn has_woken(&self, peer: Option<usize>) {
        if peer.is_some() && self.core.config.may_spread() {
            self.activity.woken.set(peer);
            self.pace.interrupt();
        }
    }

    /// Leaves the CPU to the waking thread, if this worker runs in its place and more work is queued. Moves a peer
    /// woken by this worker to another CPU, if the peer still waits.
    pub(in crate::engine) fn move_woken(&self) {
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
