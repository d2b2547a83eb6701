//! Admission to a bounded pool: whether a job gets a permit, and the consequence if not.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_sync::time;
use brigade_task::{Cause, Job, Outcome, enter_other};

use super::semaphore::{Permit, Semaphore, Waiter, gives_back};
use crate::engine::end::OffPoolWork;
use crate::engine::end::off_pool::{cancel_contained, is_off_pool, nest};
use crate::engine::enter::enter_outside;
use crate::engine::shared::Shared;
use crate::engine::sleep::events::blocked::WaitUntil;
use crate::values::{Priority, Reason, WhenFull};

/// The decision on a submission.
pub(crate) enum Admission<'a> {
    /// It is queued: with this permit, beyond the capacity, or in an unbounded pool.
    Queue(Option<Permit>),
    /// It is queued with this permit, in place of a job that must be dropped afterwards.
    Replace(Permit, Evicted<'a>),
    /// It is not queued.
    Unqueued(Unqueued<'a>),
    /// It is rejected.
    Refuse(Reason),
}

/// A submission must [wait](Shared::wait_for_permit) for a permit until this instant; `None` is no limit.
pub(crate) struct MustWait(pub(crate) Option<Instant>);

/// A submission that is accepted and not queued.
pub(crate) struct Unqueued<'a> {
    /// From the acceptance to the end of the job.
    pub(crate) work: OffPoolWork<'a>,
    /// Runs or drops the job.
    pub(crate) finish: fn(&Shared, Job),
}

/// A job taken out of the queue of a full pool. This drops it, and more jobs until there is room.
pub(crate) struct Evicted<'a> {
    shared: &'a Shared,
    job: Option<Job>,
    /// From before the job is taken to the end of its drop.
    _work: OffPoolWork<'a>,
}

impl Drop for Evicted<'_> {
    fn drop(&mut self) {
        let Self { shared, job, .. } = self;
        let mut next = job.take();
        let _nested = nest(shared.key, true);
        while let Some(job) = next {
            let mut was_live = false;
            let gives_back = gives_back(|| was_live = shared.drop_for_room(job));
            // A job that was queued beyond the capacity has made no room.
            let is_over = !was_live || gives_back;
            next = if is_over { None } else { shared.take_for_room() };
        }
    }
}

