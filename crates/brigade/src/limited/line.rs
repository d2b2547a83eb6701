//! The line of jobs without a permit. The [module above](super) has the protocol.

use core::mem;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use brigade_sync::Mutex;
use brigade_task::{Cause, Job, Outcome};

use crate::engine::{
    At, Key, Leaving, Permit, Semaphore, Waiter, cancel_contained, find, hold, link_limited, reach,
    reach_once,
};
use crate::handle::awaited::polling_thread;
use crate::values::Priority;

/// As many completed entries may stay in line, whatever else is there.
const FEW: usize = 64;

/// The semaphore of a [`Limited`](super::Limited), and the line of jobs without a permit.
pub(super) struct Line {
    pool: Key,
    semaphore: Arc<Semaphore>,
    /// The permits of a bounded pool.
    room: Option<Arc<Semaphore>>,
    state: Mutex<InLine>,
}

#[derive(Default)]
struct InLine {
    /// The jobs in line by class, in the order of their numbers, the most urgent class last.
    lanes: [VecDeque<JobInLine>; 3],
    /// The number of the last job in line.
    last: u64,
    /// One entry for each admitted job that has neither started nor been dropped.
    admitted: Vec<Granted>,
    /// How many jobs in line have been cancelled by their handles.
    cancelled: usize,
    /// Registered while there are jobs in line.
    waiter: Option<Waiter>,
}

/// A job in line.
struct JobInLine {
    number: u64,
    job: Job,
    /// Its handle has cancelled it.
    is_cancelled: bool,
}

/// What an admitted job takes when it starts.
struct Granted {
    /// `None` if the job is to be dropped.
    permit: Option<Permit>,
    /// The permit of a bounded pool, if it had one.
    _room: Option<Permit>,
}

impl InLine {
    fn len(&self) -> usize {
        self.lanes.iter().map(VecDeque::len).sum()
    }

    /// Takes the first job of the most urgent class, and whether its handle has cancelled it.
    fn pop(&mut self) -> Option<(Priority, Job, bool)> {
        for class in [Priority::High, Priority::Normal, Priority::Low] {
            if let Some(first) = self.lanes[class as usize].pop_front() {
                self.cancelled -= usize::from(first.is_cancelled);
                return Some((class, first.job, first.is_cancelled));
            }
        }
        None
    }

    /// Notes that its handle has cancelled the job with this number; `false` if the job is not in line.
    fn note_cancelled(&mut self, class: Priority, number: u64) -> bool {
        let lane = &mut self.lanes[class as usize];
        if lane.front().is_none_or(|first| first.number > number) {
            return false;
        }
        let index = lane.partition_point(|waiting| waiting.number < number);
        lane[index].is_cancelled = true;
        self.cancelled += 1;
        true
    }

    /// Takes the completed entries if they are the greater part of the line.
    fn compact(&mut self) -> Vec<Job> {
        let mut completed = Vec::new();
        if self.cancelled <= self.len() / 2 + FEW {
            return completed;
        }
        self.cancelled = 0;
        for lane in &mut self.lanes {
            for waiting in mem::take(lane) {
                match waiting.is_cancelled {
                    true => completed.push(waiting.job),
                    false => lane.push_back(waiting),
                }
            }
        }
        completed
    }
}

impl Line {
    /// Makes a line for as many running jobs as `jobs`.
    pub(super) fn new(pool: Key, jobs: usize) -> Arc<Self> {
        link_limited();
        let room = find(pool).ok().and_then(|shared| shared.permits.clone());
        Arc::new(Self { pool, semaphore: Semaphore::new(jobs), room, state: Mutex::default() })
    }

    /// The key of the pool.
    pub(super) fn pool(&self) -> Key {
        self.pool
    }

    /// The entry of a job that is admitted with a permit.
    fn grant(&self, permit: Permit) -> Granted {
        let room = self.room.as_ref().and_then(Semaphore::try_acquire);
        Granted { permit: Some(permit), _room: room }
    }

    /// Admits a job that is about to be made, if no job is in line and there is a permit.
    pub(super) fn admit(self: &Arc<Self>, class: Priority) -> Option<Claim> {
        let mut state = self.state.lock();
        let permit = if state.len() == 0 { self.semaphore.try_acquire()? } else { return None };
        state.admitted.push(self.grant(permit));
        // Before all numbers in line.
        Some(Claim { line: self.clone(), class, number: Some(0) })
    }

    /// Makes a job, which has been counted, and adds it to the line.
    pub(super) fn wait<R>(
        self: &Arc<Self>,
        class: Priority,
        make: impl FnOnce(Claim) -> (Job, R),
    ) -> R {
        let mut state = self.state.lock();
        state.last += 1;
        let number = state.last;
        let (job, receipt) = make(Claim { line: self.clone(), class, number: Some(number) });
        state.lanes[class as usize].push_back(JobInLine { number, job, is_cancelled: false });
        let completed = state.compact();
        drop(state);
        self.drop_completed(completed);
        // A permit may have been released since this job got none.
        self.pass();
        receipt
    }

