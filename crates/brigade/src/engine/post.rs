//! What only one worker may run: the local futures of its place, and those of them that have been woken.
//!
//! The rule that no wake is lost here is in `idle/README.md`.

use std::collections::VecDeque;
use std::task::Waker;

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_task::Job;

/// The local futures of one place.
#[derive(Default)]
pub(super) struct Post {
    /// Woken, the first one first.
    mail: Mutex<VecDeque<Job>>,
    /// How many those are.
    count: AtomicUsize,
    /// All that have not ended.
    locals: Mutex<Locals>,
}

#[derive(Default)]
struct Locals {
    wakers: Vec<Option<Waker>>,
    /// Where there is none.
    vacant: Vec<usize>,
}

impl Post {
    /// Queues a job for the worker; it has to be told.
    pub(super) fn send(&self, job: Job) {
        let mut mail = self.mail.lock();
        mail.push_back(job);
        // Ordering: Release: who sees it finds it under the lock. Whether a worker sees it before it parks goes by the
        // fences of `after_publishing` and `announce`.
        self.count.store(mail.len(), Ordering::Release);
    }

    /// Takes the first one; the worker alone does.
    pub(super) fn take(&self) -> Option<Job> {
        if self.is_empty() {
            return None;
        }
        let mut mail = self.mail.lock();
        let job = mail.pop_front();
        self.count.store(mail.len(), Ordering::Release);
        job
    }

    /// How many are queued.
    pub(super) fn len(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `send`.
        self.count.load(Ordering::Acquire)
    }

    /// Whether nothing is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Enters a future; returns its number, which is not 0. The worker alone does.
    pub(super) fn enter(&self, waker: Waker) -> u32 {
        let mut locals = self.locals.lock();
        let index = locals.vacant.pop().unwrap_or(locals.wakers.len());
        match locals.wakers.get_mut(index) {
            Some(place) => *place = Some(waker),
            None => locals.wakers.push(Some(waker)),
        }
        match u32::try_from(index + 1) {
            Ok(number) => number,
            Err(_) => panic!("a worker has at most 2^32 local futures"),
        }
    }

    /// Forgets a future that has ended.
    pub(super) fn leave(&self, number: u32) {
        let index = number as usize - 1;
        let mut locals = self.locals.lock();
        let waker = locals.wakers.get_mut(index).and_then(Option::take);
        locals.vacant.push(index);
        drop(locals);
        // It may be the last that keeps the future's memory.
        drop(waker);
    }

    /// Wakes a future, if it has not ended.
    pub(super) fn wake(&self, number: u32) {
        let waker = self.locals.lock().wakers.get(number as usize - 1).cloned().flatten();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Wakes all that have not ended; `false` if there is none.
    pub(super) fn wake_all(&self) -> bool {
        let wakers: Vec<_> = self.locals.lock().wakers.iter().flatten().cloned().collect();
        let any = !wakers.is_empty();
        wakers.into_iter().for_each(Waker::wake);
        any
    }

    /// Whether there are any that have not ended.
    pub(super) fn has_locals(&self) -> bool {
        let locals = self.locals.lock();
        locals.wakers.len() > locals.vacant.len()
    }
}
