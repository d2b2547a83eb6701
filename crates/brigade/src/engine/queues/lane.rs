//! A queue under a lock, with a length that is read without the lock: of a class, or of the entries kept by
//! sweeps.

use std::collections::VecDeque;
use std::time::Instant;

use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::unmodelled::AtomicU64;
use brigade_sync::{Mutex, time};
use brigade_task::{Job, Outcome};

use super::Accepts;
use crate::engine::idle::Idle;

/// The capacity kept by an empty lane, or an empty list of futures.
pub(in crate::engine) const KEPT: usize = 1024;

/// Jobs in the order of submission.
///
/// The methods that may change whether a lane has jobs tell the state, for the lane of the class `High`.
#[derive(Default)]
pub(in crate::engine) struct Lane {
    queue: Mutex<Queue>,
    /// The number of jobs; 1 more while entries are taken out of other queues, so that no look misses them.
    /// Written under the lock.
    len: AtomicUsize,
    /// The number of jobs ever queued.
    pushed: AtomicU64,
}

#[derive(Default)]
struct Queue {
    /// The jobs, with the times of their queueing, if there is a clock.
    jobs: VecDeque<(Option<Instant>, Job)>,
    is_closed: bool,
    looks: Looks,
}

/// How often a sweep passes all entries of a queue: so often that the cost for each completed entry does not depend on the length.
#[derive(Default)]
pub(in crate::engine) struct Looks(usize);

impl Looks {
    /// Counts a sweep of `most` entries; returns whether those since the last full pass add up to the number of entries.
    pub(in crate::engine) fn are_due(&mut self, most: usize, entries: usize) -> bool {
        let looks = self.0 + most;
        self.0 = if looks >= entries { 0 } else { looks };
        looks >= entries
    }
}

impl Lane {
    /// Queues all jobs that a closure returns, or none if the lane is closed.
    pub(in crate::engine) fn push_all(
        &self,
        next: &mut dyn FnMut() -> Option<Job>,
        accepts: Accepts,
        state: Option<&Idle>,
    ) {
        let now = time::try_now();
        let mut queue = self.queue.lock();
        if queue.is_closed && accepts == Accepts::IfOpen {
            return;
        }
        let before = queue.jobs.len();
        while let Some(job) = next() {
            queue.jobs.push_back((now, job));
        }
        let more = queue.jobs.len() - before;
        // Ordering: Release, before the job can be taken: a reader that sees the end of the job also sees it
        // accepted.
        self.pushed.fetch_add(more as u64, Ordering::Release);
        if let (Some(idle), 0, 1..) = (state, before, more) {
            idle.set_prioritized();
        }
        self.set_len(queue.jobs.len());
    }

    /// Takes jobs out under the lock.
    fn change(
        &self,
        state: Option<&Idle>,
        change: &mut dyn FnMut(&mut Queue) -> Option<Job>,
    ) -> Option<Job> {
        let mut queue = self.queue.lock();
        let was_empty = queue.jobs.is_empty();
        let job = change(&mut queue);
        // First: while a thread sees the length of the high lane, it also sees the bit, and then waits for
        // the lock.
        self.set_len(queue.jobs.len());
        if queue.jobs.is_empty() && !was_empty {
            if let Some(idle) = state {
                idle.unset_prioritized();
            }
            if queue.jobs.capacity() > KEPT {
                // Frees the memory of a long queue.
                queue.jobs = VecDeque::new();
            }
        }
        job
    }

    /// Takes the oldest job, if `takes` returns `true` for the time of its queueing. Waits for the lock.
    #[inline(never)]
    pub(in crate::engine) fn pop(
        &self,
        state: Option<&Idle>,
        takes: &dyn Fn(Instant) -> bool,
    ) -> Option<Job> {
        self.change(state, &mut |queue| match queue.jobs.front()? {
            (Some(since), _) if !takes(*since) => None,
            _ => Some(queue.jobs.pop_front()?.1),
        })
    }

    /// Takes the oldest job accepted by `takes`: of the lane's own jobs, or else of the jobs from `more`, whose others are queued
    /// behind.
    pub(in crate::engine) fn take(
        &self,
        state: Option<&Idle>,
        takes: &dyn Fn(&Job) -> bool,
        more: &mut dyn FnMut() -> Option<Job>,
    ) -> Option<Job> {
        let now = time::try_now();
        self.change(state, &mut |Queue { jobs, .. }| {
            for place in 0..jobs.len() {
                if takes(&jobs[place].1) {
                    return Some(jobs.remove(place)?.1);
                }
            }
            // As in `sweep`.
            self.set_len(jobs.len() + 1);
            loop {
                let job = more()?;
                if takes(&job) {
                    return Some(job);
                }
                jobs.push_back((now, job));
            }
        })
    }

