//! The data under a source's lock: the waiting tasks, and the interest.
//!
//! Nothing here makes a system call. A method returns the interest to ask the kernel for, and the caller in
//! [`waiting`](crate::waiting) confirms it with [`set_interest`](State::set_interest).

use core::task::Waker;

use crate::event::{Direction, Directions, Event, Interest, Trigger};
use crate::waiters::{SlotId, Waiters};

/// The state of a source.
#[derive(Debug)]
pub(crate) struct State {
    trigger: Trigger,
    /// The waiting tasks.
    waiters: Directions<Waiters>,
    /// The interest last set in the kernel.
    interest: Interest,
    /// By level: how often an event was reported while no task waited, since the last wait. Each poll reports it
    /// again, until the direction leaves the interest.
    stale: Directions<u8>,
    /// There will be no more events.
    closed: bool,
}

/// By level: how many polls may report an event again before the woken task has read.
///
/// A report costs some 80 ns, and two changes of the interest, to end the reports and to begin them anew, cost 550 ns and a
/// contended lock of the kernel. So they are not worth it for an event whose task runs soon, as most do, but they are for a
/// lasting event (the "ski rental" of A. R. Karlin et al., "Competitive snoopy caching", 1988). `docs/design/io.md` has the
/// measurement: from three reports on the cost falls no further.
const REPEATS: u8 = 3;

/// The step to follow an event, when no other lock is held.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowUp {
    Nothing,
    /// Ask the kernel for the [interest after the event](State::interest_after_event).
    SetInterest,
}

