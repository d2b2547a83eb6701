//! The timers of one pool. It must not know which thread waits for them.
//!
//! Each worker sets timers in a [`Part`] of its own, so that workers that set and cancel timers all the time, as servers do that
//! limit the time of each request, share no lock and no cache line. Beside the parts there is one time to read without a lock,
//! no later than the earliest deadline. Any thread may take what is due from any part, so a worker in a long job delays none.
//!
//! No user code runs under a lock: the caller wakes, queues or drops the entries that are taken out. The engine decides which
//! thread sleeps until the next deadline, and which is woken when an earlier one is set.
//!
//! *The time beside the parts* (`next`). A thread that sets an earlier timer lowers it, under the lock of its part, and sees to a
//! thread that sleeps for longer. It is raised only under the locks of all parts: after what was due has been taken out, before a
//! thread sleeps until it, and when no part has a timer. So it is never later than a deadline, and [`NONE`] only if there is
//! none. It is too early where the earliest timer has been cancelled, or where a part knows only the slot of its wheel in
//! which that timer is: then a thread that works looks in vain. A thread that sleeps does so until the exact time. Only a timer
//! lowers it: otherwise such a thread would sleep past another timer that is set in between. It is one atomic variable, so the
//! argument of `engine/idle/DRIVER.md` need not know of parts. `loom_tests` has models.
//!
//! *Rejected:* to raise it at each removal of the earliest timer: where all are cancelled in the order in which they were set,
//! that is each of them.
//! *Rejected:* a wheel whose ticks fire timers. They are either coarser than the promised millisecond, or wake a thread without
//! need.
//! *Rejected:* a part that only its worker may read: a worker in a long job would delay its own.

mod clock;
mod entry;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod part;
#[cfg(all(test, not(brigade_loom)))]
mod tests;

use core::array;
use core::task::Waker;
use core::time::Duration;
use std::time::Instant;

use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_sync::{CachePadded, MutexGuard, time};
use brigade_timer::Key;

pub(crate) use clock::Clock;
pub(crate) use entry::{Due, Entry};
use part::{Part, Pending};

/// No deadline.
const NONE: u64 = u64::MAX;

/// Stands for a time that is too far in the future to be represented: long enough, and within the range of every system's
/// clock.
pub(crate) const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The parts of a large pool: threads that look for what is due read each of them.
const MOST_PARTS: usize = 8;

/// How late a timer may fire for the sake of others, so that they all cost one wake-up. On a virtual machine a wake-up costs some
/// 30 µs of CPU time, a hundred times what a timer does. The promised millisecond less the slack of the system's timers.
const TOGETHER: Duration = Duration::from_micros(900);

/// How many timers must be due within that time for that.
const DENSE: usize = 4;

/// The timers of one pool.
pub(crate) struct Timers {
    /// Each worker sets its timers in one of them.
    parts: Box<[CachePadded<Part>]>,
    shared: CachePadded<Shared>,
    /// The clock that deadlines are compared with.
    clock: Clock,
    start: Instant,
}

/// What threads read at each look for timers, and write seldom.
struct Shared {
    /// Nanoseconds since `start`, no later than the earliest deadline; [`NONE`] if there is no timer. Lowered under the lock of
    /// a part, and raised under all of them.
    next: AtomicU64,
    /// A bit for each part with a timer, which changes under its lock.
    used: AtomicU64,
    /// Closures that have been set, and are neither queued yet nor dropped.
    closures: AtomicU64,
}

/// All parts under their locks.
struct All<'a>([Option<MutexGuard<'a, Pending>>; MOST_PARTS]);

impl All<'_> {
    fn parts(&mut self) -> impl Iterator<Item = &mut Pending> {
        self.0.iter_mut().flatten().map(|part| &mut **part)
    }

    /// The earliest deadline.
    fn first(&mut self) -> Option<Instant> {
        let mut first = None;
        for part in self.parts() {
            if part.bound().is_some_and(|bound| first.is_none_or(|first| bound < first)) {
                first = first.into_iter().chain(part.first()).min();
            }
        }
        first
    }
}

/// Names a timer of one pool, even after it has fired or been removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerKey {
    /// Its name in its part. Of two with the same deadline in one part, the one that was set first fires first.
    key: Key,
    part: u8,
}

