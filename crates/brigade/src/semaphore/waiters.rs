//! The waiters for a permit, in order of arrival.
//!
//! Not the crate `event-listener`: it wakes, and so runs user code, under its own lock.

use core::mem;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use brigade_task::{contain, drop_contained};

use super::Semaphore;

/// The waiters of one semaphore.
#[derive(Default)]
pub(super) struct Waiters {
    entries: VecDeque<Entry>,
    /// The last number in use.
    last: u64,
}

struct Entry {
    number: u64,
    /// Whether it waits on although the pool accepts nothing from outside any more.
    stays: bool,
    waker: Waker,
}

impl Waiters {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn remove_first(&mut self) -> Option<Waker> {
        self.entries.pop_front().map(|entry| entry.waker)
    }

    pub(super) fn remove_outsiders(&mut self) -> Vec<Waker> {
        let mut leaving = Vec::new();
        for _ in 0..self.entries.len() {
            match self.entries.pop_front() {
                Some(entry) if entry.stays => self.entries.push_back(entry),
                entry => leaving.extend(entry.map(|entry| entry.waker)),
            }
        }
        leaving
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.number == number)
    }

    /// Adds a waiter at the end; returns its number.
    fn add(&mut self, waker: Waker, stays: bool) -> u64 {
        self.last += 1;
        self.entries.push_back(Entry { number: self.last, stays, waker });
        self.last
    }

    /// Replaces the waker of a waiter, and returns the former one; a waiter that has been woken becomes the first again.
    fn renew(&mut self, number: u64, waker: Waker, stays: bool) -> Option<Waker> {
        match self.position(number) {
            Some(position) => Some(mem::replace(&mut self.entries[position].waker, waker)),
            None => {
                self.entries.push_front(Entry { number, stays, waker });
                None
            }
        }
    }

    fn remove(&mut self, number: u64) -> Option<Waker> {
        self.entries.remove(self.position(number)?).map(|entry| entry.waker)
    }
}

/// One waiter, before, during and after its wait; dropping it ends the wait.
pub(crate) struct Waiter {
    semaphore: Arc<Semaphore>,
    /// Whether it waits on although the pool accepts nothing from outside any more.
    stays: bool,
    /// Its number, once it has been registered.
    number: Option<u64>,
}

impl Waiter {
    /// Makes a waiter that is not registered yet.
    pub(crate) fn new(semaphore: Arc<Semaphore>) -> Self {
        Self { semaphore, stays: false, number: None }
    }

    /// Makes a waiter that continues to wait in a closed pool.
    pub(crate) fn staying(semaphore: Arc<Semaphore>) -> Self {
        Self { semaphore, stays: true, number: None }
    }

    /// Registers a waker, to be woken when there may be a permit. A waiter that was woken and found none becomes the first
    /// again.
    ///
    /// The caller must try to take a permit before it waits (Waiter rule).
    pub(crate) fn register(&mut self, waker: &Waker) {
        // User code, as is the drop of the former waker, so outside the lock.
        let waker = waker.clone();
        let former = self.semaphore.change_waiters(|waiters| match self.number {
            Some(number) => waiters.renew(number, waker, self.stays),
            None => {
                self.number = Some(waiters.add(waker, self.stays));
                None
            }
        });
        drop_contained(former);
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let Some(number) = self.number.filter(|_| self.semaphore.is_here()) else { return };
        let former = self.semaphore.change_waiters(|waiters| waiters.remove(number));
        drop_contained(former);
        self.semaphore.pass_on();
    }
}

/// Wakes a waiter, and contains a panic of its waker.
pub(super) fn wake(waker: Waker) {
    contain(|| waker.wake());
}
