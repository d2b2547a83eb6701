//! The timers of one pool.
//!
//! An [`Agenda`] under one lock, and the earliest deadline beside it to read without the lock. No user code runs under the lock: the
//! caller wakes, queues or drops the entries that are taken out. The engine decides which thread sleeps until the next
//! deadline, and which is woken when an earlier one is set.
//!
//! *Rejected:* a timer wheel. Its ticks are either coarser than the promised millisecond, or wake a thread without need.
//! *Rejected:* separate timers for each worker: a worker in a long job would delay its own.

mod agenda;
mod entry;

use core::task::Waker;
use core::time::Duration;
use std::time::Instant;

use brigade_sync::atomic::{self, Ordering};
use brigade_sync::unmodelled::{AtomicU64, Mutex, MutexGuard};

use agenda::Agenda;
pub(crate) use entry::{Due, Entry};

/// No deadline.
const NONE: u64 = u64::MAX;

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
    /// The timers that are set; `None` until the first is.
    agenda: Option<Box<dyn Agenda>>,
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
    fn first(&self) -> Option<TimerKey> {
        self.agenda.as_ref()?.first()
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
        self.pending.lock().agenda.as_ref()?.wake_at()
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
        pending.agenda.get_or_insert_with(agenda::new).insert(key, entry);
        let is_first = pending.first() == Some(key);
        if is_first {
            self.note_next(&pending);
        }
        Ok((key, is_first))
    }

    /// Removes a timer, for the caller to drop; `None` if it has fired. For a closure, the caller must then call
    /// [`closure_left`](Self::closure_left).
    pub(crate) fn remove(&self, key: TimerKey) -> Option<Entry> {
        let mut pending = self.pending.lock();
        let was_first = pending.first() == Some(key);
        let entry = pending.agenda.as_mut()?.remove(key);
        if was_first {
            self.note_next(&pending);
        }
        entry
    }

    /// Replaces the waker of a timer; `false` if it has fired.
    pub(crate) fn wake_by(&self, key: TimerKey, waker: &Waker) -> bool {
        let wakes = |entry: &mut Entry| matches!(entry, Entry::Wake(own) if own.will_wake(waker));
        match self.change(key, wakes) {
            Some(false) => {}
            unchanged => return unchanged.is_some(),
        }
        // Cloned, and dropped below, outside of the lock.
        let mut entry = Entry::Wake(waker.clone());
        let changed = self.change(key, |present| core::mem::swap(present, &mut entry));
        drop(entry);
        changed.is_some()
    }

    /// Changes the entry of a timer under the lock; `None` if it has fired.
    fn change<R>(&self, key: TimerKey, change: impl FnOnce(&mut Entry) -> R) -> Option<R> {
        self.pending.lock().agenda.as_mut()?.get_mut(key).map(change)
    }

    /// Takes the earliest timer, if it is due at `now`; the caller fires it. For a closure, the caller must then call
    /// [`closure_left`](Self::closure_left).
    pub(crate) fn take_due(&self, now: Instant) -> Option<Entry> {
        let mut pending = self.pending.lock();
        let entry = pending.agenda.as_mut()?.take_due(now)?;
        self.note_next(&pending);
        Some(entry)
    }

    /// Takes the closures of a pool that has been closed, for the caller to drop, and accepts no more. Wakers stay, as a
    /// running job may wait for one. Closures that run once also stay if the pool `finishes` what it has accepted.
    pub(crate) fn close(&self, finishes: bool) -> Vec<Entry> {
        let mut pending = self.pending.lock();
        if pending.accepts == Accepts::All {
            pending.accepts = Accepts::Wakers;
        }
        self.take_unless(pending, &|entry| match entry {
            Entry::Wake(_) => true,
            Entry::Run(closure) => finishes && !closure.repeats(),
        })
    }

    /// Takes all timers of a pool that has ended, for the caller to [give up](Entry::give_up), and accepts nothing any more.
    pub(crate) fn end(&self) -> Vec<Entry> {
        let mut pending = self.pending.lock();
        pending.accepts = Accepts::Nothing;
        self.take_unless(pending, &|_| false)
    }

    fn take_unless(
        &self,
        mut pending: MutexGuard<'_, Pending>,
        stays: &dyn Fn(&Entry) -> bool,
    ) -> Vec<Entry> {
        let Some(agenda) = &mut pending.agenda else { return Vec::new() };
        let taken = agenda.take_unless(stays);
        self.note_next(&pending);
        drop(pending);
        let closures = taken.iter().filter(|entry| entry.is_closure()).count();
        self.closures.fetch_sub(closures as u64, Ordering::SeqCst);
        taken
    }

    /// Updates `next` after the first entry has changed.
    fn note_next(&self, pending: &Pending) {
        let nanos = |at: Instant| at.saturating_duration_since(self.start).as_nanos();
        let next = pending.first().map_or(NONE, |first| {
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

    use super::agenda::TOGETHER;
    use super::*;
    use crate::priority::Priority;

    fn waker() -> Entry {
        Entry::Wake(Waker::noop().clone())
    }

    fn all_due(timers: &Timers, now: Instant) -> Vec<Entry> {
        core::iter::from_fn(|| timers.take_due(now)).collect()
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

        fn class(&self) -> Priority {
            Priority::Normal
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
        assert_eq!(all_due(&timers, at(9)).len(), 0);
        assert_eq!(all_due(&timers, at(10)).len(), 1);
        assert_eq!(timers.next(), Some(at(20)));
        assert!(set(0).1);
        assert_eq!(timers.next(), Some(timers.start));
        assert!(timers.remove(twenty).is_some());
        assert_eq!(all_due(&timers, at(0)).len(), 1);
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
        assert_eq!(all_due(&timers, timers.start + century).len(), 0);
        if let Some(past) = timers.start.checked_sub(Duration::from_millis(1)) {
            assert!(timers.set(past, waker()).is_ok_and(|(_, is_first)| is_first));
            assert_eq!(all_due(&timers, timers.start).len(), 1);
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

            fn class(&self) -> Priority {
                Priority::Normal
            }
        }
        for number in 0..50 {
            let entry = Entry::run(Arc::new(Numbered(number, order.clone())));
            assert!(timers.set(timers.start, entry).is_ok());
        }
        all_due(&timers, timers.start)
            .into_iter()
            .for_each(|entry| entry.fire(&mut |_, job| drop(job)));
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
        let fired = all_due(&timers, at);
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
        all_due(&timers, timers.start)
            .into_iter()
            .for_each(|entry| entry.fire(&mut |_, job| jobs.push(job)));
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
        all_due(&timers, timers.start)
            .into_iter()
            .for_each(|entry| entry.fire(&mut |_, job| drop(job)));
        assert_eq!(*bell.0.lock(), 1);
        assert!(!timers.wake_by(key, Waker::noop()));
        assert_eq!(Arc::strong_count(&bell), 1);
    }
}
