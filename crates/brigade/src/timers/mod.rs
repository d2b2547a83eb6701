//! The timers of one pool.
//!
//! A map under one lock, and the earliest deadline beside it to read without the lock. No user code runs under the lock: the
//! caller wakes, queues or drops the entries that are taken out. The engine decides which thread sleeps until the next
//! deadline, and which is woken when an earlier one is set.
//!
//! *Rejected:* a timer wheel. Its ticks are either coarser than the promised millisecond, or wake a thread without need.
//! *Rejected:* separate timers for each worker: a worker in a long job would delay its own.

mod entry;

use core::task::Waker;
use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

use brigade_sync::atomic::{self, Ordering};
use brigade_sync::unmodelled::{AtomicU64, Mutex};

pub(crate) use entry::{Due, Entry};

/// No deadline.
const NONE: u64 = u64::MAX;

/// How late a timer may fire for the sake of others, so that they all cost one wake-up. On a virtual machine a wake-up costs some
/// 30 µs of CPU time, a hundred times what a timer does. The promised millisecond less the slack of the system's timers.
const TOGETHER: Duration = Duration::from_micros(900);

/// How many timers must be due within that time for that.
const DENSE: usize = 4;

/// The timers of one pool.
pub(crate) struct Timers {
    pending: Mutex<Pending>,
    /// The earliest deadline in nanoseconds since `start`, or [`NONE`]. Written under the lock.
    next: AtomicU64,
    /// Closures that have been set, and are neither queued yet nor dropped.
    closures: atomic::AtomicU64,
    start: Instant,
}

