//! The state that a task set shares with its jobs if some may have to wait in it, because it has a limit or its pool is bounded,
//! or if some have been detached: how many are on the pool, which ones wait, which have ended. Other sets have no board.
//!
//! **Admission.** A job is admitted if fewer than `limit` jobs are and none waits; otherwise its closure waits in line. When
//! its turn comes the job is made, with its permit in a bounded pool, and its handle is stored before it is submitted. Its end
//! is reported once, by the waker that its cell wakes with the outcome in place, on the thread on which it ran, was cancelled
//! or was rejected. The thread that reports it then submits from the line until that is empty or the limit is reached. So if
//! anything waits while the limit allows more, a thread is about to look. In a bounded pool a job also needs a permit:
//! [`Permits`] handles those.
//!
//! **Counts.** The set has accepted each of its jobs. One that is dropped before the pool has accepted it counts as accepted and
//! cancelled there, as one that the pool's queue would have held. So it does not matter whether the owner cancels a job before or
//! after the pool has accepted it, which happens outside of the lock, as a submission may call user code (a spawner).
//!
//! **Waiting.** The owner checks its target and registers its waker in one critical section, and the target changes under the
//! same lock. So either it sees the change, or the thread that makes the change finds the waker. It waits until a number of
//! jobs have ended. On a worker of the pool the wait also ends when a job has been submitted, since this worker may be the only
//! one left to run that job.
//!
//! No closure, outcome, waker or spawner is run, dropped or cloned under the lock.
//!
//! **Rejected.** A closure around each job's closure that reports from the drop of a guard: the pool would count a job that
//! panicked as one that returned, and the report would come before the outcome. Submitting in the critical section: a spawner
//! that uses the set would wait for itself.

use core::mem;
use core::task::Waker;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::Wake;

use brigade_sync::Mutex;
use brigade_task::{Job, contain, drop_contained};

use super::permits::{Leave, Permits};
use crate::engine::cancel_contained;
use crate::handle::Handle;
use crate::join::JoinHandle;
use crate::priority::Priority;
use crate::registry::reach;

/// Makes a job of a closure that has waited in line, and a handle that will report its end to the board.
pub(super) type Make<T> = Box<dyn FnOnce(Leave, &Arc<Board<T>>) -> (Job, JoinHandle<T>) + Send>;

/// The state that a set and its jobs share.
pub(super) struct Board<T> {
    pool: Handle,
    permits: Permits,
    state: Mutex<State<T>>,
}

struct State<T> {
    /// How many jobs may be on the pool.
    limit: usize,
    /// Jobs that have been admitted and have not ended.
    admitted: usize,
    /// Closures that have not been admitted, in the order in which they were added.
    line: VecDeque<Waiting<T>>,
    /// How many jobs from the line the pool has accepted.
    passed: u64,
    /// Handles of jobs from the line, until the owner takes them.
    handles: Vec<(u64, JoinHandle<T>)>,
    /// Jobs that have ended, in that order, whose outcomes have not been taken.
    ended: VecDeque<u64>,
    /// Handles of jobs that the set has detached; their outcomes are dropped here.
    detached: BTreeMap<u64, JoinHandle<T>>,
    /// The owner's target and waker, while it waits.
    owner: Option<(Target, Waker)>,
}

/// A closure that has not been admitted.
struct Waiting<T> {
    key: u64,
    make: Make<T>,
    /// The class of the job that added it.
    class: Priority,
    /// Whether the set has detached it.
    is_detached: bool,
}

/// A job that has left the line.
struct Passing {
    key: u64,
    class: Priority,
    job: Job,
}

/// The condition that an owner waits for.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// This many jobs that have ended.
    pub(super) ended: usize,
    /// Or more closures than this from the line have been admitted.
    pub(super) passed: Option<u64>,
}

impl<T> State<T> {
    /// Also while others wait, as the rest of the limit is reserved for them: a thread is about to submit the first.
    fn is_full(&self) -> bool {
        self.admitted >= self.limit || !self.line.is_empty()
    }

    fn is_reached(&self, target: Target) -> bool {
        self.ended.len() >= target.ended
            || target.passed.is_some_and(|passed| self.passed != passed)
    }

    /// Takes the owner's waker if its target is reached; the caller wakes it, outside of the lock.
    fn take_owner(&mut self) -> Option<Waker> {
        let reached = self.owner.as_ref().is_some_and(|&(target, _)| self.is_reached(target));
        let owner = if reached { self.owner.take() } else { None };
        owner.map(|(_, waker)| waker)
    }

    /// Makes a job of the first closure in line. This calls no user code, as the closure is only moved.
    fn pass(&mut self, first: Waiting<T>, leave: Leave, board: &Arc<Board<T>>) -> Passing {
        let Waiting { key, make, class, is_detached } = first;
        let (job, handle) = make(leave, board);
        self.admitted += 1;
        if is_detached {
            self.detached.insert(key, handle);
        } else {
            self.handles.push((key, handle));
        }
        Passing { key, class, job }
    }
}

