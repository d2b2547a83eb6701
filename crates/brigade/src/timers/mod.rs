//! The timers of one pool: what must happen, and when.
//!
//! A map under one lock, and the earliest deadline beside it for a look without the lock. No user code runs under the lock:
//! the caller wakes, queues or drops what is taken out. The engine decides which thread sleeps until the next deadline, and
//! which is woken when an earlier one is set.
//!
//! *Rejected:* a wheel. Its ticks are either coarser than the millisecond that is promised, or wake a thread for nothing.
//! *Rejected:* timers of each worker's own: one that is in a long job would hide them.

mod entry;

use core::task::Waker;
use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::{AtomicU64, Mutex};

pub(crate) use entry::{Due, Entry};

/// No deadline.
const NONE: u64 = u64::MAX;

/// The timers of one pool.
pub(crate) struct Timers {
    pending: Mutex<Pending>,
    /// The earliest deadline in nanoseconds since `start`, or [`NONE`]. Written under the lock.
    next: AtomicU64,
    /// Closures that have been set, and are neither queued yet nor dropped.
    closures: AtomicU64,
    start: Instant,
}

/// What is under the lock.
#[derive(Default)]
struct Pending {
    entries: BTreeMap<TimerKey, Entry>,
    /// The number of the next entry.
    number: u64,
    accepts: Accepts,
}

/// What may still be set.
#[derive(Default, PartialEq, Eq)]
enum Accepts {
    #[default]
    All,
    /// The pool is closed; its jobs and futures continue for a while.
    Wakers,
    /// The pool has ended.
    Nothing,
}

/// Names a timer of one pool, also when it is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerKey {
    at: Instant,
    /// Counts what was ever set: of two with the same deadline the one that was set first comes first.
    number: u64,
}

