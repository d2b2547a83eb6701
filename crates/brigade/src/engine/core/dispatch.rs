//! Handing jobs to idle workers at once.
//!
//! A parked worker is picked and finds the job in the mailbox, like a share of a broadcast. Until then it
//! counts as a searcher, like each picked worker, and so takes over work that relied on it. It looks into its
//! mailbox first. `engine/idle/MAILBOX.md` has the protocol.
//!
//! The user's iterator is called before any worker is picked; no user code runs from then on until all picked
//! workers are awake. They are no longer idle, and a slow iterator must not keep them from other work.

use brigade_task::{Job, Work};

use super::Core;
use crate::values::{Priority, closure_of};

/// Hands closures of a class to parked workers, and wakes the workers. The caller is a job of the pool
/// (`inside`) or elsewhere. Returns the remaining closures: a list already taken from the iterator, and the
/// rest of the iterator.
pub(crate) fn dispatch<I>(
    core: &Core,
    inside: bool,
    class: Priority,
    mut jobs: I,
) -> (Vec<I::Item>, I)
where
    I: Iterator<Item: Work<Output = ()>>,
{
    let idle = core.idle.snapshot().parked();
    let mut taken = jobs.by_ref().take(idle).collect::<Vec<_>>().into_iter();
    let mut refused = Vec::new();
    // The iterator may have forked, and have returned in the child.
    if core.key.is_here() {
        let mut picked = Vec::with_capacity(taken.len());
        for closure in taken.by_ref() {
            let mut job = Some(Job::new(closure));
            picked.extend(core.accept_for(inside, || core.send_to_parked(class, &mut job)));
            if let Some(job) = job {
                refused.push(closure_of(job));
                break;
            }
        }
        picked.into_iter().for_each(|index| core.wake(index));
    }
    refused.extend(taken);
    (refused, jobs)
}

impl Core {
    /// Picks a parked worker and moves the job to that mailbox. The caller must wake the worker.
    fn send_to_parked(&self, class: Priority, job: &mut Option<Job>) -> Option<usize> {
        let index = self.idle.pick_parked()?;
        if let Some(job) = job.take() {
            // A worker parked inside a job is woken like an idle worker; the waker is not needed.
            let _ = self.queues.peers.at(index).mailbox.send_share(class, job);
        }
        Some(index)
    }
}
