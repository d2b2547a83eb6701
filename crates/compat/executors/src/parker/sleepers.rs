//! Which threads are about to sleep, and which of them have been woken.
//!
//! Under one lock: a thread that prepares to sleep and one that wakes it see each other, whichever is first.

use std::collections::BTreeMap;

use brigade_sync::{Condvar, Mutex};

use super::ParkResult;

/// Threads by number.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    threads: Mutex<BTreeMap<usize, State>>,
    /// Notified after threads have been woken.
    woken: Condvar,
}

/// The state of a thread that has prepared to sleep, and has not been awake since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Prepared,
    Woken,
}

impl Sleepers {
    /// Forgets what the thread has prepared, and a wake.
    pub(super) fn init(&self, thread: usize) {
        self.threads.lock().remove(&thread);
    }

    /// From now on the thread is woken. A wake that it has not seen stays.
    pub(super) fn prepare(&self, thread: usize) {
        self.threads.lock().entry(thread).or_insert(State::Prepared);
    }

    /// From now on it is not. If it has been woken, another thread is in its place: there may be more to do than this one found.
    pub(super) fn abort(&self, thread: usize) {
        let state = self.threads.lock().remove(&thread);
        if state == Some(State::Woken) {
            self.wake_one();
        }
    }

    /// Blocks the calling thread, which has prepared it, until it is woken.
    pub(super) fn park(&self, thread: usize) -> ParkResult {
        let mut threads = self.threads.lock();
        let sleeps = threads.get(&thread) == Some(&State::Prepared);
        while threads.get(&thread) == Some(&State::Prepared) {
            threads = self.woken.wait(threads, None);
        }
        threads.remove(&thread);
        if sleeps { ParkResult::Woken } else { ParkResult::Abort }
    }

    /// Whether no thread has prepared to sleep and has not been woken.
    pub(super) fn is_empty(&self) -> bool {
        self.threads.lock().values().all(|&state| state == State::Woken)
    }

    /// Wakes a thread, if any has prepared to sleep.
    pub(super) fn wake_one(&self) {
        self.wake(1);
    }

    /// Wakes all threads that have prepared to sleep.
    pub(super) fn wake_all(&self) {
        self.wake(usize::MAX);
    }

    fn wake(&self, most: usize) {
        let mut threads = self.threads.lock();
        let sleeping = threads.values_mut().filter(|state| **state == State::Prepared);
        sleeping.take(most).for_each(|state| *state = State::Woken);
        self.woken.notify_all();
    }
}