impl Pending {
    fn is_first(&self, key: TimerKey) -> bool {
        self.entries.first_key_value().is_some_and(|(&first, _)| first == key)
    }
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            pending: Mutex::default(),
            next: AtomicU64::new(NONE),
            closures: AtomicU64::new(0),
            start: Instant::now(),
        }
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        // Ordering: Relaxed: a time is read from it and nothing else. The fences of `idle` make sure that a thread that goes
        // to sleep and one that sets a timer don't miss each other, as for a job.
        let next = self.next.load(Ordering::Relaxed);
        let next = (next != NONE).then(|| Duration::from_nanos(next))?;
        self.start.checked_add(next)
    }

    /// Whether there is no timer.
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: as in `next`.
        self.next.load(Ordering::Relaxed) == NONE
    }

    /// Whether a closure waits for its time, or is on its way from here to a queue.
    pub(crate) fn has_closures(&self) -> bool {
        // Ordering: SeqCst, as where it changes: a job that is queued is seen in its queue by a thread that does not see it here.
        self.closures.load(Ordering::SeqCst) > 0
    }

    /// A closure that was taken out has been queued or dropped; `true` if there is no other.
    pub(crate) fn closure_left(&self) -> bool {
        self.closures.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Sets a timer; says whether it comes before all that were there.
    ///
    /// # Errors
    /// Gives it back if the pool is closed, or for a waker if it has ended.
    pub(crate) fn set(&self, at: Instant, entry: Entry) -> Result<(TimerKey, bool), Entry> {
        let mut pending = self.pending.lock();
        let accepts = match entry {
            Entry::Wake(_) => pending.accepts != Accepts::Nothing,
            Entry::Run(_) => pending.accepts == Accepts::All,
        };
        if !accepts {
            drop(pending);
            return Err(entry);
        }
        if entry.is_closure() {
            self.closures.fetch_add(1, Ordering::SeqCst);
        }
        let key = TimerKey { at, number: pending.number };
        pending.number += 1;
        pending.entries.insert(key, entry);
        let is_first = pending.is_first(key);
        if is_first {
            self.note_next(&pending);
        }
        Ok((key, is_first))
    }

    /// Takes a timer back, for the caller to drop; `None` if it has fired. A closure [leaves](Self::closure_left) after that.
    pub(crate) fn remove(&self, key: TimerKey) -> Option<Entry> {
        let mut pending = self.pending.lock();
        let was_first = pending.is_first(key);
        let entry = pending.entries.remove(&key);
        if was_first {
            self.note_next(&pending);
        }
        entry
    }

    /// Has a timer wake by another waker; `false` if it has fired.
    pub(crate) fn wake_by(&self, key: TimerKey, waker: &Waker) -> bool {
        match self.pending.lock().entries.get(&key) {
            Some(Entry::Wake(present)) if present.will_wake(waker) => return true,
            Some(_) => {}
            None => return false,
        }
        // Cloned, and below dropped, outside of the lock.
        let mut entry = Entry::Wake(waker.clone());
        let is_there = match self.pending.lock().entries.get_mut(&key) {
            Some(present) => {
                core::mem::swap(present, &mut entry);
                true
            }
            None => false,
        };
        drop(entry);
        is_there
    }

    /// Takes those one by one whose time has come by `now`, the earliest first; the caller fires them. A closure
    /// [leaves](Self::closure_left) after that.
    pub(crate) fn take_due(&self, now: Instant) -> impl Iterator<Item = Entry> {
        core::iter::from_fn(move || {
            let mut pending = self.pending.lock();
            let first = pending.entries.first_entry().filter(|first| first.key().at <= now)?;
            let entry = first.remove();
            self.note_next(&pending);
            Some(entry)
        })
    }

    /// The pool has been closed: takes the closures, for the caller to drop, and accepts no more. Wakers stay, as a job that
    /// runs may wait for one. Closures that run once stay too if the pool `finishes` what it has accepted.
    pub(crate) fn close(&self, finishes: bool) -> Vec<Entry> {
        let mut pending = self.pending.lock();
        if pending.accepts == Accepts::All {
            pending.accepts = Accepts::Wakers;
        }
        let stays = |entry: &Entry| match entry {
            Entry::Wake(_) => true,
            Entry::Run(closure) => finishes && !closure.repeats(),
        };
        // Not `partition`, which sorts both halves to build them anew: 20 kB of code for what happens once.
        let mut keys = Vec::new();
        for (&key, entry) in &pending.entries {
            if !stays(entry) {
                keys.push(key);
            }
        }
        let mut taken = Vec::with_capacity(keys.len());
        for key in keys {
            taken.extend(pending.entries.remove(&key));
        }
        self.note_next(&pending);
        self.closures.fetch_sub(taken.len() as u64, Ordering::SeqCst);
        taken
    }

    /// The pool has ended: takes all there are, for the caller to [give up](Entry::give_up), and accepts nothing any more.
    pub(crate) fn end(&self) -> Vec<Entry> {
        let mut pending = self.pending.lock();
        pending.accepts = Accepts::Nothing;
        let entries = core::mem::take(&mut pending.entries);
        self.note_next(&pending);
        let closures = entries.values().filter(|entry| entry.is_closure()).count();
        self.closures.fetch_sub(closures as u64, Ordering::SeqCst);
        drop(pending);
        entries.into_values().collect()
    }

    /// The first entry has changed.
    fn note_next(&self, pending: &Pending) {
        let nanos = |at: Instant| at.saturating_duration_since(self.start).as_nanos();
        let next = pending.entries.keys().next().map_or(NONE, |first| {
            // One that is centuries away is looked at again when they have passed.
            u64::try_from(nanos(first.at)).unwrap_or(NONE).min(NONE - 1)
        });
        // Ordering: Relaxed, as in `next`; the writers have the lock.
        self.next.store(next, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use core::task::Waker;
    use std::sync::Arc;

    use brigade_task::Job;

    use super::*;

    fn waker() -> Entry {
        Entry::Wake(Waker::noop().clone())
    }

    /// Counts how often it was due, and abandoned.
    #[derive(Default)]
    struct Closure(Mutex<(u32, u32)>);

    impl Due for Closure {
        fn due(self: Arc<Self>) -> Option<Job> {
            self.0.lock().0 += 1;
            Some(Job::new(|| ()))
        }

        fn abandon(&self) {
            self.0.lock().1 += 1;
        }

        fn repeats(&self) -> bool {
            false
        }
    }

    #[test]
    fn the_earliest_is_known_whatever_is_set_and_removed() {
        let timers = Timers::new();
        let at = |millis| timers.start + Duration::from_millis(millis);
        let set = |millis| timers.set(at(millis), waker()).map_err(drop).unwrap();
        assert!(timers.is_empty() && timers.next().is_none());
        let ((ten, first), (twenty, second)) = (set(10), set(20));
        assert!(first && !second);
        assert!(!set(10).1, "the holder sleeps until an earlier time");
        assert_eq!(timers.next(), Some(at(10)));
        assert!(timers.remove(ten).is_some() && timers.remove(ten).is_none());
        assert_eq!(timers.next(), Some(at(10)));
        assert_eq!(timers.take_due(at(9)).count(), 0);
        assert_eq!(timers.take_due(at(10)).count(), 1);
        assert_eq!(timers.next(), Some(at(20)));
        assert!(set(0).1);
        assert_eq!(timers.next(), Some(timers.start));
        assert!(timers.remove(twenty).is_some());
        assert_eq!(timers.take_due(at(0)).count(), 1);
        assert!(timers.is_empty() && timers.next().is_none());
    }

    #[test]
    fn times_before_the_start_and_centuries_after_it_are_times() {
        let timers = Timers::new();
        let century = Duration::from_secs(100 * 365 * 24 * 3600);
        let far = (0..7).fold(timers.start, |at, _| at + century);
        assert!(timers.set(far, waker()).is_ok());
        assert!(timers.next().unwrap() > timers.start + century * 5);
        assert_eq!(timers.take_due(timers.start + century).count(), 0);
        if let Some(past) = timers.start.checked_sub(Duration::from_millis(1)) {
            assert!(timers.set(past, waker()).is_ok_and(|(_, is_first)| is_first));
            assert_eq!(timers.take_due(timers.start).count(), 1);
        }
    }

    #[test]
    fn of_those_with_one_deadline_the_first_that_was_set_fires_first() {
        let (timers, order) = (Timers::new(), Arc::new(Mutex::new(Vec::new())));
        struct Numbered(usize, Arc<Mutex<Vec<usize>>>);
        impl Due for Numbered {
            fn due(self: Arc<Self>) -> Option<Job> {
                self.1.lock().push(self.0);
                None
            }
            fn abandon(&self) {}
            fn repeats(&self) -> bool {
                false
            }
        }
        for number in 0..50 {
            let entry = Entry::run(Arc::new(Numbered(number, order.clone())));
            assert!(timers.set(timers.start, entry).is_ok());
        }
        timers.take_due(timers.start).for_each(|entry| entry.fire(&mut drop));
        assert!(order.lock().iter().copied().eq(0..50));
    }

    #[test]
    fn a_closed_pool_keeps_time_for_futures_and_one_that_has_ended_for_nobody() {
        let (timers, closure) = (Timers::new(), Arc::new(Closure::default()));
        let at = timers.start;
        let schedule = || timers.set(at, Entry::run(closure.clone()));
        assert!(timers.set(at, waker()).is_ok() && schedule().is_ok());
        drop(timers.close(false));
        assert_eq!(*closure.0.lock(), (0, 1), "it was abandoned");
        assert!(timers.set(at, waker()).is_ok() && schedule().is_err());
        assert_eq!(*closure.0.lock(), (0, 2), "with what came back");
        let fired: Vec<_> = timers.take_due(at).collect();
        assert_eq!(fired.len(), 2);
        assert!(timers.set(at, waker()).is_ok());
        assert_eq!(timers.end().len(), 1);
        assert!(timers.is_empty());
        assert!(timers.set(at, waker()).is_err() && timers.set(at, waker()).is_err());
    }

    #[test]
    fn a_closure_that_has_fired_is_not_abandoned() {
        let (timers, closure) = (Timers::new(), Arc::new(Closure::default()));
        assert!(timers.set(timers.start, Entry::run(closure.clone())).is_ok());
        let mut jobs = Vec::new();
        timers.take_due(timers.start).for_each(|entry| entry.fire(&mut |job| jobs.push(job)));
        assert_eq!((jobs.len(), *closure.0.lock()), (1, (1, 0)));
    }

    #[test]
    fn a_timer_takes_another_waker_as_long_as_it_is_there() {
        let timers = Timers::new();
        let (key, _) = timers.set(timers.start, waker()).map_err(drop).unwrap();
        assert!(timers.wake_by(key, Waker::noop()));
        struct Bell(Mutex<u32>);
        impl std::task::Wake for Bell {
            fn wake(self: Arc<Self>) {
                *self.0.lock() += 1;
            }
        }
        let bell = Arc::new(Bell(Mutex::new(0)));
        assert!(timers.wake_by(key, &Waker::from(bell.clone())));
        timers.take_due(timers.start).for_each(|entry| entry.fire(&mut drop));
        assert_eq!(*bell.0.lock(), 1);
        assert!(!timers.wake_by(key, Waker::noop()));
        assert_eq!(Arc::strong_count(&bell), 1);
    }
}
