//! The timers that are set, in the order of their deadlines.

use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

use super::{Entry, TimerKey};

/// How late a timer may fire for the sake of others, so that they all cost one wake-up. On a virtual machine a wake-up costs some
/// 30 µs of CPU time, a hundred times what a timer does. The promised millisecond less the slack of the system's timers.
pub(super) const TOGETHER: Duration = Duration::from_micros(900);

/// How many timers must be due within that time for that.
const DENSE: usize = 4;

/// The timers that are set.
///
/// A trait, as only a program that sets timers contains what is behind it: every worker polls timers, and a map's code is large.
pub(super) trait Agenda: Send {
    /// The key of the earliest.
    fn first(&self) -> Option<TimerKey>;

    /// When a thread that sleeps for timers should wake.
    fn wake_at(&self) -> Option<Instant>;

    /// Adds a timer.
    fn insert(&mut self, key: TimerKey, entry: Entry);

    /// Looks a timer up.
    fn get_mut(&mut self, key: TimerKey) -> Option<&mut Entry>;

    /// Removes a timer.
    fn remove(&mut self, key: TimerKey) -> Option<Entry>;

    /// Takes the earliest, if it is due.
    fn take_due(&mut self, now: Instant) -> Option<Entry>;

    /// Takes all except those that stay.
    fn take_unless(&mut self, stays: &dyn Fn(&Entry) -> bool) -> Vec<Entry>;
}

/// Makes an agenda without timers.
pub(super) fn new() -> Box<dyn Agenda> {
    Box::new(BTreeMap::new())
}

impl Agenda for BTreeMap<TimerKey, Entry> {
    fn first(&self) -> Option<TimerKey> {
        self.first_key_value().map(|(&first, _)| first)
    }

    fn wake_at(&self) -> Option<Instant> {
        let first = self.keys().next()?.at;
        let Some(end) = first.checked_add(TOGETHER) else { return Some(first) };
        let is_dense = self.keys().nth(DENSE - 1).is_some_and(|key| key.at <= end);
        let mut together = self.range(..=TimerKey { at: end, number: u64::MAX });
        let last = is_dense.then(|| together.next_back()).flatten();
        Some(last.map_or(first, |(last, _)| last.at))
    }

    fn insert(&mut self, key: TimerKey, entry: Entry) {
        self.insert(key, entry);
    }

    fn get_mut(&mut self, key: TimerKey) -> Option<&mut Entry> {
        self.get_mut(&key)
    }

    fn remove(&mut self, key: TimerKey) -> Option<Entry> {
        self.remove(&key)
    }

    fn take_due(&mut self, now: Instant) -> Option<Entry> {
        let first = self.first_entry().filter(|first| first.key().at <= now)?;
        Some(first.remove())
    }

    fn take_unless(&mut self, stays: &dyn Fn(&Entry) -> bool) -> Vec<Entry> {
        // Not `partition`, which sorts and rebuilds both halves: 20 kB of code for something that happens once.
        let mut keys = Vec::new();
        for (&key, entry) in &*self {
            if !stays(entry) {
                keys.push(key);
            }
        }
        keys.iter().filter_map(|key| self.remove(key)).collect()
    }
}