impl Timers {
    /// No timers, in a pool of at most this many threads, whose clock may be paused.
    pub(crate) fn new(threads: usize, is_paused: bool) -> Self {
        let start = time::now();
        let parts = threads.clamp(1, MOST_PARTS);
        Self {
            parts: (0..parts).map(|_| CachePadded::new(Part::new())).collect(),
            shared: CachePadded::new(Shared {
                next: AtomicU64::new(NONE),
                used: AtomicU64::new(0),
                closures: AtomicU64::new(0),
            }),
            clock: Clock::new(is_paused, start),
            start,
        }
    }

    /// The clock that deadlines are compared with.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// A time no later than the earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        // Ordering: Relaxed: only a time is read from it. The fences of `idle` ensure that a thread that goes to sleep and one
        // that sets a timer don't miss each other, as for a job.
        let next = self.shared.next.load(Ordering::Relaxed);
        let next = (next != NONE).then(|| Duration::from_nanos(next))?;
        self.start.checked_add(next)
    }

    /// When a thread that sleeps for timers should wake: at the earliest deadline, or, where timers are dense, at the last of
    /// those with which that one fires together. A paused clock wakes no thread, and stops at each deadline.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let mut all = self.lock_all();
        let first = all.first()?;
        self.note_next(Some(first));
        let together = if self.clock.is_paused() { Duration::ZERO } else { TOGETHER };
        let Some(end) = first.checked_add(together) else { return Some(first) };
        let count = all.parts().map(|part| part.count_until(end, DENSE)).sum::<usize>();
        let last = || all.parts().filter_map(|part| part.last_until(end)).max();
        (count >= DENSE).then(last).unwrap_or(Some(first))
    }

    /// How long a thread may sleep before it must fire timers; `None` if that is forever.
    pub(crate) fn until(&self) -> Option<Duration> {
        if self.is_empty() {
            return None;
        }
        self.wake_at().and_then(|at| self.clock.until(at))
    }

    /// Moves a paused clock to the earliest deadline: nothing can run before that.
    pub(crate) fn leap(&self) {
        if self.clock.is_paused() {
            self.wake_at().into_iter().for_each(|at| self.clock.leap(at));
        }
    }

    /// Whether there is no timer.
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: as in `next`.
        self.shared.next.load(Ordering::Relaxed) == NONE
    }

    /// Whether a closure has a timer, or is being moved from here to a queue.
    pub(crate) fn has_closures(&self) -> bool {
        // Ordering: SeqCst, as for its changes: a thread that no longer sees the closure here sees its job in the queue.
        self.shared.closures.load(Ordering::SeqCst) > 0
    }

    /// Notes that a closure that was taken out has been queued or dropped; `true` if there is no other.
    pub(crate) fn closure_left(&self) -> bool {
        self.shared.closures.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Sets a timer, in the part of the worker with this index; returns its key, and whether a thread that sleeps until the
    /// earliest one must be told.
    ///
    /// # Errors
    /// Returns the entry if the pool is closed, or, for a waker, if the pool has ended.
    pub(crate) fn set(
        &self,
        worker: usize,
        at: Instant,
        entry: Entry,
    ) -> Result<(TimerKey, bool), Entry> {
        // Counted first: a closure that is in there is counted.
        let is_closure = entry.is_closure();
        if is_closure {
            self.shared.closures.fetch_add(1, Ordering::SeqCst);
        }
        let index = worker % self.parts.len();
        let part = &self.parts[index];
        let mut pending = part.lock();
        if !pending.accepts(&entry) {
            drop(pending);
            if is_closure {
                self.closure_left();
            }
            return Err(entry);
        }
        let key = TimerKey { key: pending.insert(self.start, at, entry), part: index as u8 };
        let (nanos, bound) = (self.nanos(at), part.bound());
        if nanos < bound {
            part.note_bound(nanos);
        }
        if bound == NONE {
            self.shared.used.fetch_or(1 << index, Ordering::Relaxed);
        }
        // Ordering: Relaxed, as in `next`. Only threads with this lock raise it.
        let next = &self.shared.next;
        let is_first = nanos < next.load(Ordering::Relaxed)
            && nanos < next.fetch_min(nanos, Ordering::Relaxed);
        Ok((key, is_first))
    }

    /// Removes a timer, for the caller to drop; `None` if it has fired. For a closure, the caller must then call
    /// [`closure_left`](Self::closure_left).
    pub(crate) fn remove(&self, key: TimerKey) -> Option<Entry> {
        let mut pending = self.parts[usize::from(key.part)].lock();
        let entry = pending.remove(key.key)?;
        if pending.is_empty() && self.note_bound(usize::from(key.part), &pending) {
            drop(pending);
            // There may be nothing to wait for: no thread should.
            self.lock_all();
        }
        Some(entry)
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
        self.parts[usize::from(key.part)].lock().get_mut(key.key).map(change)
    }

    /// Takes the earliest timer, if it is due at `now`; the caller fires it. For a closure, the caller must then call
    /// [`closure_left`](Self::closure_left).
    pub(crate) fn take_due(&self, now: Instant) -> Option<Entry> {
        loop {
            let bounds = self.parts.iter().map(|part| part.bound()).enumerate();
            let (index, bound) = bounds.min_by_key(|&(_, bound)| bound)?;
            if bound > self.nanos(now) {
                break;
            }
            let mut pending = self.parts[index].lock();
            let due = pending.take_due(now);
            self.note_bound(index, &pending);
            if due.is_some() {
                return due;
            }
            // The next look is at a later time, unless both times are before `start`, or centuries after it.
            if self.parts[index].bound() == bound {
                break;
            }
        }
        // What is left is due later.
        self.lock_all();
        None
    }

    /// Takes the closures of a pool that has been closed, for the caller to [give up](Entry::give_up), and accepts no more. Wakers stay, as a
    /// running job may wait for one. Closures that run once also stay if the pool `finishes` what it has accepted.
    pub(crate) fn close(&self, finishes: bool) -> Vec<Entry> {
        self.take_unless(Pending::close, &|entry| match entry {
            Entry::Wake(_) => true,
            Entry::Run { repeats, .. } => finishes && !repeats,
        })
    }

    /// Takes all timers of a pool that has ended, for the caller to [give up](Entry::give_up), and accepts nothing any more.
    pub(crate) fn end(&self) -> Vec<Entry> {
        self.take_unless(Pending::end, &|_| false)
    }

    /// Changes what each part accepts, and takes all except those that stay.
    fn take_unless(&self, change: fn(&mut Pending), stays: &dyn Fn(&Entry) -> bool) -> Vec<Entry> {
        let mut taken = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            let mut pending = part.lock();
            change(&mut pending);
            taken.append(&mut pending.take_unless(stays));
            self.note_bound(index, &pending);
        }
        self.lock_all();
        let closures = taken.iter().filter(|entry| entry.is_closure()).count();
        self.shared.closures.fetch_sub(closures as u64, Ordering::SeqCst);
        taken
    }

    /// Updates what is known of a part after timers have been taken out; `true` if all parts are empty since then.
    fn note_bound(&self, index: usize, pending: &Pending) -> bool {
        let bound = pending.bound();
        self.parts[index].note_bound(bound.map_or(NONE, |bound| self.nanos(bound)));
        let bit = 1 << index;
        bound.is_none() && self.shared.used.fetch_and(!bit, Ordering::Relaxed) == bit
    }

    /// Takes the locks of all parts, and raises `next` to what they know of the earliest deadline.
    fn lock_all(&self) -> All<'_> {
        let mut all = All(array::from_fn(|index| self.parts.get(index).map(|part| part.lock())));
        self.note_next(all.parts().filter_map(|part| part.bound()).min());
        all
    }

    /// Raises `next`, under the locks of all parts. If it is later than `bound`, a thread may sleep until then, and nothing but an
    /// earlier timer wakes it.
    fn note_next(&self, bound: Option<Instant>) {
        // Ordering: Relaxed, as in `next`: a thread that lowers it holds one of these locks.
        let next = self.shared.next.load(Ordering::Relaxed);
        let raised = bound.map_or(NONE, |bound| self.nanos(bound).max(next));
        self.shared.next.store(raised, Ordering::Relaxed);
    }

    /// A deadline in nanoseconds since `start`. A timer that is centuries away is checked again after that time.
    fn nanos(&self, at: Instant) -> u64 {
        let nanos = at.saturating_duration_since(self.start).as_nanos();
        u64::try_from(nanos).unwrap_or(NONE).min(NONE - 1)
    }
}
