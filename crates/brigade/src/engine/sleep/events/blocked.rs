//! Workers that wait inside a job, and may poll timers and the driver.
//!
//! A pool whose threads are all blocked, or busy for long, has no parked worker to wait on the driver. So each worker
//! that sleeps inside a job is a *candidate*. While no worker holds the driver, and none can be woken or started for
//! it, a single candidate *polls* instead. A later driver holder takes over, because it can immediately run the jobs
//! woken by events.
//!
//! A candidate enters the list, fences, and checks whether a worker holds the driver. A worker that releases
//! it, and a thread that sets a timer, fence and look at the list. So at least one side sees the other, as in
//! `engine/park/DRIVER.md`.

use core::cell::Cell;
use core::ops::Deref;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

use super::driver::DriverRef;
use crate::engine::key::Key;
use crate::engine::semaphore::Late;
use crate::engine::sleep::sleeper::ParkSpot;

/// Parks a thread that waits inside a job, or is not a worker; as a waker, it ends the sleep.
pub(crate) struct BlockedThread {
    pub(in crate::engine) spot: ParkSpot,
    /// Where the thread sleeps if not on its parker.
    pub(in crate::engine) elsewhere: Mutex<Option<Elsewhere>>,
    /// Whether jobs may be running above the wait, so that the thread does not act on a token soon.
    is_under_jobs: AtomicBool,
    /// Whether the thread has been called to run jobs inside its wait.
    is_called: AtomicBool,
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
        Self {
            spot: ParkSpot::new(),
            elsewhere: Mutex::default(),
            is_under_jobs: AtomicBool::new(false),
            is_called: AtomicBool::new(false),
        }
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
        let thread = KEPT.try_with(Cell::take).unwrap_or_default().unwrap_or_default();
        // Of a wait that ended before it acted on it.
        thread.take_call();
        ThisThread(thread)
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

    /// Notes whether jobs may run above the wait from now on; returns the former note. Before one runs there, the thread
    /// looks once more for a token.
    pub(in crate::engine) fn lie_under_jobs(&self, is_under: bool) -> bool {
        // Ordering: note, fence, look for a token; `is_late` is asked after the token was set.
        let was_under = self.is_under_jobs.swap(is_under, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        was_under
    }

    /// Takes a call to run jobs inside the wait, which came with a token; `false` if there was none.
    pub(in crate::engine) fn take_call(&self) -> bool {
        // Ordering: Relaxed, after the token has been taken.
        self.is_called.swap(false, Ordering::Relaxed)
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

/// Returns whether a wait is over. Given a thread, it first registers the thread, to be woken when that may have changed.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(Option<&Arc<BlockedThread>>) -> bool;

/// Waits on the calling thread until an [`Ask`] returns `true`, which this returns, or until the deadline. The jobs that
/// end the wait may be of a given pool.
pub(crate) type WaitUntil = fn(Option<Key>, Option<Instant>, Ask<'_>) -> bool;

impl Late for BlockedThread {
    fn is_late(&self) -> bool {
        // Ordering: `unpark` has fenced; see `lie_under_jobs`.
        self.is_under_jobs.load(Ordering::Relaxed)
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
    waiting: Vec<Entry>,
    /// The polling candidate.
    polls: Option<Arc<BlockedThread>>,
}

/// A thread, and whether it may run jobs inside its wait.
type Entry = (Arc<BlockedThread>, bool);

impl List {
    /// Returns whether the thread polled until now.
    fn end_polling(&mut self, thread: &Arc<BlockedThread>) -> bool {
        self.polls.take_if(|polls| Arc::ptr_eq(polls, thread)).is_some()
    }
}

impl Candidates {
    /// Whether there were candidates at the caller's fence.
    pub(in crate::engine) fn are_there(&self) -> bool {
        // Ordering: Relaxed, due to the fences of both sides; see the top of this file.
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Calls the last candidate that may run jobs inside its wait, for jobs that no worker can run.
    pub(in crate::engine) fn call_last(&self) {
        let last = self.list.lock().waiting.iter().rfind(|(_, runs)| *runs).cloned();
        if let Some((thread, _)) = last {
            thread.is_called.store(true, Ordering::Relaxed);
            thread.unpark();
        }
    }

    /// If no candidate polls, wakes the first candidate to check whether it must.
    pub(in crate::engine) fn call(&self) {
        let list = self.list.lock();
        let first = if list.polls.is_none() { list.waiting.first().cloned() } else { None };
        drop(list);
        let Some((thread, _)) = first else { return };
        thread.unpark();
    }

    /// Wakes the polling candidate to check again; `false` if none polls.
    pub(in crate::engine) fn call_poller(&self) -> bool {
        let Some(thread) = self.list.lock().polls.clone() else { return false };
        thread.unpark();
        true
    }

    /// Lists a thread, which may run jobs or not, until the guard is dropped.
    pub(in crate::engine) fn enter<'a>(
        &'a self,
        thread: &'a Arc<BlockedThread>,
        runs: bool,
    ) -> Candidate<'a> {
        self.put((thread.clone(), runs));
        Candidate { list: self, thread }
    }

    /// Lists a thread.
    pub(in crate::engine) fn put(&self, entry: Entry) {
        let mut list = self.list.lock();
        list.waiting.push(entry);
        self.count.store(list.waiting.len(), Ordering::Relaxed);
        drop(list);
        // Ordering: enter the list, fence, check whether a worker holds the driver.
        fence(Ordering::SeqCst);
    }

    /// Removes a thread, which does not poll any more. Returns its entry, if it was listed, and whether it polled.
    pub(in crate::engine) fn take(&self, thread: &Arc<BlockedThread>) -> Option<(Entry, bool)> {
        let mut list = self.list.lock();
        let polls = list.end_polling(thread);
        let index = list.waiting.iter().position(|(other, _)| Arc::ptr_eq(other, thread))?;
        let entry = list.waiting.remove(index);
        self.count.store(list.waiting.len(), Ordering::Relaxed);
        Some((entry, polls))
    }
}

/// A listed thread.
pub(in crate::engine) struct Candidate<'a> {
    list: &'a Candidates,
    thread: &'a Arc<BlockedThread>,
}

impl Candidate<'_> {
    /// Polls from now on if `wanted`, unless another candidate polls. Returns whether this one does.
    pub(in crate::engine) fn polls(&self, wanted: bool) -> bool {
        let mut list = self.list.list.lock();
        if !wanted {
            list.end_polling(self.thread);
        }
        let polls = wanted
            && Arc::ptr_eq(list.polls.get_or_insert_with(|| self.thread.clone()), self.thread);
        drop(list);
        // Ordering: a thread that sets a timer and misses this candidate has published the timer before this fence.
        fence(Ordering::SeqCst);
        polls
    }
}

impl Drop for Candidate<'_> {
    fn drop(&mut self) {
        self.list.take(self.thread);
    }
}