impl State {
    /// Of a source added with this interest.
    pub(crate) fn new(trigger: Trigger, interest: Interest) -> Self {
        Self {
            trigger,
            waiters: Directions::default(),
            interest,
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

    /// Records an event; the wakers of the awaiting tasks go to `wakers`. `sleeps`: the driving thread may sleep, which
    /// a repeated report of an event would prevent.
    pub(crate) fn deliver(
        &mut self,
        event: Event,
        sleeps: bool,
        wakers: &mut Vec<Waker>,
    ) -> FollowUp {
        let mut leaves = false;
        for direction in Direction::BOTH {
            if event.ready[direction] {
                let waiters = &mut self.waiters[direction];
                let is_stale = self.trigger == Trigger::Level
                    && self.interest[direction]
                    && waiters.is_empty();
                let stale = &mut self.stale[direction];
                *stale = if is_stale { stale.saturating_add(1) } else { 0 };
                leaves |= is_stale && (sleeps || *stale > REPEATS);
                waiters.take(wakers);
            }
        }
        if self.trigger == Trigger::Oneshot {
            self.interest = Interest::NONE;
            leaves = self.interest_after_event().is_some();
        }
        if leaves { FollowUp::SetInterest } else { FollowUp::Nothing }
    }

    /// The interest without stale directions, and by oneshot with the directions in which tasks still wait; `None` if the
    /// kernel has this interest already.
    pub(crate) fn interest_after_event(&self) -> Option<Interest> {
        let mut interest = self.interest;
        for direction in Direction::BOTH {
            interest[direction] &= self.stale[direction] == 0;
            interest[direction] |=
                self.trigger == Trigger::Oneshot && !self.waiters[direction].is_empty();
        }
        (interest != self.interest).then_some(interest)
    }

    /// The interest for a task about to wait; `None` if the kernel need not be asked. `again`: the kernel's
    /// former report is outdated, so by edge it must be asked once more.
    pub(crate) fn interest_to_wait(&self, direction: Direction, again: bool) -> Option<Interest> {
        let asks = !self.interest[direction] || (again && !self.trigger.reports_what_is_left());
        asks.then(|| {
            let mut interest = self.interest;
            interest[direction] = true;
            // A stale direction leaves the interest with the same system call.
            let other = direction.other();
            interest[other] &= self.stale[other] == 0;
            interest
        })
    }

    /// The kernel is asked for this now.
    pub(crate) fn set_interest(&mut self, interest: Interest) {
        self.interest = interest;
        for direction in Direction::BOTH {
            self.stale[direction] *= u8::from(interest[direction]);
        }
    }

    /// Gives a slot to a future.
    pub(crate) fn reserve(&mut self, direction: Direction) -> SlotId {
        self.waiters[direction].reserve()
    }

    /// Frees a slot; returns the waker in it.
    #[must_use = "dropping it is user code"]
    pub(crate) fn release(&mut self, direction: Direction, slot: SlotId) -> Option<Waker> {
        self.waiters[direction].release(slot)
    }

    /// From now on a task waits; returns the former waker in its slot.
    #[must_use = "dropping it is user code"]
    pub(crate) fn wait(
        &mut self,
        direction: Direction,
        slot: SlotId,
        waker: Waker,
    ) -> Option<Waker> {
        self.stale[direction] = 0;
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

    /// Records an event for a thread that sleeps, or not.
    fn deliver(state: &mut State, ready: Interest, sleeps: bool) -> (FollowUp, usize) {
        let mut wakers = Vec::new();
        let follow_up = state.deliver(event(ready), sleeps, &mut wakers);
        (follow_up, wakers.len())
    }

    fn event(ready: Interest) -> Event {
        Event { key: 0, ready, ended: Directions::default() }
    }

    /// Waits like a polling task; returns the interest for the kernel.
    fn wait(state: &mut State, direction: Direction) -> Option<Interest> {
        let asked = state.interest_to_wait(direction, false);
        asked.into_iter().for_each(|interest| state.set_interest(interest));
        assert!(state.wait(direction, SlotId::Polled, Waker::noop().clone()).is_none());
        asked
    }

    #[test]
    fn oneshot_renews_the_interest_of_a_waiting_task() {
        let mut state = State::new(Trigger::Oneshot, Interest::NONE);
        assert_eq!(wait(&mut state, Direction::Read), Some(READ));
        assert_eq!(wait(&mut state, Direction::Write), Some(Interest::BOTH));
        assert_eq!(deliver(&mut state, READ, false), (FollowUp::SetInterest, 1));
        assert_eq!(state.interest_after_event(), Some(WRITE));
        state.set_interest(WRITE);
        assert_eq!(state.interest_after_event(), None);
        assert_eq!(deliver(&mut state, WRITE, false), (FollowUp::Nothing, 1));
        assert_eq!(wait(&mut state, Direction::Write), Some(WRITE), "asked again");
    }

    /// An event in neither direction, or too early for the task, ends the interest as well.
    #[test]
    fn oneshot_forgets_no_unwoken_task() {
        let mut state = State::new(Trigger::Oneshot, Interest::NONE);
        assert_eq!(wait(&mut state, Direction::Read), Some(READ));
        assert_eq!(deliver(&mut state, Interest::NONE, true), (FollowUp::SetInterest, 0));
        // Before the follow-up, another task waits, and asks for the other direction.
        assert_eq!(wait(&mut state, Direction::Write), Some(WRITE));
        assert_eq!(state.interest_after_event(), Some(Interest::BOTH));
    }

    /// A source by level, with a woken task that has not read yet.
    fn woken() -> State {
        let mut state = State::new(Trigger::Level, Interest::NONE);
        assert_eq!(wait(&mut state, Direction::Read), Some(READ));
        assert_eq!(deliver(&mut state, READ, true), (FollowUp::Nothing, 1));
        state
    }

    #[test]
    fn level_drops_a_taskless_interest_before_a_sleep() {
        let mut state = woken();
        assert_eq!(deliver(&mut state, READ, true), (FollowUp::SetInterest, 0));
        assert_eq!(state.interest_after_event(), Some(Interest::NONE));
        state.set_interest(Interest::NONE);
        assert_eq!(state.interest_after_event(), None);
        assert_eq!(wait(&mut state, Direction::Read), Some(READ));
    }

    #[test]
    fn level_reports_a_few_times_and_a_timely_wait_asks_nothing() {
        let mut state = woken();
        for _ in 0..2 {
            for _ in 0..REPEATS {
                assert_eq!(deliver(&mut state, READ, false), (FollowUp::Nothing, 0));
            }
            assert_eq!(wait(&mut state, Direction::Read), None);
            assert_eq!(deliver(&mut state, READ, false), (FollowUp::Nothing, 1));
        }
        for _ in 0..REPEATS {
            assert_eq!(deliver(&mut state, READ, false), (FollowUp::Nothing, 0));
        }
        assert_eq!(deliver(&mut state, READ, false), (FollowUp::SetInterest, 0));
        assert_eq!(state.interest_after_event(), Some(Interest::NONE));
    }

    #[test]
    fn level_drops_a_vain_interest_with_the_next_change() {
        let mut state = woken();
        assert_eq!(deliver(&mut state, READ, false), (FollowUp::Nothing, 0));
        assert_eq!(wait(&mut state, Direction::Write), Some(WRITE));
        assert_eq!(wait(&mut state, Direction::Read), Some(Interest::BOTH));
    }
}
