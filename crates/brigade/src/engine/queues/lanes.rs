//! The queues for jobs of the classes above and below the default. `engine/PRIORITIES.md` says when workers
//! take jobs from them.

use std::time::Instant;

use brigade_task::Job;

use super::Accepts;
use super::lane::Lane;
use crate::engine::idle::Idle;
use crate::values::Priority;

/// The lanes of one pool.
#[derive(Default)]
pub(in crate::engine) struct Lanes {
    pub(in crate::engine) high: Lane,
    pub(in crate::engine) low: Lane,
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
        let mut job = Some(job);
        self.push_all(class, &mut || job.take(), accepts, idle);
        if let Some(job) = job { Err(job) } else { Ok(()) }
    }

    /// Queues all jobs that a closure returns, or none if the lane is closed.
    pub(in crate::engine) fn push_all(
        &self,
        class: Priority,
        jobs: &mut dyn FnMut() -> Option<Job>,
        accepts: Accepts,
        idle: &Idle,
    ) {
        let mut noted = || {
            let job = jobs()?;
            job.note_class(class.noted());
            Some(job)
        };
        self.of(class).push_all(&mut noted, accepts, told(class, idle));
    }

    /// Takes the oldest high job. A worker calls this when it has seen `PRIORITIZED`, and may not park while
    /// this bit is set. So the worker waits for the lock if the submitter still holds it: a check of the
    /// length would make it look again and again.
    pub(in crate::engine) fn pop_high(&self, idle: &Idle) -> Option<Job> {
        self.high.pop(Some(idle), &|_| true)
    }

    /// Takes the oldest low job; if there is a time `then`, only a job queued by then.
    pub(in crate::engine) fn pop_low(&self, then: Option<Instant>) -> Option<Job> {
        let takes = |since| then.is_none_or(|then| since <= then);
        if self.low.len() == 0 { None } else { self.low.pop(None, &takes) }
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
        self.high.pushed() + self.low.pushed()
    }

    /// Whether a low job has ever been queued.
    pub(in crate::engine) fn has_had_low(&self) -> bool {
        self.low.pushed() > 0
    }

    /// Accepts nothing from outside any more.
    pub(in crate::engine) fn close(&self) {
        self.high.close();
        self.low.close();
    }

    /// Drops completed entries of both classes. Returns the number of jobs cancelled by this.
    pub(in crate::engine) fn sweep(&self, most: usize, idle: &Idle) -> u64 {
        let sweep = |class| match self.len_of(class) {
            0 => 0,
            _ => self.of(class).sweep(told(class, idle), most, &mut || None),
        };
        sweep(Priority::Low) + sweep(Priority::High)
    }
}

/// The state that says whether jobs of this class are queued, if it does.
fn told(class: Priority, idle: &Idle) -> Option<&Idle> {
    if class == Priority::High { Some(idle) } else { None }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::values::Config;

    fn lanes() -> (Lanes, Idle) {
        (Lanes::default(), Idle::new(&Config::default(), 1))
    }

    #[test]
    fn a_closed_lane_accepts_only_accepted_jobs() {
        let (lanes, idle) = lanes();
        lanes.close();
        for class in [Priority::Low, Priority::High] {
            assert!(lanes.push(class, Job::new(|| ()), Accepts::IfOpen, &idle).is_err());
            assert!(lanes.push(class, Job::new(|| ()), Accepts::Always, &idle).is_ok());
        }
        assert_eq!((lanes.len(), lanes.pushed()), (2, 2));
    }

    #[test]
    fn an_empty_lane_has_no_length() {
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
            lanes.pop_high(&idle).is_none() && lanes.pop_low(None).is_some() && lanes.len() == 0
        );
    }

    #[test]
    fn only_the_oldest_low_job_is_asked_its_age() {
        let (lanes, idle) = lanes();
        assert!(lanes.push(Priority::Low, Job::new(|| ()), Accepts::Always, &idle).is_ok());
        let now = Instant::now();
        assert!(lanes.pop_low(now.checked_sub(Duration::from_secs(60))).is_none());
        assert!(lanes.pop_low(Some(now)).is_some() && lanes.len() == 0);
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
    const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

    /// Two threads each queue a high job, and a third thread pops twice: afterwards the bit says whether a
    /// high job is queued.
    ///
    /// Caught: the bit changed after the release of the lane's lock, by a push and by a pop.
    #[test]
    fn the_state_says_if_high_jobs_are_queued() {
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
                // Regardless of the bit, as an eviction does.
                lanes.pop_high(idle);
            }
            for push in pushes {
                push.join().unwrap();
            }
            assert_eq!(idle.snapshot().is_prioritized(), lanes.len() > 0);
        });
    }
}