    /// Admits jobs as long as there are permits, and otherwise waits for a permit.
    fn pass(self: &Arc<Self>) {
        let (mut permit, mut is_registered) = (None, false);
        loop {
            let mut state = self.state.lock();
            if state.len() == 0 {
                let waiter = state.waiter.take();
                drop(state);
                // These may wake the next waiter.
                drop((permit, waiter));
                return;
            }
            let Some(acquired) = permit.take().or_else(|| self.semaphore.try_acquire()) else {
                if is_registered {
                    return;
                }
                // Then tries once more (Waiter rule).
                is_registered = true;
                let waiter =
                    state.waiter.get_or_insert_with(|| Waiter::new(self.semaphore.clone()));
                waiter.register(&Waker::from(self.clone()), None);
                continue;
            };
            let Some((class, job, is_cancelled)) = state.pop() else {
                unreachable!("it is not empty")
            };
            if is_cancelled {
                drop(state);
                permit = Some(acquired);
                self.drop_completed(vec![job]);
                continue;
            }
            state.admitted.push(self.grant(acquired));
            drop(state);
            reach_once(self.pool, |at| {
                let leaves = at.leave_line();
                if let Err(job) = at.accept_late(class, job) {
                    self.cancel(at, leaves, job);
                }
            });
        }
    }

    /// Drops a job that the pool no longer accepts, and all jobs in line.
    fn cancel(&self, at: At<'_>, leaves: Option<Leaving<'_>>, rejected: Job) {
        let mut state = self.state.lock();
        let (mut jobs, mut completed) = (Vec::new(), Vec::new());
        while let Some((_, job, is_cancelled)) = state.pop() {
            if is_cancelled {
                completed.push(job);
            } else {
                jobs.push(job);
                state.admitted.push(Granted { permit: None, _room: None });
            }
        }
        drop(state);
        self.drop_completed(completed);
        // Only now: the end of a job has the line look for the next.
        let drop_job = |leaves: Option<Leaving<'_>>, job| {
            // The pool does not end meanwhile, and the job may end it.
            let _work = at.shared().map(|shared| shared.off_pool());
            drop(leaves);
            at.count_unqueued(cancel_contained(job, Cause::Ended));
        };
        drop_job(leaves, rejected);
        for job in jobs {
            drop_job(at.leave_line(), job);
        }
    }

    /// Drops entries of jobs that their handles have cancelled, and counted as cancelled.
    fn drop_completed(&self, completed: Vec<Job>) {
        for job in completed {
            // Calls no user code.
            drop(job.drop_if_stale());
            reach(self.pool, &mut |at| {
                let _leaves = at.leave_line();
                at.count_unqueued(Outcome::Stale);
            });
        }
    }

    /// Takes a permit for a poll, or registers the task to be woken when there may be one.
    pub(super) fn poll_permit(
        &self,
        waiter: &mut Option<Waiter>,
        context: &Context<'_>,
    ) -> Poll<Permit> {
        let mut permit = self.semaphore.try_acquire();
        if permit.is_none() {
            let waiter = waiter.get_or_insert_with(|| Waiter::new(self.semaphore.clone()));
            // A thread that waits may run jobs that wait for a permit, too.
            waiter.register(context.waker(), polling_thread().map(|thread| thread as _));
            permit = self.semaphore.try_acquire();
        }
        match permit {
            Some(permit) => {
                // Passes a wake-up on.
                *waiter = None;
                Poll::Ready(permit)
            }
            None => Poll::Pending,
        }
    }
}

/// The line waits for a permit.
impl Wake for Line {
    fn wake(self: Arc<Self>) {
        // In a forked child the lock may be held forever.
        if self.pool.is_here() {
            self.pass();
        }
    }
}

/// The claim of a job to a permit.
pub(super) struct Claim {
    pub(super) line: Arc<Line>,
    class: Priority,
    /// `None` once the job has started.
    number: Option<u64>,
}

impl Claim {
    /// Takes the permit of a job that starts; `None` if it is still in line.
    pub(super) fn take(&mut self) -> Option<Permit> {
        // The room is released here, before any user code runs.
        self.leave()?.permit
    }

    fn leave(&mut self) -> Option<Granted> {
        let number = self.number.take()?;
        if !self.line.pool.is_here() {
            return None;
        }
        let mut state = self.line.state.lock();
        if state.note_cancelled(self.class, number) {
            return None;
        }
        state.admitted.pop()
    }

    /// Calls a closure that runs the job, with its permit.
    pub(super) fn run<R>(mut self, call: impl FnOnce() -> R) -> R {
        match self.take() {
            Some(permit) => hold(self.line.pool, permit, call),
            None => call(),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        drop(self.leave());
    }
}
