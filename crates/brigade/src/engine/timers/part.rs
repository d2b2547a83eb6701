//! The timers set by some of the workers.

use std::time::Instant;

use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_sync::{Mutex, MutexGuard};
use brigade_timer::{Agenda, Key};

use super::{Entry, NONE};

/// The timers set by some of the workers.
pub(super) struct Part {
    pending: Mutex<Pending>,
    /// A time no later than the earliest deadline, in nanoseconds since the start of the pool's timers, or
    /// [`NONE`]. Written under the lock.
    bound: AtomicU64,
}

/// The data under the lock.
#[derive(Default)]
pub(super) struct Pending {
    /// The timers; `None` until the first is set.
    agenda: Option<Box<dyn Agenda<Entry>>>,
    accepts: Accepts,
}

/// Which timers may still be set.
#[derive(Default, PartialEq, Eq)]
enum Accepts {
    #[default]
    All,
    /// The pool is closed; its jobs and futures continue for a while.
    Wakers,
    /// The pool has ended.
    Nothing,
}

impl Part {
    pub(super) fn new() -> Self {
        Self { pending: Mutex::default(), bound: AtomicU64::new(NONE) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock()
    }

    /// A time no later than the earliest deadline, as last [noted](Self::note_bound).
    pub(super) fn bound(&self) -> u64 {
        // Ordering: Relaxed: without the lock it is a hint.
        self.bound.load(Ordering::Relaxed)
    }

    /// Notes a time no later than the earliest deadline. The caller holds the lock.
    pub(super) fn note_bound(&self, nanos: u64) {
        self.bound.store(nanos, Ordering::Relaxed);
    }
}

impl Pending {
    /// Whether this timer may still be set.
    pub(super) fn accepts(&self, entry: &Entry) -> bool {
        match entry {
            Entry::Wake(_) => self.accepts != Accepts::Nothing,
            Entry::Run { .. } => self.accepts == Accepts::All,
        }
    }

    /// Accepts only wakers from now on.
    pub(super) fn close(&mut self) {
        if self.accepts == Accepts::All {
            self.accepts = Accepts::Wakers;
        }
    }

    /// Accepts nothing from now on.
    pub(super) fn end(&mut self) {
        self.accepts = Accepts::Nothing;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.agenda.as_ref().is_none_or(|agenda| agenda.is_empty())
    }

    /// A time no later than the earliest deadline.
    pub(super) fn bound(&self) -> Option<Instant> {
        self.agenda.as_ref()?.bound()
    }

    /// The earliest deadline.
    pub(super) fn first(&mut self) -> Option<Instant> {
        self.agenda.as_mut()?.first()
    }

    /// The number of timers due by `end`, counted up to `most`.
    pub(super) fn count_until(&mut self, end: Instant, most: usize) -> usize {
        self.agenda.as_mut().map_or(0, |agenda| agenda.count_until(end, most))
    }

    /// The deadline of the last timer due by `end`.
    pub(super) fn last_until(&mut self, end: Instant) -> Option<Instant> {
        self.agenda.as_mut()?.last_until(end)
    }

    /// Adds a timer. Later timers will not be due long before `start`.
    pub(super) fn insert(&mut self, start: Instant, at: Instant, entry: Entry) -> Key {
        self.agenda.get_or_insert_with(|| brigade_timer::new(start)).insert(at, entry)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Entry> {
        self.agenda.as_mut()?.get_mut(key)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Entry> {
        self.agenda.as_mut()?.remove(key)
    }

    /// Takes the earliest timer, if it is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Entry> {
        self.agenda.as_mut()?.take_due(now)
    }

    /// Takes all timers except those that `stay`.
    pub(super) fn take_unless(&mut self, stays: &dyn Fn(&Entry) -> bool) -> Vec<Entry> {
        self.agenda.as_mut().map_or_else(Vec::new, |agenda| agenda.take_unless(stays))
    }
}