/// The data under the lock.
#[derive(Default)]
struct Pending {
    entries: BTreeMap<TimerKey, Entry>,
    /// The number of the next entry.
    number: u64,
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

/// Names a timer of one pool, even after it has fired or been removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerKey {
    at: Instant,
    /// The number of timers set before: of two with the same deadline, the one that was set first fires first.
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
            closures: atomic::AtomicU64::new(0),
            start: Instant::now(),
        }
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        // Ordering: Relaxed: only a time is read from it. The fences of `idle` ensure that a thread that goes to sleep and one
        // that sets a timer don't miss each other, as for a job.
        let next = self.next.load(Ordering::Relaxed);
        let next = (next != NONE).then(|| Duration::from_nanos(next))?;
        self.start.checked_add(next)
    }

    /// When a thread that sleeps for timers should wake: at the earliest deadline, or, where timers are dense, at the last of
    /// those with which that one fires together.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let pending = self.pending.lock();
        let first = pending.entries.keys().next()?.at;
        let Some(end) = first.checked_add(TOGETHER) else { return Some(first) };
        let is_dense = pending.entries.keys().nth(DENSE - 1).is_some_and(|key| key.at <= end);
        let mut together = pending.entries.range(..=TimerKey { at: end, number: u64::MAX });
        let last = is_dense.then(|| together.next_back()).flatten();
        Some(last.map_or(first, |(last, _)| last.at))
    }

    /// Whether there is no timer.
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: as in `next`.
        self.next.load(Ordering::Relaxed) == NONE
    }

    /// Whether a closure has a timer, or is being moved from here to a queue.
    pub(crate) fn has_closures(&self) -> bool {
        // Ordering: SeqCst, as for its changes: a thread that no longer sees the closure here sees its job in the queue.
        self.closures.load(Ordering::SeqCst) > 0
    }

    /// Notes that a closure that was taken out has been queued or dropped; `true` if there is no other.
    pub(crate) fn closure_left(&self) -> bool {
        self.closures.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Sets a timer; returns its key, and whether it is the earliest one.
    ///
    /// # Errors
    /// Returns the entry if the pool is closed, or, for a waker, if the pool has ended.
    pub(crate) fn set(&self, at: Instant, entry: Entry) -> Result<(TimerKey, bool), Entry> {
        // Counted first: a closure that is in there is counted.
        if entry.is_closure() {
            self.closures.fetch_add(1, Ordering::SeqCst);
        }
        let mut pending = self.pending.lock();
        let accepts = match entry {
            Entry::Wake(_) => pending.accepts != Accepts::Nothing,
            Entry::Run(_) => pending.accepts == Accepts::All,
        };
        if !accepts {
            drop(pending);
            if entry.is_closure() {
                self.closure_left();
            }
            return Err(entry);
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

    /// Removes a timer, for the caller to drop; `None` if it has fired. For a closure, the caller must then call
    /// [`closure_left`](Self::closure_left).
    pub(crate) fn remove(&self, key: TimerKey) -> Option<Entry> {
        let mut pending = self.pending.lock();
        let was_first = pending.is_first(key);
        let entry = pending.entries.remove(&key);
        if was_first {
            self.note_next(&pending);
        }
        entry
    }

    /// Replaces the waker of a timer; `false` if it has fired.
    pub(crate) fn wake_by(&self, key: TimerKey, waker: &Waker) -> bool {
        match self.pending.lock().entries.get(&key) {
            Some(Entry::Wake(present)) if present.will_wake(waker) => return true,
            Some(_) => {}
            None => return false,
        }
        // Cloned, and dropped below, outside of the lock.
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

    /// Takes the timers that are due at `now` one by one, the earliest first; the caller fires them. For a closure, the caller
    /// must then call [`closure_left`](Self::closure_left).
    pub(crate) fn take_due(&self, now: Instant) -> impl Iterator<Item = Entry> {
        core::iter::from_fn(move || {
            let mut pending = self.pending.lock();
            let first = pending.entries.first_entry().filter(|first| first.key().at <= now)?;
            let entry = first.remove();
            self.note_next(&pending);
            Some(entry)
        })
    }

    /// Takes the closures of a pool that has been closed, for the caller to drop, and accepts no more. Wakers stay, as a
    /// running job may wait for one. Closures that run once also stay if the pool `finishes` what it has accepted.
    pub(crate) fn close(&self, finishes: bool) -> Vec<Entry> {
        let mut pending = self.pending.lock();
        if pending.accepts == Accepts::All {
            pending.accepts = Accepts::Wakers;
        }
        let stays = |entry: &Entry| match entry {
            Entry::Wake(_) => true,
            Entry::Run(closure) => finishes && !closure.repeats(),
        };
        // Not `partition`, which sorts and rebuilds both halves: 20 kB of code for something that happens once.
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
        drop(pending);
        self.closures.fetch_sub(taken.len() as u64, Ordering::SeqCst);
        taken
    }

    /// Takes all timers of a pool that has ended, for the caller to [give up](Entry::give_up), and accepts nothing any more.
    pub(crate) fn end(&self) -> Vec<Entry> {
        let mut pending = self.pending.lock();
        pending.accepts = Accepts::Nothing;
        let entries = core::mem::take(&mut pending.entries);
        self.note_next(&pending);
        let closures = entries.values().filter(|entry| entry.is_closure()).count();
        drop(pending);
        self.closures.fetch_sub(closures as u64, Ordering::SeqCst);
        entries.into_values().collect()
    }

    /// Updates `next` after the first entry has changed.
    fn note_next(&self, pending: &Pending) {
        let nanos = |at: Instant| at.saturating_duration_since(self.start).as_nanos();
        let next = pending.entries.keys().next().map_or(NONE, |first| {
            // A timer that is centuries away is checked again after that time.
            u64::try_from(nanos(first.at)).unwrap_or(NONE).min(NONE - 1)
        });
        // Ordering: Relaxed, as in `next`; the writers hold the lock.
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

    /// Counts how often it was due, and how often abandoned.
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
    fn a_thread_sleeps_until_several_timers_are_due_only_where_they_are_dense() {
        let micros = Duration::from_micros;
        let wakes_at = |offsets: &[u64]| {
            let timers = Timers::new();
            for &offset in offsets {
                assert!(timers.set(timers.start + micros(offset), waker()).is_ok());
            }
            timers.wake_at().map(|at| at - timers.start)
        };
        assert_eq!(wakes_at(&[]), None);
        assert_eq!(wakes_at(&[7]), Some(micros(7)));
        assert_eq!(wakes_at(&[100, 200, 300]), Some(micros(100)), "three are not many");
        assert_eq!(
            wakes_at(&[100, 200, 300, 1001]),
            Some(micros(100)),
            "nor are four if one is far"
        );
        assert_eq!(wakes_at(&[100, 200, 300, 1000]), Some(micros(1000)));
        assert_eq!(
            wakes_at(&[100, 200, 300, 400, 5000]),
            Some(micros(400)),
            "no later than the last"
        );
        assert_eq!(wakes_at(&[500; 9]), Some(micros(500)));
        let dense: Vec<_> = (0..900).map(|number| number * 10).collect();
        assert_eq!(wakes_at(&dense), Some(TOGETHER));
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
