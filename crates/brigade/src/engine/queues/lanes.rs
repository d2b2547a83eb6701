//! The queues for jobs of the classes above and below the default. `engine/PRIORITIES.md` says when workers
//! take jobs from them.

use std::collections::VecDeque;
use std::time::Instant;

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::time;
use brigade_sync::unmodelled::AtomicU64;
use brigade_task::Job;

use super::Accepts;
use super::injectors::drop_if_stale;
use crate::engine::idle::Idle;
use crate::values::Priority;

/// The capacity kept by an empty lane, or an empty list of futures.
pub(in crate::engine) const KEPT: usize = 1024;

/// The lanes of one pool.
#[derive(Default)]
pub(in crate::engine) struct Lanes {
    high: Lane,
    low: Lane,
}

/// The jobs of one class, in the order of submission.
#[derive(Default)]
struct Lane {
    queue: Mutex<Queue>,
    /// The number of jobs. Written under the lock.
    len: AtomicUsize,
    /// The number of jobs ever queued.
    pushed: AtomicU64,
}

#[derive(Default)]
struct Queue {
    /// The jobs, with the times of their queueing.
    jobs: VecDeque<(Instant, Job)>,
    is_closed: bool,
    /// The sum of the sweeps' `most` since the last full pass.
    looks: usize,
}

impl Lanes {
    fn of(&self, class: Priority) -> &Lane {
        if class == Priority::High { &self.high } else { &self.low }
    }

    /// Queues a job of the class `High` or `Low`, or returns it if the lane is closed.
    pub(in crate::engine) fn push(
        &self,
        class: Priority,
        job: Job,
        accepts: Accepts,
        idle: &Idle,
    ) -> Result<(), Job> {
        let mut jobs = Some(job).into_iter();
        self.push_all(class, &mut jobs, accepts, idle);
        jobs.next().map_or(Ok(()), Err)
    }

    /// Queues all jobs of an iterator, or none if the lane is closed.
    pub(in crate::engine) fn push_all(
        &self,
        class: Priority,
        jobs: &mut dyn Iterator<Item = Job>,
        accepts: Accepts,
        idle: &Idle,
    ) {
        let (lane, now) = (self.of(class), time::now());
        let mut queue = lane.queue.lock();
        if queue.is_closed && accepts == Accepts::IfOpen {
            return;
        }
        let before = queue.jobs.len();
        queue.jobs.extend(jobs.map(|job| (now, job)));
        let more = queue.jobs.len() - before;
        // Ordering: Release, before the job can be taken: a reader that sees the end of the job also sees it
        // accepted.
        lane.pushed.fetch_add(more as u64, Ordering::Release);
        if before == 0 && more > 0 && class == Priority::High {
            idle.set_prioritized();
        }
        lane.recount(&queue);
    }

    /// Takes the oldest high job. A worker calls this when it has seen `PRIORITIZED`, and may not park while
    /// this bit is set. So the worker waits for the lock if the submitter still holds it: a check of the
    /// length would make it look again and again.
    pub(in crate::engine) fn pop_high(&self, idle: &Idle) -> Option<Job> {
        let mut queue = self.high.queue.lock();
        let (_, job) = queue.jobs.pop_front()?;
        self.left(Priority::High, &mut queue, idle);
        Some(job)
    }

    /// Takes the oldest low job; if there is a time `then`, only a job queued by then.
    pub(in crate::engine) fn pop_low(&self, then: Option<Instant>, idle: &Idle) -> Option<Job> {
        if self.low.len() == 0 {
            return None;
        }
        let mut queue = self.low.queue.lock();
        let (since, _) = queue.jobs.front()?;
        if then.is_some_and(|then| *since > then) {
            return None;
        }
        let (_, job) = queue.jobs.pop_front()?;
        self.left(Priority::Low, &mut queue, idle);
        Some(job)
    }

