//! How a task waits for a source, and how an event reaches it.
//!
//! The rules are in the crate's documentation, under [The protocol](crate#the-protocol).

use core::task::{Context, Poll, Waker};
use std::io;

use brigade_sync::awaited::note;

use crate::error::driver_closed;
use crate::event::{Direction, Event, Look};
use crate::state::{FollowUp, State};
use crate::sys::{Registered, Source};
use crate::waiters::SlotId;

impl Source {
    /// Waits until an operation may succeed.
    pub(crate) fn poll_ready(
        &self,
        direction: Direction,
        slot: SlotId,
        context: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        let readiness = &self.readiness[direction];
        if readiness.load().may_succeed() {
            return Poll::Ready(Ok(()));
        }
        self.poll_until(direction, slot, context, || readiness.load().may_succeed())
    }

    /// Waits until `done` returns `true`, which an event may cause. It is called under the lock.
    pub(crate) fn poll_until(
        &self,
        direction: Direction,
        slot: SlotId,
        context: &Context<'_>,
        done: impl FnOnce() -> bool,
    ) -> Poll<io::Result<()>> {
        if !self.is_here() {
            return Poll::Ready(Err(driver_closed()));
        }
        // Clone and drop are user code: before and after the lock.
        let waker = context.waker().clone();
        let (outcome, left) = self.with(|state, registered| {
            if done() {
                return (Poll::Ready(Ok(())), Some(waker));
            }
            match self.prepare_wait(state, registered, direction) {
                Ok(()) => (Poll::Pending, state.wait(direction, slot, waker)),
                Err(error) => (Poll::Ready(Err(error)), Some(waker)),
            }
        });
        drop(left);
        if outcome.is_pending() {
            note(move || self.awaited(direction));
        }
        outcome
    }

    /// Sets the interest for a task about to wait.
    fn prepare_wait(
        &self,
        state: &mut State,
        registered: Option<Registered<'_>>,
        direction: Direction,
    ) -> io::Result<()> {
        let registered = match registered {
            Some(registered) if !state.is_closed() => registered,
            _ => return Err(driver_closed()),
        };
        let readiness = &self.readiness[direction];
        let again = readiness.take_reported();
        if let Some(interest) = state.interest_to_wait(direction, again) {
            if let Err(error) = registered.modify(interest) {
                if again {
                    readiness.report(readiness.load());
                }
                return Err(error);
            }
            state.set_interest(interest);
        }
        Ok(())
    }

    /// Gives a slot to a future.
    pub(crate) fn reserve(&self, direction: Direction) -> SlotId {
        self.with(|state, _| state.reserve(direction))
    }

    /// Frees the slot of a future.
    pub(crate) fn release(&self, direction: Direction, slot: SlotId) {
        if !self.is_here() {
            return;
        }
        let waker = self.with(|state, _| state.release(direction, slot));
        drop(waker);
    }

    /// Records an event; the wakers of the awaiting tasks go to `wakers`.
    pub(crate) fn deliver(&self, event: Event, look: Look, wakers: &mut Vec<Waker>) -> FollowUp {
        self.with(|state, _| {
            for direction in Direction::BOTH {
                if event.ready[direction] {
                    self.readiness[direction].set(event.ended[direction], look.is_crowd);
                }
            }
            state.deliver(event, look.sleeps, wakers)
        })
    }

    /// Sets the interest to the directions in which tasks wait after an event. On failure, the wakers of all tasks go to
    /// `wakers`.
    pub(crate) fn follow_up(&self, wakers: &mut Vec<Waker>) {
        self.with(|state, registered| {
            let Some(registered) = registered else { return };
            let Some(interest) = state.interest_after_event() else { return };
            match registered.modify(interest) {
                Ok(()) => state.set_interest(interest),
                // The kernel has no memory left, perhaps. It is still asked for the same as before, and the tasks try again.
                Err(_) => state.take_wakers(wakers),
            }
        });
    }

    /// Ends all waiting; the wakers go to `wakers`. No event: a waiting task finds it closed.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        self.with(|state, _| {
            state.close();
            state.take_wakers(wakers);
        });
    }

    /// Takes the wakers, without waking them.
    pub(crate) fn take_wakers(&self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        self.with(|state, _| state.take_wakers(&mut wakers));
        wakers
    }
}
