//! What keeps the timers that are set.

use std::time::Instant;

use super::wheel::Wheel;
use super::{Entry, TimerKey};

/// The timers that are set.
///
/// A trait, as only a program that sets timers contains what is behind it: every worker polls timers, and this code is large.
pub(super) trait Agenda: Send {
    fn is_empty(&self) -> bool;

    /// A time no later than the earliest deadline.
    fn bound(&self) -> Option<Instant>;

    /// The earliest deadline.
    fn first(&mut self) -> Option<Instant>;

    /// How many are due by then, counted up to `most`.
    fn count_until(&mut self, end: Instant, most: usize) -> usize;

    /// The deadline of the last that is due by then.
    fn last_until(&mut self, end: Instant) -> Option<Instant>;

    /// Adds a timer, whose number is larger than those before; returns its place.
    fn insert(&mut self, at: Instant, number: u64, entry: Entry) -> u32;

    /// Looks a timer up.
    fn get_mut(&mut self, key: TimerKey) -> Option<&mut Entry>;

    /// Removes a timer.
    fn remove(&mut self, key: TimerKey) -> Option<Entry>;

    /// Takes the earliest, if it is due. Of two with the same deadline, the one with the lower number is earlier.
    fn take_due(&mut self, now: Instant) -> Option<Entry>;

    /// Takes all except those that stay.
    fn take_unless(&mut self, stays: &dyn Fn(&Entry) -> bool) -> Vec<Entry>;
}

/// Makes an agenda without timers, none of which will be due long before `start`.
pub(super) fn new(start: Instant) -> Box<dyn Agenda> {
    Box::new(Wheel::new(start))
}
