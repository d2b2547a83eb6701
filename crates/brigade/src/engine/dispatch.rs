//! Handing jobs to workers that are parked, now or never.
//!
//! **Hand-off rule.** Under the crew's lock a parked worker is claimed: off the list, and running from then on. Then the job is
//! put into its slot, and its token last. So who finds a token looks into the slot first: with a job there it was
//! claimed and runs that, without one it was picked to search. A worker is claimed once until it parks again, so its slot
//! is empty when it is.
//!
//! A job that is handed over never lies in a queue. Whoever parks later need not see it, and the end of the pool waits for
//! the worker that has it, as that one is not parked.
//!
//! A claimed worker does not go on to search, as a picked one would. So if it watched the queues, whoever claimed it
//! looks at them in its stead and has another woken. One that has announced itself and then sees work, and is claimed
//! before it can take the announcement back, has another woken by itself.
//!
//! Claimed workers are woken when all jobs have been handed over, also by a panic of what yields the jobs.

use brigade_burst::Leftover;
use brigade_task::Job;

use super::{Core, Worker};
use crate::handle::closure_of;
use crate::idle::{Claimed, Era};

/// A job on its way to a worker that was claimed for it.
pub(super) struct Handed {
    pub(super) job: Job,
    /// The phase in which it is later work, if one is on and it is.
    pub(super) late: Era,
}

/// Hands each closure to a worker that is parked, from a job of the pool's on `worker` or from outside, and wakes those.
pub(crate) fn dispatch<I>(core: &Core, worker: Option<&Worker>, mut jobs: I) -> Leftover<I>
where
    I: Iterator<Item: FnOnce() + Send + 'static>,
{
    let mut burst = Burst { core, claimed: Vec::new(), watched: false };
    while let Some(closure) = jobs.next() {
        if let Err(job) = burst.hand_over(Job::new(closure), worker) {
            return Leftover::new(Some(closure_of(job)), Some(jobs));
        }
    }
    Leftover::new(None, None)
}

/// Workers that have been handed a job and are to be woken.
struct Burst<'a> {
    core: &'a Core,
    claimed: Vec<usize>,
    /// Whether one of them watched the queues.
    watched: bool,
}

impl Burst<'_> {
    /// Hands a job to a parked worker, or gives it back.
    fn hand_over(&mut self, job: Job, worker: Option<&Worker>) -> Result<(), Job> {
        let core = self.core;
        // A look without the locks: a busy pool says so at once.
        if core.idle.snapshot().parked() == 0 {
            return Err(job);
        }
        let claim = || core.idle.claim(worker.map(Worker::tag));
        let Some(claimed) = core.accept_for(worker.is_some(), claim) else { return Err(job) };
        let Claimed { index, late, watched } = claimed;
        let Ok(()) = core.peers.at(index).slot.put(Handed { job, late }) else {
            unreachable!("a worker is claimed once until it parks again")
        };
        self.claimed.push(index);
        self.watched |= watched;
        Ok(())
    }
}

impl Drop for Burst<'_> {
    fn drop(&mut self) {
        for &index in &self.claimed {
            // Where the kernel puts it: `docs/design/placement.md` has the measurement.
            self.core.peers.at(index).parker.unpark();
        }
        if self.watched {
            // Who saw somebody watch has told nobody of a lone job.
            let seen = self.core.idle.after_publishing();
            if seen.wants_help() && self.core.has_work() {
                self.core.help();
            }
        }
    }
}