/// The waker of one job: reports its end to the board.
struct OnEnd<T> {
    key: u64,
    board: Arc<Board<T>>,
}

impl<T: Send + 'static> Wake for OnEnd<T> {
    fn wake(self: Arc<Self>) {
        self.board.ended(self.key);
    }
}

/// The waker of a set that waits for a permit: submits the first job in line.
struct OnPermit<T>(Arc<Board<T>>);

impl<T: Send + 'static> Wake for OnPermit<T> {
    fn wake(self: Arc<Self>) {
        self.0.refill();
    }
}

impl<T> Board<T> {
    /// Creates the board of a set with this many jobs on the pool.
    pub(super) fn new(pool: Handle, admitted: usize) -> Arc<Self> {
        let state = State {
            limit: usize::MAX,
            admitted,
            line: VecDeque::new(),
            passed: 0,
            handles: Vec::new(),
            ended: VecDeque::new(),
            detached: BTreeMap::new(),
            owner: None,
        };
        Arc::new(Self { pool, permits: Permits::new(pool), state: Mutex::new(state) })
    }

    pub(super) fn set_limit(self: &Arc<Self>, limit: usize)
    where
        T: Send + 'static,
    {
        self.state.lock().limit = limit;
        self.refill();
    }

    /// Admits a job, which the caller submits; `None` if it must wait in line.
    pub(super) fn admit(&self) -> Option<Leave> {
        // Checked first, so that no permit is taken without need, not even briefly. Only the owner's thread can make the set
        // full.
        if self.permits.are_needed() && self.state.lock().is_full() {
            return None;
        }
        let leave = self.permits.try_acquire()?;
        let mut state = self.state.lock();
        let admits = !state.is_full();
        state.admitted += usize::from(admits);
        drop(state);
        admits.then_some(leave)
    }

    /// Withdraws the admission of a job that the pool rejected. No job waits for it, as none has been added since.
    pub(super) fn withdraw(&self) {
        self.state.lock().admitted -= 1;
    }

    /// Adds a closure to the line.
    pub(super) fn wait_in_line(self: &Arc<Self>, key: u64, class: Priority, make: Make<T>)
    where
        T: Send + 'static,
    {
        self.state.lock().line.push_back(Waiting { key, make, class, is_detached: false });
        self.refill();
    }

    /// Makes the end of a job be reported to the board.
    pub(super) fn hear_of(self: &Arc<Self>, key: u64, handle: &mut brigade_task::JoinHandle<T>)
    where
        T: Send + 'static,
    {
        let waker = Waker::from(Arc::new(OnEnd { key, board: self.clone() }));
        if !handle.wake_when_finished(&waker) {
            self.ended(key);
        }
    }

    /// Records that a job has ended, with its outcome in place.
    fn ended(self: &Arc<Self>, key: u64)
    where
        T: Send + 'static,
    {
        let mut state = self.state.lock();
        state.admitted -= 1;
        let detached = state.detached.remove(&key);
        if detached.is_none() {
            state.ended.push_back(key);
        }
        let (owner, others_wait) = (state.take_owner(), !state.line.is_empty());
        drop(state);
        if others_wait {
            self.refill();
        }
        // User code last: the outcome of a detached job, and a waker.
        drop_contained(detached);
        contain(|| owner.into_iter().for_each(Waker::wake));
    }

    /// Submits from the line as long as the limit and the pool's capacity allow.
    fn refill(self: &Arc<Self>)
    where
        T: Send + 'static,
    {
        loop {
            let waker = || Waker::from(Arc::new(OnPermit(self.clone())));
            let leave = self.permits.acquire_or_wait(|| self.lacks_leave(), waker);
            let Some(passing) = leave.and_then(|leave| self.pass_first(leave)) else {
                return self.permits.stop_waiting_unless(|| self.lacks_leave());
            };
            self.submit(passing);
        }
    }

    /// Submits a job that has left the line.
    fn submit(self: &Arc<Self>, Passing { key, class, job }: Passing) {
        match reach(self.pool.key, |at| at.accept_late(class, job)) {
            Ok(()) => self.accepted(),
            Err(job) => self.refused(Passing { key, class, job }),
        }
    }

    /// Whether the first closure in line waits only for a permit of the pool.
    fn lacks_leave(&self) -> bool {
        let state = self.state.lock();
        state.admitted < state.limit && !state.line.is_empty()
    }

    /// Admits the first closure in line, if there is one and the limit allows.
    fn pass_first(self: &Arc<Self>, leave: Leave) -> Option<Passing> {
        let mut state = self.state.lock();
        if state.admitted >= state.limit {
            return None;
        }
        let first = state.line.pop_front()?;
        Some(state.pass(first, leave, self))
    }

