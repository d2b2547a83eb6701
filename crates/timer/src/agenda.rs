//! The interface of a set of timers.

use std::time::Instant;

/// Names a timer of one agenda, even after it has been taken or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// How many timers were set before.
    pub(crate) number: u64,
    /// Where the timer is.
    pub(crate) place: u32,
}

/// A set of timers, each with an entry of the type `T`.
///
/// A trait, so only a program that sets timers contains the code behind it: the code is large, and a thread that may have to wait
/// for timers looks for them at each turn.
pub trait Agenda<T>: Send {
    /// Returns whether no timer is set.
    fn is_empty(&self) -> bool;

    /// Returns a time no later than the earliest deadline; `None` if no timer is set. Takes constant time.
    fn bound(&self) -> Option<Instant>;

    /// Returns the earliest deadline.
    fn first(&mut self) -> Option<Instant>;

    /// Returns how many timers are due by `end`, counted up to `most`.
    fn count_until(&mut self, end: Instant, most: usize) -> usize;

    /// Returns the deadline of the last timer due by `end`.
    fn last_until(&mut self, end: Instant) -> Option<Instant>;

    /// Sets a timer.
    fn insert(&mut self, at: Instant, entry: T) -> Key;

    /// Returns the entry of a timer; `None` if it is no longer set.
    fn get_mut(&mut self, key: Key) -> Option<&mut T>;

    /// Removes a timer and returns the entry; `None` if it is no longer set.
    fn remove(&mut self, key: Key) -> Option<T>;

    /// Removes the earliest timer and returns the entry; `None` if no timer is due at `now`. Of two with the same deadline, the timer
    /// set first is earlier.
    fn take_due(&mut self, now: Instant) -> Option<T>;

    /// Removes all timers but those whose entries `stay`, in no order.
    fn take_unless(&mut self, stay: &dyn Fn(&T) -> bool) -> Vec<T>;
}
