//! The data under a source's lock: the tasks that wait, and the interest.
//!
//! Nothing here makes a system call. A method returns the interest that the kernel must be asked for, and the caller in
//! [`waiting`](crate::waiting) says with [`set_interest`](State::set_interest) that it has been.

use core::task::Waker;

use crate::event::{Direction, Directions, Event, Interest, Trigger};
use crate::waiters::{SlotId, Waiters};

/// The state of a source.
#[derive(Debug)]
pub(crate) struct State {
    trigger: Trigger,
    /// The tasks that wait.
    waiters: Directions<Waiters>,
    /// What the kernel is asked to report.
    interest: Interest,
    /// By level: directions with an event while no task waited, for which none has waited since. Each wait would report
    /// the event again, so they leave the interest.
    stale: Directions<bool>,
    /// There will be no more events.
    closed: bool,
}

/// What must follow an event, when no other lock is held.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowUp {
    Nothing,
    /// Ask the kernel for the [interest after the event](State::interest_after_event).
    SetInterest,
}

impl State {
    /// Of a source that has been added with the trigger's [first interest](Trigger::first_interest).
    pub(crate) fn new(trigger: Trigger) -> Self {
        Self {
            trigger,
            waiters: Directions::default(),
            interest: trigger.first_interest(),
            stale: Directions::default(),
            closed: false,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Records an event; the wakers of the tasks that waited for it go to `wakers`.
    pub(crate) fn deliver(&mut self, event: Event, wakers: &mut Vec<Waker>) -> FollowUp {
        for direction in Direction::BOTH {
            if event.ready[direction] {
                let waiters = &mut self.waiters[direction];
                self.stale[direction] = self.trigger == Trigger::Level
                    && self.interest[direction]
                    && waiters.is_empty();
                waiters.take(wakers);
            }
        }
        if self.trigger == Trigger::Oneshot {
            self.interest = Interest::NONE;
        }
        match self.interest_after_event() {
            Some(_) => FollowUp::SetInterest,
            None => FollowUp::Nothing,
        }
    }

    /// The interest without the directions that are stale, and by oneshot with those in which tasks still wait; `None` if
    /// the kernel is asked for that already.
    pub(crate) fn interest_after_event(&self) -> Option<Interest> {
        let mut interest = self.interest;
        for direction in Direction::BOTH {
            interest[direction] &= !self.stale[direction];
            interest[direction] |=
                self.trigger == Trigger::Oneshot && !self.waiters[direction].is_empty();
        }
        (interest != self.interest).then_some(interest)
    }

    /// The interest for a task that is about to wait; `None` if the kernel need not be asked. `again`: what the
    /// kernel reported before is outdated, so by edge it must be asked once more.
    pub(crate) fn interest_to_wait(&self, direction: Direction, again: bool) -> Option<Interest> {
        let asks = !self.interest[direction] || (again && !self.trigger.reports_what_is_left());
        asks.then(|| {
            let mut interest = self.interest;
            interest[direction] = true;
            // What is stale leaves it with the same system call.
            let other = direction.other();
            interest[other] &= !self.stale[other];
            interest
        })
    }

    /// The kernel is asked for this now.
    pub(crate) fn set_interest(&mut self, interest: Interest) {
        self.interest = interest;
        for direction in Direction::BOTH {
            self.stale[direction] &= interest[direction];
        }
    }

    /// Gives a slot to a future.
    pub(crate) fn reserve(&mut self, direction: Direction) -> SlotId {
        self.waiters[direction].reserve()
    }

    /// Frees a slot; returns the waker that it held.
    #[must_use = "dropping it is user code"]
    pub(crate) fn release(&mut self, direction: Direction, slot: SlotId) -> Option<Waker> {
        self.waiters[direction].release(slot)
    }

    /// From now on a task waits; returns the waker that its slot held.
    #[must_use = "dropping it is user code"]
    pub(crate) fn wait(
        &mut self,
        direction: Direction,
        slot: SlotId,
        waker: Waker,
    ) -> Option<Waker> {
        self.stale[direction] = false;
        self.waiters[direction].insert(slot, waker)
    }

    /// Moves all wakers to `wakers`.
    pub(crate) fn take_wakers(&mut self, wakers: &mut Vec<Waker>) {
        for direction in Direction::BOTH {
            self.waiters[direction].take(wakers);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::task::Waker;

    use super::*;

    const READ: Interest = Interest { read: true, write: false };
    const WRITE: Interest = Interest { read: false, write: true };

    fn event(ready: Interest) -> Event {
        Event { key: 0, ready, ended: Directions::default() }
    }

    /// Waits as a task does that polls; returns what the kernel is asked for.
    fn wait(state: &mut State, direction: Direction) -> Option<Interest> {
        let asked = state.interest_to_wait(direction, false);
        asked.into_iter().for_each(|interest| state.set_interest(interest));
        assert!(state.wait(direction, SlotId::Polled, Waker::noop().clone()).is_none());
        asked
    }

    #[test]
    fn by_oneshot_an_event_ends_the_interest_and_that_of_a_task_that_still_waits_is_renewed() {
        let mut state = State::new(Trigger::Oneshot);
        assert_eq!(wait(&mut state, Direction::Read), Some(READ));
        assert_eq!(wait(&mut state, Direction::Write), Some(Interest::BOTH));
        let mut wakers = Vec::new();
        assert_eq!(state.deliver(event(READ), &mut wakers), FollowUp::SetInterest);
        assert_eq!(wakers.len(), 1);
        assert_eq!(state.interest_after_event(), Some(WRITE));
        state.set_interest(WRITE);
        assert_eq!(state.interest_after_event(), None);
        assert_eq!(state.deliver(event(WRITE), &mut wakers), FollowUp::Nothing);
        assert_eq!(wakers.len(), 2);
        assert_eq!(wait(&mut state, Direction::Write), Some(WRITE), "asked again");
    }

    /// An event in neither direction, or one that the task was too late for, ends the interest as well.
    #[test]
    fn by_oneshot_a_task_that_an_event_does_not_wake_is_not_forgotten() {
        let mut state = State::new(Trigger::Oneshot);
        assert_eq!(wait(&mut state, Direction::Read), Some(READ));
        let mut wakers = Vec::new();
        assert_eq!(state.deliver(event(Interest::NONE), &mut wakers), FollowUp::SetInterest);
        // Before the follow-up, another task waits, and asks for its own direction.
        assert_eq!(wait(&mut state, Direction::Write), Some(WRITE));
        assert_eq!(state.interest_after_event(), Some(Interest::BOTH));
    }

    #[test]
    fn by_level_an_event_without_a_task_leaves_the_interest() {
        let mut state = State::new(Trigger::Level);
        assert_eq!(wait(&mut state, Direction::Read), Some(READ));
        let mut wakers = Vec::new();
        assert_eq!(state.deliver(event(READ), &mut wakers), FollowUp::Nothing);
        assert_eq!(state.deliver(event(READ), &mut wakers), FollowUp::SetInterest);
        assert_eq!(state.interest_after_event(), Some(Interest::NONE));
        state.set_interest(Interest::NONE);
        assert_eq!(state.interest_after_event(), None);
        assert_eq!(wait(&mut state, Direction::Read), Some(READ));
    }
}
