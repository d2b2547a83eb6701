//! Workers that wait inside a job, and may poll timers and the driver.
//!
//! A pool whose threads are all blocked, or busy for long, has no parked worker to wait on the driver. So each worker
//! that sleeps inside a job is a *candidate*. While no worker holds the driver, and none can be woken or started for
//! it, a single candidate *polls* instead. A later driver holder takes over, because it can immediately run the jobs
//! woken by events.
//!
//! A candidate enters the list, fences, and checks whether a worker holds the driver. A worker that releases
//! it, and a thread that sets a timer, fence and look at the list. So at least one side sees the other, as in
//! `engine/idle/DRIVER.md`.

use core::cell::Cell;
use core::ops::Deref;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicUsize, Ordering, fence};
use brigade_sync::time;

use super::DriverRef;
use crate::engine::sleep::sleeper::ParkSpot;

/// Parks a thread that waits inside a job, or is not a worker; as a waker, it ends the sleep.
pub(crate) struct BlockedThread {
    pub(in crate::engine) spot: ParkSpot,
    /// Where the thread sleeps if not on its parker.
    pub(in crate::engine) elsewhere: Mutex<Option<Elsewhere>>,
}

/// An alternative to the thread's own parker.
#[derive(Clone)]
pub(in crate::engine) enum Elsewhere {
    Driver(DriverRef),
    /// The thread is parked as a worker; this wakes the worker.
    Worker(Waker),
}

impl Default for BlockedThread {
    fn default() -> Self {
        Self { spot: ParkSpot::new(), elsewhere: Mutex::default() }
    }
}

impl Wake for BlockedThread {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

brigade_sync::unmodelled::thread_local! {
    /// The thread's instance, reused by the next wait, so most waits allocate nothing.
    static KEPT: Cell<Option<Arc<BlockedThread>>> = const { Cell::new(None) };
}

/// The calling thread's instance, for a single wait.
pub(crate) struct ThisThread(Arc<BlockedThread>);

impl Deref for ThisThread {
    type Target = Arc<BlockedThread>;

    fn deref(&self) -> &Arc<BlockedThread> {
        &self.0
    }
}

impl Drop for ThisThread {
    fn drop(&mut self) {
        // A late token causes a spurious wake-up of the next wait, which checks once more.
        let _ = KEPT.try_with(|kept| kept.set(Some(self.0.clone())));
    }
}

impl BlockedThread {
    /// Returns the calling thread's instance; a nested wait gets a separate one.
    pub(crate) fn of_this_thread() -> ThisThread {
        ThisThread(KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default())
    }

    /// Sets the token.
    pub(crate) fn unpark(&self) {
        self.spot.unpark(|| {
            let elsewhere = self.elsewhere.lock().clone();
            match elsewhere {
                Some(Elsewhere::Driver(driver)) => driver.notify(),
                Some(Elsewhere::Worker(worker)) => worker.wake(),
                None => {}
            }
        });
    }

    /// Whether there is a token.
    pub(crate) fn has_token(&self) -> bool {
        self.spot.parker.has_token()
    }

    /// Takes the token, if any.
    pub(crate) fn take_token(&self) -> bool {
        self.spot.parker.try_take()
    }

    /// Sleeps until there is a token, for at most `timeout`; `false` if there was none.
    pub(crate) fn park(&self, timeout: Option<Duration>) -> bool {
        self.spot.parker.park(timeout)
    }
}

/// Blocks a thread that runs nothing meanwhile, until `is_over` or the deadline. If `is_over` returns `false`, the
/// thread's waker must have been registered.
pub(crate) fn sleep_outside(deadline: Option<Instant>, mut is_over: impl FnMut(&Waker) -> bool) {
    let thread = BlockedThread::of_this_thread();
    let waker = Waker::from(thread.clone());
    while !is_over(&waker) && deadline.is_none_or(|at| !time::until(at).is_zero()) {
        thread.park(deadline.map(time::until));
    }
}

/// The candidates of a pool.
#[derive(Default)]
pub(in crate::engine) struct Candidates {
    list: Mutex<List>,
    /// The number of candidates.
    count: AtomicUsize,
}

#[derive(Default)]
struct List {
    waiting: Vec<Arc<BlockedThread>>,
    /// The polling candidate.
    polls: Option<Arc<BlockedThread>>,
}

impl Candidates {
    /// Whether there were candidates at the caller's fence.
    pub(in crate::engine) fn are_there(&self) -> bool {
        // Ordering: Relaxed, due to the fences of both sides; see the top of this file.
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Wakes the candidate listed last, to run jobs that no worker can run.
    pub(in crate::engine) fn call_last(&self) {
        let last = self.list.lock().waiting.last().cloned();
        last.into_iter().for_each(|thread| thread.unpark());
    }

    /// If no candidate polls, wakes the first candidate to check whether it must.
    pub(in crate::engine) fn call(&self) {
        let list = self.list.lock();
        let first = list.waiting.first().filter(|_| list.polls.is_none()).cloned();
        drop(list);
        first.into_iter().for_each(|thread| thread.unpark());
    }

    /// Wakes the polling candidate to check again; `false` if none polls.
    pub(in crate::engine) fn call_poller(&self) -> bool {
        let thread = self.list.lock().polls.clone();
        thread.inspect(|thread| thread.unpark()).is_some()
    }

    /// Lists a thread until the guard is dropped.
    pub(in crate::engine) fn enter<'a>(&'a self, thread: &'a Arc<BlockedThread>) -> Candidate<'a> {
        let mut list = self.list.lock();
        list.waiting.push(thread.clone());
        self.count.store(list.waiting.len(), Ordering::Relaxed);
        drop(list);
        // Ordering: enter the list, fence, check whether a worker holds the driver.
        fence(Ordering::SeqCst);
        Candidate { list: self, thread, polls: false }
    }
}

/// A listed thread.
pub(in crate::engine) struct Candidate<'a> {
    list: &'a Candidates,
    thread: &'a Arc<BlockedThread>,
    polls: bool,
}

impl Candidate<'_> {
    /// Whether it polls.
    pub(in crate::engine) fn polls(&self) -> bool {
        self.polls
    }

    /// Polls from now on, unless a candidate already polls.
    pub(in crate::engine) fn begin_polling(&mut self) {
        let mut list = self.list.list.lock();
        if !self.polls && list.polls.is_none() {
            list.polls = Some(self.thread.clone());
            self.polls = true;
        }
        drop(list);
        // Ordering: a thread that sets a timer and misses this candidate has published the timer before this fence.
        fence(Ordering::SeqCst);
    }

    /// Stops polling.
    pub(in crate::engine) fn end_polling(&mut self) {
        if core::mem::take(&mut self.polls) {
            self.list.list.lock().polls = None;
        }
    }
}

impl Drop for Candidate<'_> {
    fn drop(&mut self) {
        self.end_polling();
        let mut list = self.list.list.lock();
        list.waiting.retain(|other| !Arc::ptr_eq(other, self.thread));
        self.list.count.store(list.waiting.len(), Ordering::Relaxed);
    }
}
