//! Handing jobs to idle workers at once.
//!
//! A parked worker is picked and finds the job in the mailbox, like a share of a broadcast. Until then it
//! counts as a searcher, like each picked worker, and so takes over work that relied on it. It looks into its
//! mailbox first. `engine/idle/MAILBOX.md` has the protocol.
//!
//! The user's iterator is called before any worker is picked; no user code runs from then on until all picked
//! workers are awake. They are no longer idle, and a slow iterator must not keep them from other work.

use core::iter;
use std::vec::IntoIter;

use brigade_task::Job;

use super::Core;
use crate::values::Priority;

impl Core {
    /// Hands jobs of a class to parked workers, and wakes the workers. The caller is a job of the pool (`inside`)
    /// or elsewhere. Takes at most one job for each parked worker from the iterator; returns the jobs that were not
    /// handed over.
    pub(crate) fn dispatch(
        &self,
        inside: bool,
        class: Priority,
        jobs: &mut dyn Iterator<Item = Job>,
    ) -> IntoIter<Job> {
        let parked = self.work.idle.snapshot().parked();
        let mut jobs = jobs.take(parked).collect::<Vec<_>>().into_iter();
        // The iterator may have forked, and have returned in the child.
        if !self.work.key.is_here() {
            return jobs;
        }
        let mut picked = Vec::with_capacity(jobs.len());
        picked.extend(iter::from_fn(|| {
            // Before a worker is picked, which must get a job.
            jobs.as_slice().first()?;
            let sent = self.work.accept(inside, |accepted| {
                let index = self.work.idle.pick_parked()?;
                // A worker parked inside a job is woken like an idle worker; the waker is not needed.
                let _ = self.work.queues.peers.at(index).mailbox.send_share(class, jobs.next()?);
                *accepted += 1;
                Some(index)
            });
            sent.flatten()
        }));
        picked.into_iter().for_each(|index| self.work.wake(index));
        jobs
    }
}
