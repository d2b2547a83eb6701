//! How a worker runs its local futures, and how somebody else wakes one of them.

use core::any::Any;

use brigade_task::{Job, Ran, TaskRef};

use super::aside;
use super::peers::Peer;
use super::{CURRENT, Core, Worker};

impl Worker {
    /// The place of this worker.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Accepts a local future, whose first job is about to be queued.
    pub(crate) fn accept_local(&self) {
        self.me.counters.accepted.add(1);
        self.me.post.accept();
    }

    /// Enters a local future that is about to wait; returns its number.
    pub(crate) fn local_waits(&self, task: TaskRef) -> u32 {
        self.me.post.enter(task)
    }

    /// Takes a local future that was woken.
    pub(super) fn take_local(&self) -> Option<Job> {
        self.me.post.take()
    }

    /// The same where other work may wait too: every other time that comes first.
    pub(super) fn take_local_in_turn(&self) -> Option<Job> {
        if self.has_taken_local.take() {
            return None;
        }
        let job = self.take_local();
        self.has_taken_local.set(job.is_some());
        job
    }

    /// Counts a local future that ended here, and reports a panic that no handle takes.
    pub(crate) fn local_ended(
        &self,
        number: u32,
        ran: Ran,
        unclaimed: Option<Box<dyn Any + Send>>,
    ) {
        self.count_ended(ran, unclaimed);
        self.me.post.leave(number);
    }
}

impl Core {
    /// Queues a local future that was woken for its own worker, in the place with this index, and wakes that if it sleeps.
    pub(crate) fn send_local(&self, index: usize, job: Job) {
        let peer = self.peers.at(index);
        peer.post.send(job);
        let is_own = |worker: &Worker| worker.is_of(self.key) && worker.index == index;
        if CURRENT.with(|worker| worker.is_some_and(is_own)) {
            // It looks before it sleeps.
            return;
        }
        if self.idle.after_publishing().parked() > 0 {
            self.wake_if_parked(index);
        }
    }

    /// Whether a local future has been woken and not been polled since.
    pub(super) fn has_mail(&self) -> bool {
        self.peers.iter().any(|peer| !peer.post.is_empty())
    }

    /// As the thread of a worker that is one no longer: cancels its local futures.
    ///
    /// What their drops submit goes to the pool from outside; it would lie on the worker's queue for ever.
    pub(super) fn cancel_locals(&self, me: &Peer) {
        let mut round = 0;
        while me.post.has_locals() {
            me.post.wake_all();
            match me.post.take() {
                Some(job) => {
                    let mut next = Some(job);
                    while let Some(job) = next {
                        aside::aside(self.key, || drop(job));
                        next = me.post.take();
                    }
                    round = 0;
                }
                None => {
                    // Somebody has woken the last of them, and is about to send it.
                    brigade_sync::hint::snooze(round);
                    round += 1;
                }
            }
        }
    }

    /// Counts a local future that ended when its worker was one no longer.
    pub(crate) fn local_ended(
        &self,
        index: usize,
        number: u32,
        ran: Ran,
        unclaimed: Option<Box<dyn Any + Send>>,
    ) {
        self.count_ended(ran, unclaimed);
        self.peers.at(index).post.leave(number);
    }
}
