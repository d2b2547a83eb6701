//! Handing jobs to parked workers, without a queue.
//!
//! **Hand-off rule.** A parked worker is claimed under the crew's lock: it is taken off the list, and is running from then on.
//! Then the job is put into its slot, and the token is set last. So a worker that finds a token looks into the slot first. With
//! a job in it the worker was claimed, and runs that job; otherwise it was picked to search. A worker is claimed only once
//! until it parks again, so its slot is empty when that happens.
//!
//! A job that is handed over is never in a queue. A worker that parks later need not see it, and the end of the pool waits for
//! the worker that has it, as that worker is not parked.
//!
//! A claimed worker does not search, as a picked one would. So if it had a duty, the thread that claimed it looks at the queues
//! in its place and wakes another worker. A worker that has announced itself, then sees work, and is claimed before it can
//! withdraw, wakes another worker itself.
//!
//! The user's iterator is called before any worker is claimed, and no user code runs from then on until all claimed workers are
//! awake. These are no longer idle, and a slow iterator must not keep them from other work.

use brigade_task::{Job, Work};

use super::core::Core;
use super::worker::Worker;
use crate::idle::Claimed;
use crate::priority::Priority;
use crate::rejected::closure_of;

/// Hands closures of a class to parked workers and wakes these; the caller is a job on `worker`, or outside of the pool. Returns those
/// that were not handed to one: those taken from the iterator, and the rest of it.
pub(crate) fn dispatch<I>(
    core: &Core,
    worker: Option<&Worker>,
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
        let claimed = Vec::with_capacity(taken.len());
        let mut burst = Burst { core, class, claimed, on_duty: false };
        for closure in taken.by_ref() {
            if let Err(job) = burst.hand_over(Job::new(closure), worker) {
                refused.push(closure_of(job));
                break;
            }
        }
        burst.wake();
    }
    refused.extend(taken);
    (refused, jobs)
}

/// Workers that have been handed a job and must be woken.
struct Burst<'a> {
    core: &'a Core,
    class: Priority,
    claimed: Vec<usize>,
    /// Whether one of them had a duty.
    on_duty: bool,
}

impl Burst<'_> {
    /// Hands a job to a parked worker, or returns it.
    fn hand_over(&mut self, job: Job, worker: Option<&Worker>) -> Result<(), Job> {
        let core = self.core;
        let Some(claimed) = core.accept_for(worker.is_some(), || core.idle.claim()) else {
            return Err(job);
        };
        let Claimed { index, was_on_duty } = claimed;
        let Ok(()) = core.queues.peers.at(index).sleeper.slot.put((self.class, job)) else {
            unreachable!("a worker is claimed once until it parks again")
        };
        self.claimed.push(index);
        self.on_duty |= was_on_duty;
        Ok(())
    }

    /// Wakes all that were claimed.
    fn wake(self) {
        let core = self.core;
        for index in self.claimed {
            core.wake(index);
        }
        if self.on_duty {
            // A submitter may have woken no worker for a lone job, as it saw that one of them monitored the queues.
            core.queues.fence_forks();
            if core.queues.has_work() {
                core.offer_help();
            }
            core.see_to_driver();
        }
    }
}