impl Shared {
    /// Decides on a submission, from a job of this pool (`inside`) or from elsewhere.
    ///
    /// A job that may neither wait nor run here is queued beyond the capacity, without a permit.
    ///
    /// # Errors
    /// If the submission must wait. Never `inside`: a worker can't wait for jobs that it has to run itself.
    pub(crate) fn admit(
        &self,
        when_full: WhenFull,
        until: Option<Instant>,
        inside: bool,
    ) -> Result<Admission<'_>, MustWait> {
        let Some(permits) = &self.permits else { return Ok(Admission::Queue(None)) };
        if let Some(permit) = permits.try_acquire() {
            return Ok(Admission::Queue(Some(permit)));
        }
        // Checked after the permits: either the pool was full while open, or it is closed, which takes
        // precedence.
        if self.idle.snapshot().rejects(inside) {
            return Ok(Admission::Refuse(Reason::Closed));
        }
        Ok(match when_full {
            WhenFull::Reject | WhenFull::BlockFor(Duration::ZERO) => {
                Admission::Refuse(Reason::Full)
            }
            // In the user's spawner, the submission that called it may have the only permit, and has not made
            // its job yet. Inside work off the pool, a further piece of such work would nest.
            _ if self.idle.roster().starts.has_starter() || is_off_pool(self.key) => {
                Admission::Queue(None)
            }
            WhenFull::Block | WhenFull::BlockFor(_) | WhenFull::RunInCaller if inside => {
                Admission::Queue(None)
            }
            // Jobs spawned by this job belong to its pool.
            WhenFull::RunInCaller => self.accept_unqueued(inside, |shared, job| {
                let _nested = nest(shared.key, true);
                let mut job = Some(job);
                enter_outside(shared, &mut || _ = job.take().map(|job| shared.run_here(job)));
            }),
            WhenFull::Block => return Err(MustWait(until)),
            WhenFull::BlockFor(timeout) => {
                // A deadline too far in the future to be represented is no deadline.
                let end = time::now().checked_add(timeout);
                return Err(MustWait(time::earlier(end, until)));
            }
            WhenFull::DropOldest => self.make_room(permits),
            WhenFull::DropNewest => self.accept_unqueued(inside, |shared, job| {
                let _nested = nest(shared.key, true);
                shared.drop_for_room(job);
            }),
        })
    }

    /// Accepts a job that the pool agreed to before it was closed, or returns it if the pool no longer runs
    /// jobs.
    pub(crate) fn accept_late(&self, class: Priority, job: Job) -> Result<(), Job> {
        let reserved = self.reserve();
        self.push_late(class, job)?;
        self.wake_or_retry(reserved.is_ok());
        Ok(())
    }

    /// Accepts a job without queueing it, if the pool is still open.
    fn accept_unqueued(&self, inside: bool, finish: fn(&Shared, Job)) -> Admission<'_> {
        // Accepted and counted as work off the pool in a single step: the end of the pool waits for it.
        let accepted = self.accept(inside, |accepted| {
            *accepted += 1;
            self.begin_off_pool()
        });
        match accepted {
            Some(work) => Admission::Unqueued(Unqueued { work, finish }),
            None => Admission::Refuse(Reason::Closed),
        }
    }

    /// Waits for a permit.
    pub(crate) fn wait_for_permit(
        &self,
        MustWait(until): MustWait,
        wait: WaitUntil,
    ) -> Admission<'_> {
        let Some(permits) = &self.permits else { return Admission::Queue(None) };
        let (mut waiter, mut permit) = (Waiter::new(permits.clone()), None);
        wait(self.key.if_threadless(), until, &mut |thread| {
            if let Some(thread) = thread {
                waiter.register(&thread.clone().into(), Some(thread.clone()));
            }
            permit = permit.take().or_else(|| permits.try_acquire());
            permit.is_some() || self.is_closed()
        });
        match permit {
            Some(_) => Admission::Queue(permit),
            None if self.is_closed() => Admission::Refuse(Reason::Closed),
            None => Admission::Refuse(Reason::Full),
        }
    }

    /// Takes the oldest job of the lowest class out of the queue, for another. Never waits.
    fn make_room(&self, permits: &Arc<Semaphore>) -> Admission<'_> {
        let mut evicted = Evicted { shared: self, job: None, _work: self.begin_off_pool() };
        loop {
            match self.take_for_room() {
                // Its handle has given its permit back.
                Some(job) if job.is_stale() => {
                    self.drop_for_room(job);
                    if let Some(permit) = permits.try_acquire() {
                        return Admission::Queue(Some(permit));
                    }
                }
                Some(job) => {
                    evicted.job = Some(job);
                    return Admission::Replace(permits.exceed(), evicted);
                }
                None if permits.are_reserved() => return Admission::Refuse(Reason::Full),
                // All jobs are moving between queues, or are about to start.
                None => return Admission::Queue(Some(permits.exceed())),
            }
        }
    }

    /// Takes the oldest job of the lowest class, except jobs without a permit: futures polled before, and jobs that
    /// borrow from a waiting thread.
    fn take_for_room(&self) -> Option<Job> {
        let job = self.take_oldest(&|job| !job.is_resumption() && !job.borrows());
        self.wake_if_wanted(self.idle.after_publishing());
        // A closing thread may have seen a job where none was, and not have terminated the pool.
        self.try_terminate();
        job
    }

    /// Takes the oldest queued job accepted by `takes`. The caller must wake a worker then, if one is wanted: a worker that parked meanwhile
    /// may have missed a job that was moved.
    pub(super) fn take_oldest(&self, takes: &dyn Fn(&Job) -> bool) -> Option<Job> {
        // Under the gate, like the end of the pool: the jobs that stay may move from a queue that the end has not
        // looked at to one that it has looked at.
        let _gate = self.tasks.lock_gate();
        self.queues.take_oldest(takes, &self.idle)
    }

    /// Drops a job because the pool is full: a queued job, or a job accepted without being queued. Returns `false` if the
    /// job's handle has cancelled it, before or just now.
    pub(crate) fn drop_for_room(&self, job: Job) -> bool {
        let _work = self.off_pool();
        let (is_new, outcome) = match job.drop_if_stale() {
            Ok(outcome) => (false, outcome),
            Err(job) => (true, cancel_contained(job, Cause::Evicted)),
        };
        self.ledger.count(outcome);
        is_new && outcome != Outcome::Stale
    }

    /// Runs an unqueued job, a closure or the first poll of a future, on this thread, which is not a worker
    /// of the pool.
    pub(crate) fn run_here(&self, job: Job) {
        let _work = self.off_pool();
        // Nothing of the submitting job belongs to the new job.
        let run = || enter_other(|| job.run());
        let outcome = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
            // A panic of the callback has been contained; only workers have counters for panics.
            let _ = self.tell_panic(payload);
            Outcome::Panicked
        });
        self.ledger.count(outcome);
        // The pool may have ended in the meantime, before it listed this future.
        self.end_waiting();
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use brigade_task::Work;

    use super::*;
    use crate::engine::key::{Key, Kind};
    use crate::engine::{Child, resources_of};
    use crate::values::{Config, Size};

    fn core_without_threads() -> Arc<Shared> {
        let config = Config { size: Size { core: 0, max: 1, spare: 1 }, ..Config::default() };
        let key = Key::new::<Child>(Kind::default()).unwrap();
        Shared::new(key, config, None, |_, _| unreachable!("no thread is started"), resources_of)
    }

    /// The job of a timer that has been cancelled since it was due.
    struct OfCancelledTimer;

    impl Work for OfCancelledTimer {
        type Output = ();

        fn may_start(&self) -> Result<(), Cause> {
            Err(Cause::Asked)
        }

        fn is_stale(&self) -> bool {
            true
        }

        fn run(self) {}
    }

    #[test]
    fn a_cancelled_timer_is_no_eviction() {
        let shared = core_without_threads();
        shared.drop_for_room(Job::new(OfCancelledTimer));
        shared.drop_for_room(Job::new(|| ()));
        let metrics = shared.metrics();
        assert_eq!((metrics.cancelled, metrics.evicted), (2, 1));
    }

    #[test]
    fn a_closing_pool_does_not_say_no_thread() {
        let shared = core_without_threads();
        assert_eq!(shared.refusal(), Reason::NoThread);
        // The first step of `close`, after which jobs are refused.
        shared.queues.injectors.close();
        assert_eq!(shared.refusal(), Reason::Closed);
    }
}