    /// Drops completed entries, which calls no user code: among the lane's own, if the `most` of the calls since
    /// the last look add up to their number, and among the jobs from `more`, whose others are queued behind. Returns
    /// the number of jobs cancelled by this.
    pub(in crate::engine) fn sweep(
        &self,
        state: Option<&Idle>,
        most: usize,
        more: &mut dyn FnMut() -> Option<Job>,
    ) -> u64 {
        let (now, mut cancelled) = (time::try_now(), 0);
        self.change(state, &mut |Queue { jobs, looks, .. }| {
            if looks.are_due(most, jobs.len()) {
                for _ in 0..jobs.len() {
                    let (since, job) = jobs.pop_front()?;
                    if let Some(job) = drop_if_stale(job, &mut cancelled) {
                        jobs.push_back((since, job));
                    }
                }
            }
            // Before the first of them is taken. Nothing is taken from this lane until the lock is released, so
            // the order is preserved.
            self.set_len(jobs.len() + 1);
            while let Some(job) = more() {
                if let Some(job) = drop_if_stale(job, &mut cancelled) {
                    jobs.push_back((now, job));
                }
            }
            None
        });
        cancelled
    }

    /// The number of queued jobs.
    #[inline]
    pub(in crate::engine) fn len(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `set_len`. A worker that looks before it parks, and a
        // thread that pushes, pass the fences of `Idle` between their two steps. A look that finds an injector
        // without the entries taken out sees the length set before.
        self.len.load(Ordering::Acquire)
    }

    fn set_len(&self, len: usize) {
        // Ordering: Release, as in `len`; the lock orders the writers.
        self.len.store(len, Ordering::Release);
    }

    /// The number of jobs ever queued.
    pub(in crate::engine) fn pushed(&self) -> u64 {
        self.pushed.load(Ordering::Acquire)
    }

    /// Accepts nothing from outside any more.
    pub(in crate::engine) fn close(&self) {
        self.queue.lock().is_closed = true;
    }
}

/// Drops a completed job, which calls no user code; returns any other job. Counts a job that had to be
/// cancelled for this: that of a cancelled timer.
fn drop_if_stale(job: Job, cancelled: &mut u64) -> Option<Job> {
    match job.drop_if_stale() {
        Ok(outcome) => {
            *cancelled += u64::from(matches!(outcome, Outcome::Cancelled(_)));
            None
        }
        Err(job) => Some(job),
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::sync::Barrier;
    use std::{iter, thread};

    use brigade_task::Cause;

    use super::*;
    use crate::values::Config;

    /// A worker that returned without the job would look again and again: it may not park while the state
    /// shows a high job.
    #[test]
    fn a_high_job_being_queued_is_waited_for() {
        for round in 0..200 {
            let (lane, begins) = (Lane::default(), Barrier::new(2));
            let idle = Idle::new(&Config::default(), 1);
            thread::scope(|scope| {
                let mut queue = lane.queue.lock();
                idle.set_prioritized();
                let pops = scope.spawn(|| {
                    begins.wait();
                    lane.pop(Some(&idle), &|_| true).is_some()
                });
                begins.wait();
                (0..1000).for_each(|_| brigade_sync::hint::spin_loop());
                queue.jobs.push_back((time::try_now(), Job::new(|| ())));
                lane.set_len(1);
                drop(queue);
                assert!(pops.join().unwrap(), "round {round}");
            });
        }
    }

    #[test]
    fn a_sweep_keeps_the_order_of_live_entries() {
        let (lane, idle) = (Lane::default(), Idle::new(&Config::default(), 1));
        let order = std::sync::Arc::<Mutex<Vec<usize>>>::default();
        let jobs = (0..100).map(|number| {
            let order = order.clone();
            Job::with_handle(move || order.lock().push(number))
        });
        let (jobs, mut handles): (Vec<_>, Vec<_>) = jobs.unzip();
        let mut settle = |from: usize, step: usize| {
            let some = handles[from..].iter_mut().step_by(step);
            some.for_each(|handle| _ = handle.settle_if_unclaimed(Some(Cause::Asked)));
        };
        let mut jobs = jobs.into_iter();
        let mut some = jobs.by_ref().take(40);
        lane.push_all(&mut || some.next(), Accepts::Always, Some(&idle));
        settle(0, 2);
        lane.sweep(Some(&idle), 20, &mut || None);
        assert_eq!(lane.len(), 40, "not at each call");
        let mut some = jobs.by_ref().take(20);
        lane.sweep(Some(&idle), 20, &mut || some.next());
        assert_eq!(lane.len(), 30, "of the oldest 60 half is over");
        lane.sweep(Some(&idle), 60, &mut || jobs.next());
        settle(0, 3);
        lane.sweep(Some(&idle), 60, &mut || None);
        let left: Vec<_> = (0..100).filter(|number| number % 2 > 0 && number % 3 > 0).collect();
        assert_eq!((lane.len(), lane.pushed()), (left.len(), 40));
        assert!(idle.snapshot().is_prioritized());
        let pop = || lane.pop(Some(&idle), &|_| true);
        iter::from_fn(pop).take(left.len() - 10).for_each(|job| _ = job.run());
        assert_eq!(*order.lock(), left[..left.len() - 10]);
        settle(1, 1);
        lane.sweep(Some(&idle), 60, &mut || None);
        assert!(lane.len() == 0 && !idle.snapshot().is_prioritized());
    }
}
