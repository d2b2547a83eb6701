//! Who waits for a place, in the order they came.
//!
//! Not a crate of events: those wake, and so run code of the user's, under their own lock.

use core::mem;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::Waker;

use brigade_task::drop_contained;

use super::Room;

/// Those who wait.
#[derive(Default)]
pub(super) struct Line {
    waiting: VecDeque<Waiter>,
    /// The last number given.
    last: u64,
}

struct Waiter {
    number: u64,
    /// Whether it waits on although the pool accepts nothing from outside any more.
    stays: bool,
    waker: Waker,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn leave_first(&mut self) -> Option<Waker> {
        self.waiting.pop_front().map(|waiter| waiter.waker)
    }

    pub(super) fn leave_outsiders(&mut self) -> Vec<Waker> {
        let (kept, leaving) = self.waiting.drain(..).partition(|waiter| waiter.stays);
        self.waiting = kept;
        VecDeque::into_iter(leaving).map(|waiter| waiter.waker).collect()
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.waiting.iter().position(|waiter| waiter.number == number)
    }

    /// Puts somebody at the end; says which number it has.
    fn join(&mut self, waker: Waker, stays: bool) -> u64 {
        self.last += 1;
        self.waiting.push_back(Waiter { number: self.last, stays, waker });
        self.last
    }

    /// Gives somebody who waits another waker, and the former one back; puts whoever has been woken in front.
    fn renew(&mut self, number: u64, waker: Waker, stays: bool) -> Option<Waker> {
        match self.position(number) {
            Some(position) => Some(mem::replace(&mut self.waiting[position].waker, waker)),
            None => {
                self.waiting.push_front(Waiter { number, stays, waker });
                None
            }
        }
    }

    fn leave(&mut self, number: u64) -> Option<Waker> {
        self.waiting.remove(self.position(number)?).map(|waiter| waiter.waker)
    }
}

/// Somebody's spot in the line, before, in and after it; who drops it leaves.
pub(crate) struct Spot {
    room: Arc<Room>,
    /// Whether its owner waits on although the pool accepts nothing from outside any more.
    stays: bool,
    /// The number in the line, once it has been in it.
    number: Option<u64>,
}

impl Spot {
    /// A spot that is not in line yet.
    pub(crate) fn new(room: Arc<Room>) -> Self {
        Self { room, stays: false, number: None }
    }

    /// The same for one who waits on in a pool that is closed.
    pub(crate) fn staying(room: Arc<Room>) -> Self {
        Self { room, stays: true, number: None }
    }

    /// Stands in line, to be woken when there may be a place; who was woken and found none stands in front again.
    ///
    /// The caller must try to take one before it waits (Line rule).
    pub(crate) fn stand(&mut self, waker: &Waker) {
        // User code, as is the drop of the former one, so outside the lock.
        let waker = waker.clone();
        let former = self.room.change_line(|line| match self.number {
            Some(number) => line.renew(number, waker, self.stays),
            None => {
                self.number = Some(line.join(waker, self.stays));
                None
            }
        });
        drop_contained(former);
    }
}

impl Drop for Spot {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let former = self.room.change_line(|line| line.leave(number));
        drop_contained(former);
        self.room.pass_on();
    }
}

/// Wakes somebody; a panic of that is none of whoever does it.
pub(super) fn wake(waker: Waker) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        drop_contained(payload);
    }
}