    /// Updates the length and the state after jobs of a class were taken out.
    fn left(&self, class: Priority, queue: &mut Queue, idle: &Idle) {
        // First: while a thread sees the length of the high lane, it also sees the bit, and then waits for
        // the lock.
        self.of(class).recount(queue);
        if queue.jobs.is_empty() {
            if class == Priority::High {
                idle.unset_prioritized();
            }
            if queue.jobs.capacity() > KEPT {
                // Frees the memory of a long queue.
                queue.jobs = VecDeque::new();
            }
        }
    }

    /// The number of queued jobs.
    pub(in crate::engine) fn len(&self) -> usize {
        self.high.len() + self.low.len()
    }

    /// The number of queued jobs of the class `High` or `Low`.
    #[inline]
    pub(in crate::engine) fn len_of(&self, class: Priority) -> usize {
        self.of(class).len()
    }

    /// The number of jobs ever queued.
    pub(in crate::engine) fn pushed(&self) -> u64 {
        [&self.high, &self.low].iter().map(|lane| lane.pushed.load(Ordering::Acquire)).sum()
    }

    /// Accepts nothing from outside any more.
    pub(in crate::engine) fn close(&self) {
        [&self.high, &self.low].iter().for_each(|lane| lane.queue.lock().is_closed = true);
    }

    /// Drops completed entries, which calls no user code. Looks at a lane only when the `most` of the calls
    /// since the last look add up to its length. Returns the number of jobs cancelled by this.
    pub(in crate::engine) fn sweep(&self, most: usize, idle: &Idle) -> u64 {
        let mut cancelled = 0;
        for class in [Priority::Low, Priority::High] {
            if self.len_of(class) == 0 {
                continue;
            }
            let mut queue = self.of(class).queue.lock();
            queue.looks += most;
            if !queue.jobs.is_empty() && queue.looks >= queue.jobs.len() {
                queue.looks = 0;
                let stays = |(since, job)| Some((since, drop_if_stale(job, &mut cancelled)?));
                queue.jobs =
                    core::mem::take(&mut queue.jobs).into_iter().filter_map(stays).collect();
                self.left(class, &mut queue, idle);
            }
        }
        cancelled
    }
}

impl Lane {
    #[inline]
    fn len(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `recount`. A worker that looks before it parks, and a
        // thread that pushes, pass the fences of `Idle` between their two steps.
        self.len.load(Ordering::Acquire)
    }

