//! Waiting for a source, being told of it, and what the kernel is asked meanwhile.
//!
//! The rules are in the crate's documentation, under [The protocol](crate#the-protocol).

use core::task::{Context, Poll, Waker};
use std::io;

use crate::Trigger;
use crate::error::driver_closed;
use crate::sys::{Event, Interest, Line, Source};
use crate::waiters::{Place, Waiters};

/// One of the two things a source can be ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Reading, or accepting.
    Read = 0,
    /// Writing, or having connected.
    Write = 1,
}

const BOTH: [Direction; 2] = [Direction::Read, Direction::Write];

/// What is under a source's lock.
#[derive(Debug)]
pub(crate) struct State {
    /// What makes an event of the source.
    trigger: Trigger,
    /// Who waits, by direction.
    waiters: [Waiters; 2],
    /// What the kernel is asked, by direction.
    asked: [bool; 2],
    /// What the kernel said when nobody waited: not to be asked any longer, unless somebody waits by then.
    unheard: [bool; 2],
    /// There will be no more events.
    closed: bool,
}

/// What an event leaves to be done when no other lock is held.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fired {
    /// Nothing.
    Settled,
    /// [`Source::settle`]: the kernel has to be asked something else.
    Unsettled,
}

impl State {
    /// For a source of a driver with this trigger.
    pub(crate) fn new(trigger: Trigger, is_socket: bool) -> Self {
        let trigger = match trigger {
            Trigger::ByKind if is_socket => Trigger::Edge,
            Trigger::ByKind => Trigger::Level,
            trigger => trigger,
        };
        let asked = [Self::first_asked(trigger).read, Self::first_asked(trigger).write];
        let unheard = [false; 2];
        Self { trigger, waiters: Default::default(), asked, unheard, closed: false }
    }

    /// What the kernel is asked of a new source.
    pub(crate) fn first_asked(trigger: Trigger) -> Interest {
        match trigger {
            // For ever: an edge that nobody waits for costs one event.
            Trigger::Edge => Interest::ALL,
            _ => Interest::NONE,
        }
    }

    /// What makes an event of the source: one of those that say so, and not by kind.
    pub(crate) fn trigger(&self) -> Trigger {
        self.trigger
    }

    fn interest(&self) -> Interest {
        let [read, write] = self.asked;
        Interest { read, write }
    }
}

impl Source {
    /// Waits until an operation in `direction` is worth the try, or says so at once.
    pub(crate) fn poll_ready(
        &self,
        direction: Direction,
        place: Place,
        context: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        let readiness = &self.readiness[direction as usize];
        if readiness.now().worth_a_try() {
            return Poll::Ready(Ok(()));
        }
        self.poll_until(direction, place, context, || readiness.now().worth_a_try())
    }

    /// Waits until `done`, which an event may have brought about and a look under the lock tells for certain.
    pub(crate) fn poll_until(
        &self,
        direction: Direction,
        place: Place,
        context: &Context<'_>,
        done: impl FnOnce() -> bool,
    ) -> Poll<io::Result<()>> {
        if !self.is_here() {
            return Poll::Ready(Err(driver_closed()));
        }
        // Clone and drop are user code: before and after the lock.
        let waker = context.waker().clone();
        let (outcome, left) = self.with(|state, line| {
            if done() {
                return (Poll::Ready(Ok(())), Some(waker));
            }
            let readiness = &self.readiness[direction as usize];
            let again = readiness.take_doubt();
            match state.wait(direction, place, waker, line, again) {
                Ok(replaced) => (Poll::Pending, replaced),
                Err((error, waker)) => {
                    if again {
                        readiness.told(readiness.now());
                    }
                    (Poll::Ready(Err(error)), waker)
                }
            }
        });
        if let Some(left) = left {
            // Two tasks poll in one direction: whoever is replaced looks again, as nobody else would wake it.
            if outcome.is_pending() && !left.will_wake(context.waker()) {
                left.wake();
            }
        }
        outcome
    }

    /// Gives a future's place back.
    pub(crate) fn leave(&self, direction: Direction, place: Place) {
        if !self.is_here() {
            return;
        }
        let waker = self.with(|state, _| state.waiters[direction as usize].stand_up(place));
        drop(waker);
    }

