//! How a worker wakes a peer, and on which CPUs the two run. `docs/design/placement.md` has the reasons.

use core::cell::Cell;

use crate::engine::sleep::sleeper::leave_this_cpu;
use crate::engine::worker::Worker;

/// The recent actions of a worker: how it wakes peers and takes mail depends on them.
#[derive(Default)]
pub(in crate::engine) struct Activity {
    /// Whether the worker polls without sleeping now: the jobs queued meanwhile come from events.
    pub(in crate::engine) polls: Cell<bool>,
    /// Whether the worker has slept on the driver since the last search.
    pub(in crate::engine) has_slept_on_driver: Cell<bool>,
    /// The peer woken last, until this worker has checked whether it runs.
    pub(in crate::engine) woken: Cell<Option<usize>>,
    /// Whether the worker polls a future of a closed pool, and runs no closure.
    pub(in crate::engine) polls_future: Cell<bool>,
    /// Whether the worker has run parts, or waited for stolen parts, since the last search.
    pub(in crate::engine) has_run_parts: Cell<bool>,
    /// Whether a search has found a job since the worker started.
    pub(in crate::engine) has_found: Cell<bool>,
    /// Whether the last job taken in turn came from the mailbox.
    pub(in crate::engine) came_by_mail: Cell<bool>,
}

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