    fn recount(&self, queue: &Queue) {
        // Ordering: Release, as in `len`; the lock orders the writers.
        self.len.store(queue.jobs.len(), Ordering::Release);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use core::time::Duration;
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::values::Config;

    fn lanes() -> (Lanes, Idle) {
        (Lanes::default(), Idle::new(&Config::default(), 1))
    }

    /// A worker that returned without the job would look again and again: it may not park while the state
    /// shows a high job.
    #[test]
    fn a_high_job_that_is_being_queued_is_waited_for() {
        for round in 0..200 {
            let ((lanes, idle), begins) = (lanes(), Barrier::new(2));
            thread::scope(|scope| {
                let mut queue = lanes.high.queue.lock();
                idle.set_prioritized();
                let pops = scope.spawn(|| {
                    begins.wait();
                    lanes.pop_high(&idle).is_some()
                });
                begins.wait();
                (0..1000).for_each(|_| brigade_sync::hint::spin_loop());
                queue.jobs.push_back((Instant::now(), Job::new(|| ())));
                lanes.high.recount(&queue);
                drop(queue);
                assert!(pops.join().unwrap(), "round {round}");
            });
        }
    }

    #[test]
    fn a_closed_lane_accepts_only_what_the_pool_has_accepted() {
        let (lanes, idle) = lanes();
        lanes.close();
        for class in [Priority::Low, Priority::High] {
            assert!(lanes.push(class, Job::new(|| ()), Accepts::IfOpen, &idle).is_err());
            assert!(lanes.push(class, Job::new(|| ()), Accepts::Always, &idle).is_ok());
        }
        assert_eq!((lanes.len(), lanes.pushed()), (2, 2));
    }

    #[test]
    fn a_lane_has_no_length_once_the_state_says_that_it_is_empty() {
        let (lanes, idle) = lanes();
        assert!(lanes.push(Priority::High, Job::new(|| ()), Accepts::Always, &idle).is_ok());
        assert!(lanes.pop_high(&idle).is_some() && !idle.snapshot().is_prioritized());
        assert_eq!(lanes.len_of(Priority::High), 0);
    }

    #[test]
    fn the_state_follows_the_high_lane_alone() {
        let (lanes, idle) = lanes();
        let push = |class| lanes.push(class, Job::new(|| ()), Accepts::Always, &idle).is_ok();
        assert!(push(Priority::Low) && !idle.snapshot().is_prioritized());
        assert!(push(Priority::High) && push(Priority::High));
        assert!(idle.snapshot().is_prioritized() && idle.snapshot().interrupts());
        assert!(lanes.pop_high(&idle).is_some() && idle.snapshot().is_prioritized());
        assert!(lanes.pop_high(&idle).is_some() && !idle.snapshot().interrupts());
        assert!(
            lanes.pop_high(&idle).is_none()
                && lanes.pop_low(None, &idle).is_some()
                && lanes.len() == 0
        );
    }

    #[test]
    fn only_the_oldest_low_job_is_asked_for_its_age() {
        let (lanes, idle) = lanes();
        assert!(lanes.push(Priority::Low, Job::new(|| ()), Accepts::Always, &idle).is_ok());
        let now = Instant::now();
        assert!(lanes.pop_low(now.checked_sub(Duration::from_secs(60)), &idle).is_none());
        assert!(lanes.pop_low(Some(now), &idle).is_some() && lanes.len() == 0);
    }

    #[test]
    fn a_sweep_drops_completed_entries_and_keeps_the_others() {
        let (lanes, idle) = lanes();
        let mut handles = Vec::new();
        for class in [Priority::Low, Priority::High] {
            for _ in 0..100 {
                let (job, handle) = Job::with_handle(|| ());
                assert!(lanes.push(class, job, Accepts::Always, &idle).is_ok());
                handles.push(handle);
            }
        }
        for handle in handles[..150].iter_mut() {
            handle.settle_if_unclaimed(false);
        }
        assert_eq!(lanes.sweep(60, &idle), 0, "not at each call");
        assert_eq!(lanes.len(), 200);
        lanes.sweep(60, &idle);
        assert_eq!((lanes.len_of(Priority::Low), lanes.len_of(Priority::High)), (0, 50));
        assert!(idle.snapshot().is_prioritized());
        for handle in &mut handles[150..] {
            handle.settle_if_unclaimed(false);
        }
        lanes.sweep(60, &idle);
        assert!(lanes.len() == 0 && !idle.snapshot().is_prioritized());
    }
}

#[cfg(all(test, brigade_loom))]
mod loom_tests {
    use std::sync::Arc;

    use brigade_sync::model::{check, turn};
    use loom::thread;

    use super::*;
    use crate::values::Config;

    /// Compiles only if the facade really is loom's.
    const _: fn(AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

    /// Two threads each queue a high job, and a third thread pops twice: afterwards the bit says whether a
    /// high job is queued.
    ///
    /// Caught: the bit changed after the release of the lane's lock, by a push and by a pop.
    #[test]
    fn the_state_says_whether_high_jobs_are_queued() {
        check(3, || {
            let shared = Arc::new((Lanes::default(), Idle::new(&Config::default(), 1)));
            let pushes = [(); 2].map(|()| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (lanes, idle) = &*shared;
                    turn();
                    assert!(
                        lanes.push(Priority::High, Job::new(|| ()), Accepts::Always, idle).is_ok()
                    );
                })
            });
            let (lanes, idle) = &*shared;
            for _ in 0..2 {
                turn();
                // Regardless of the bit, like an eviction.
                lanes.pop_high(idle);
            }
            for push in pushes {
                push.join().unwrap();
            }
            assert_eq!(idle.snapshot().is_prioritized(), lanes.len() > 0);
        });
    }
}
