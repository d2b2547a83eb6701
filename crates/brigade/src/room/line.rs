//! Who waits for a place, in the order they came.
//!
//! Not a crate of events: those wake, and so run code of the user's, under their own lock.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::Waker;

use brigade_task::drop_contained;

use super::Room;

/// Those who wait, each by the number it was given.
#[derive(Default)]
pub(super) struct Line {
    waiting: VecDeque<(u64, Waker)>,
    /// The last number given.
    last: u64,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn leave_first(&mut self) -> Option<Waker> {
        self.waiting.pop_front().map(|(_, waker)| waker)
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.waiting.iter().position(|(other, _)| *other == number)
    }

    /// Puts somebody at the end; says which number it has.
    fn join(&mut self, waker: Waker) -> u64 {
        self.last += 1;
        self.waiting.push_back((self.last, waker));
        self.last
    }

    /// Gives somebody who waits another waker, and the former one back; puts whoever has been woken in front.
    fn renew(&mut self, number: u64, waker: Waker) -> Option<Waker> {
        match self.position(number) {
            Some(position) => Some(core::mem::replace(&mut self.waiting[position].1, waker)),
            None => {
                self.waiting.push_front((number, waker));
                None
            }
        }
    }

    fn leave(&mut self, number: u64) -> Option<Waker> {
        self.waiting.remove(self.position(number)?).map(|(_, waker)| waker)
    }
}

/// Somebody's spot in the line, before, in and after it; who drops it leaves.
pub(crate) struct Spot {
    room: Arc<Room>,
    /// The number in the line, once it has been in it.
    number: Option<u64>,
}

impl Spot {
    /// A spot that is not in line yet.
    pub(crate) fn new(room: Arc<Room>) -> Self {
        Self { room, number: None }
    }

    /// Stands in line, to be woken when there may be a place; who was woken and found none stands in front again.
    ///
    /// The caller must try to take one before it waits (Line rule).
    pub(crate) fn stand(&mut self, waker: &Waker) {
        // User code, as is the drop of the former one, so outside the lock.
        let waker = waker.clone();
        let former = self.room.change_line(|line| match self.number {
            Some(number) => line.renew(number, waker),
            None => {
                self.number = Some(line.join(waker));
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
pub(super) fn wake(waker: Option<Waker>) {
    let Some(waker) = waker else { return };
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        drop_contained(payload);
    }
}
