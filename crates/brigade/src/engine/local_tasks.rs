//! How a worker runs its local futures, and how somebody else wakes one of them.

use core::any::Any;

use brigade_task::{Job, Ran};

use super::aside;
use super::peers::Peer;
use super::{CURRENT, Core, Worker};

impl Worker {
    /// The place of this worker.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Accepts a local future: enters it, and queues the job that polls it first.
    pub(crate) fn enter_local(&self, waker: core::task::Waker) -> u32 {
        self.me.counters.accepted.add(1);
        self.me.post.enter(waker)
    }

    /// Takes a local future that was woken. It is no later work, whoever woke it: we are late no more.
    pub(super) fn take_local(&self) -> Option<Job> {
        let job = self.me.post.take()?;
        self.come_back();
        Some(job)
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

    /// Wakes a local future, if it has not ended.
    pub(crate) fn wake_local(&self, index: usize, number: u32) {
        self.peers.at(index).post.wake(number);
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
        while me.post.wake_all() {
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
