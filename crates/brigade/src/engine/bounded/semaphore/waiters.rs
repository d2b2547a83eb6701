//! The waiters for a permit, in order of arrival.
//!
//! Not the crate `event-listener`: it wakes waiters, and so runs user code, under an internal lock.

use core::mem;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use brigade_task::{contain, drop_contained};

use super::Semaphore;

/// The waiters of one semaphore.
#[derive(Default)]
pub(super) struct Waiters {
    /// By number, and so in order of arrival.
    entries: BTreeMap<u64, Waker>,
    /// The last number in use.
    last: u64,
}

impl Waiters {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn remove_first(&mut self) -> Option<Waker> {
        self.entries.pop_first().map(|(_, waker)| waker)
    }

    pub(super) fn remove_all(&mut self) -> BTreeMap<u64, Waker> {
        mem::take(&mut self.entries)
    }

    /// Returns a number for a new waiter, after all earlier numbers.
    fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Adds a waiter, or renews the waker, and returns the former waker. A woken waiter gets its former place, before
    /// all later waiters.
    fn set(&mut self, number: u64, waker: Waker) -> Option<Waker> {
        self.entries.insert(number, waker)
    }

    fn remove(&mut self, number: u64) -> Option<Waker> {
        self.entries.remove(&number)
    }
}

/// A waiter before, during and after the wait; dropping it ends the wait.
pub(crate) struct Waiter {
    semaphore: Arc<Semaphore>,
    /// The waiter's number, once registered.
    number: Option<u64>,
}

impl Waiter {
    /// Makes a waiter that is not registered yet.
    pub(crate) fn new(semaphore: Arc<Semaphore>) -> Self {
        Self { semaphore, number: None }
    }

    /// Registers a waker, to be woken when there may be a permit. A waiter woken in vain gets its former place again.
    ///
    /// The caller must try to take a permit before it waits (Waiter rule).
    pub(crate) fn register(&mut self, waker: &Waker) {
        // The clone runs user code, as does the drop of the former waker: both are outside the lock.
        let waker = waker.clone();
        let former = self.semaphore.change_waiters(|waiters| {
            let number = *self.number.get_or_insert_with(|| waiters.next_number());
            waiters.set(number, waker)
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

/// Wakes a waiter, and contains a panic of the waker.
pub(super) fn wake(waker: Waker) {
    contain(|| waker.wake());
}