    /// Finds a place for a future.
    pub(crate) fn sit_down(&self, direction: Direction) -> Place {
        self.with(|state, _| state.waiters[direction as usize].sit_down())
    }

    /// Takes what an event says; the wakers of who waited for it go to `wakers`.
    pub(crate) fn fire(&self, event: Event, wakers: &mut Vec<Waker>) -> Fired {
        self.with(|state, _| {
            let told = [event.read, event.write];
            let ended = [event.read_ended, event.write_ended];
            for direction in BOTH.map(|direction| direction as usize).into_iter() {
                if told[direction] {
                    self.readiness[direction].raise(ended[direction]);
                    let waiters = &mut state.waiters[direction];
                    state.unheard[direction] = state.asked[direction] && waiters.is_empty();
                    waiters.take(wakers);
                }
            }
            match state.trigger {
                Trigger::Edge => Fired::Settled,
                Trigger::Level | Trigger::ByKind if state.unheard == [false; 2] => Fired::Settled,
                Trigger::Level | Trigger::ByKind => Fired::Unsettled,
                Trigger::Oneshot => {
                    // By this event the kernel has stopped asking for either.
                    state.asked = [false; 2];
                    state.unheard = [false; 2];
                    let nobody = state.waiters.iter().all(Waiters::is_empty);
                    if nobody { Fired::Settled } else { Fired::Unsettled }
                }
            }
        })
    }

    /// Asks the kernel what has to be asked after an event; who can't wait any longer goes to `wakers`.
    pub(crate) fn settle(&self, wakers: &mut Vec<Waker>) {
        self.with(|state, line| {
            let Some(line) = line else { return };
            let before = state.asked;
            for direction in BOTH.map(|direction| direction as usize) {
                let waits = !state.waiters[direction].is_empty();
                match state.trigger {
                    Trigger::Edge => {}
                    Trigger::Level | Trigger::ByKind => {
                        state.asked[direction] &= waits || !state.unheard[direction]
                    }
                    Trigger::Oneshot => state.asked[direction] |= waits,
                }
                state.unheard[direction] = false;
            }
            if state.asked != before && line.ask(state.interest()).is_err() {
                // The kernel has no memory left, perhaps. Whoever waits tries again, and is told.
                state.asked = [false; 2];
                self.give_up(state, wakers);
            }
        });
    }

    /// There will be no more events; whoever waits goes to `wakers`.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        self.with(|state, _| {
            state.closed = true;
            self.give_up(state, wakers);
        });
    }

    /// Takes the wakers, who are leaving for good.
    pub(crate) fn take_wakers(&self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        self.with(|state, _| state.waiters.iter_mut().for_each(|side| side.take(&mut wakers)));
        wakers
    }

    fn give_up(&self, state: &mut State, wakers: &mut Vec<Waker>) {
        for direction in BOTH.map(|direction| direction as usize) {
            self.readiness[direction].raise(false);
            state.waiters[direction].take(wakers);
        }
    }
}

impl State {
    /// Puts a waker into its place and has the kernel asked, `again` if what it said before is not known any more. Returns
    /// the waker that is to be dropped.
    fn wait(
        &mut self,
        direction: Direction,
        place: Place,
        waker: Waker,
        line: Option<Line<'_>>,
        again: bool,
    ) -> Result<Option<Waker>, (io::Error, Option<Waker>)> {
        let line = match line {
            Some(line) if !self.closed => line,
            _ => return Err((driver_closed(), Some(waker))),
        };
        let direction = direction as usize;
        // By level an event comes again by itself.
        if !self.asked[direction] || again && self.trigger == Trigger::Edge {
            let before = self.asked;
            self.asked[direction] = true;
            // What nobody heard of is not worth asking for, now that the kernel is asked anyway.
            for other in 0..2 {
                if self.trigger != Trigger::Edge && self.unheard[other] && other != direction {
                    self.asked[other] = false;
                }
            }
            if let Err(error) = line.ask(self.interest()) {
                self.asked = before;
                return Err((error, Some(waker)));
            }
        }
        self.unheard[direction] = false;
        Ok(self.waiters[direction].wait(place, waker))
    }
}