    /// Records that the pool has accepted a job from the line.
    fn accepted(&self) {
        let mut state = self.state.lock();
        state.passed += 1;
        let owner = state.take_owner();
        drop(state);
        contain(|| owner.into_iter().for_each(Waker::wake));
    }

    /// Submits the first job in line beyond the capacity of its pool if it waits for a permit: for a worker of the pool, which can't
    /// wait for itself; `false` if there is none.
    pub(super) fn submit_first_in_line(self: &Arc<Self>) -> bool {
        let first = if self.permits.are_needed() { self.pass_first(None) } else { None };
        first.map(|first| self.submit(first)).is_some()
    }

    /// Drops all jobs in line after the pool has rejected the first, as it would reject the others too.
    fn refused(self: &Arc<Self>, job: Passing) {
        // Taken before the first is dropped, as the end of that one would submit the next.
        let others = self.take_line(|_| true);
        core::iter::once(job).chain(others).for_each(|job| self.drop_unaccepted(job));
    }

    /// Drops the closures of the owner that wait in line.
    pub(super) fn cancel_line(self: &Arc<Self>) {
        let jobs = self.take_line(|waiting| !waiting.is_detached);
        jobs.into_iter().for_each(|job| self.drop_unaccepted(job));
        self.permits.stop_waiting_unless(|| self.lacks_leave());
    }

    /// Makes jobs of closures in line, to be dropped at once.
    fn take_line(self: &Arc<Self>, which: impl Fn(&Waiting<T>) -> bool) -> Vec<Passing> {
        let mut state = self.state.lock();
        let (taken, kept): (Vec<_>, Vec<_>) = state.line.drain(..).partition(which);
        state.line.extend(kept);
        // Each of them counts as admitted until it has ended.
        taken.into_iter().map(|waiting| state.pass(waiting, None, self)).collect()
    }

    /// Drops a job that the pool has not accepted.
    fn drop_unaccepted(&self, Passing { job, .. }: Passing) {
        let outcome = cancel_contained(job);
        reach(self.pool.key, |at| at.count_unqueued(outcome));
    }

    /// Takes the handles of jobs that have been admitted from the line.
    pub(super) fn take_handles(&self) -> Vec<(u64, JoinHandle<T>)> {
        mem::take(&mut self.state.lock().handles)
    }

    /// Takes the jobs that have ended, in that order.
    pub(super) fn take_ended(&self) -> VecDeque<u64> {
        mem::take(&mut self.state.lock().ended)
    }

    /// Whether a target is reached.
    pub(super) fn is_reached(&self, target: Target) -> bool {
        self.state.lock().is_reached(target)
    }

    /// How many closures have been admitted from the line so far.
    pub(super) fn passed(&self) -> u64 {
        self.state.lock().passed
    }

    /// Whether closures in line wait only for a permit of the pool.
    pub(super) fn may_pass(&self) -> bool {
        self.lacks_leave()
    }

    /// Registers a waker for a target, in place of any other; `false` if the target is already reached.
    pub(super) fn leave_waker(&self, target: Target, waker: Waker) -> bool {
        let mut state = self.state.lock();
        let waits = !state.is_reached(target);
        let former =
            if waits { state.owner.replace((target, waker)) } else { Some((target, waker)) };
        drop(state);
        // May be user code.
        drop_contained(former);
        waits
    }

    /// Removes the owner's waker, as it stops waiting.
    pub(super) fn take_waker(&self) {
        let former = self.state.lock().owner.take();
        drop_contained(former);
    }

    /// Detaches jobs: outcomes of ended ones are dropped here, the others as the jobs end.
    pub(super) fn detach(&self, mut jobs: BTreeMap<u64, JoinHandle<T>>) {
        let mut state = self.state.lock();
        let ended = mem::take(&mut state.ended);
        jobs.extend(mem::take(&mut state.handles));
        let dropped: Vec<_> = ended.iter().filter_map(|key| jobs.remove(key)).collect();
        state.detached.append(&mut jobs);
        state.line.iter_mut().for_each(|waiting| waiting.is_detached = true);
        drop(state);
        drop(dropped);
    }

    /// Detaches one job that had not ended a moment ago; if there is no handle, it waited in line.
    pub(super) fn detach_one(&self, key: u64, handle: Option<JoinHandle<T>>) {
        let mut state = self.state.lock();
        let waiting = state.line.iter_mut().find(|waiting| waiting.key == key);
        waiting.into_iter().for_each(|waiting| waiting.is_detached = true);
        let moved = state.handles.iter().position(|&(other, _)| other == key);
        let handle = handle.or_else(|| moved.map(|place| state.handles.remove(place).1));
        let ended = state.ended.iter().position(|&ended| ended == key);
        let dropped = match (ended, handle) {
            (Some(place), handle) => {
                state.ended.remove(place);
                handle
            }
            (None, Some(handle)) => state.detached.insert(key, handle),
            (None, None) => None,
        };
        drop(state);
        drop(dropped);
    }
}
