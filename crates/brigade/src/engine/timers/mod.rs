//! The timers of one pool. This module must not know which thread waits for them.
//!
//! A pool has a [`Part`] for each worker that can run at once, up to 8, and each worker sets all timers in
//! the same part. So workers setting and cancelling timers all the time, like servers with a timeout for each
//! request, seldom share a lock or a cache line. Beside the parts there is a single time to read without a
//! lock, no later than the earliest deadline. Any thread may take due timers from any part, so a worker in a
//! long job delays none.
//!
//! No user code runs under a lock: the caller wakes, queues or drops the entries taken out. The engine
//! decides which thread sleeps until the next deadline, and which thread is woken when an earlier timer is
//! set.
//!
//! *The time beside the parts* (`next`). A thread that sets an earlier timer lowers it, under the lock of its
//! part, and the caller sees to a thread sleeping for longer. It is raised only under the locks of all parts:
//! after due timers have been taken out, before a thread sleeps until it, and when no part has a timer. So it
//! is never later than a deadline, and [`NONE`] only if there is no timer. It is too early if the earliest
//! timer has been cancelled, or if a part knows only the wheel slot of this timer: then a running thread
//! looks in vain. A sleeping thread sleeps until the exact time. Only a new timer lowers it: otherwise a
//! thread asleep until a later time would sleep past a timer set in between. It is a single atomic variable,
//! so the argument of `engine/park/DRIVER.md` need not know of parts. `loom_tests` has models.
//!
//! *Rejected:* to raise it at each removal of the earliest timer: if timers are cancelled in the order of
//! their setting, each removal would raise it.
//! *Rejected:* a wheel whose ticks fire timers. They are either coarser than the promised millisecond, or
//! wake a thread without need.
//! *Rejected:* a part for its worker alone: a worker in a long job would delay its own timers.

pub(in crate::engine) mod clock;
pub(in crate::engine) mod entry;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod part;
#[cfg(all(test, not(brigade_loom)))]
mod tests;

use core::task::Waker;
use std::time::{Duration, Instant};

use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_sync::{CachePadded, MutexGuard, OnceLock, time};
use brigade_timer::{Agenda, Key};
pub(crate) use clock::Clock;
pub(crate) use entry::{Due, Entry};
use part::{Part, Pending, TimersOf};

/// No deadline.
const NONE: u64 = u64::MAX;

/// Stands for a time too far in the future to be represented: long enough, and within the range of every
/// system's clock.
pub(crate) const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The number of parts in a large pool: threads looking for due timers read each part.
const MOST_PARTS: usize = 8;

/// How late a timer may fire so that dense timers share a wake-up. On a virtual machine a wake-up costs about
/// 30 µs of CPU time, a hundred times the cost of a timer. The value is the promised millisecond less the
/// slack of the system's timers.
const TOGETHER: Duration = Duration::from_micros(900);

/// Timers are dense if this number of them is due within [`TOGETHER`].
const DENSE: usize = 4;

/// The timers of one pool.
pub(crate) struct Timers {
    /// Each worker sets all timers in the same part.
    parts: Vec<CachePadded<Part>>,
    shared: CachePadded<Next>,
    /// The clock for deadlines.
    clock: Clock,
    /// When the first timer was set: there are systems without a clock, and pools without timers.
    start: OnceLock<Instant>,
}

/// Read at each look for timers, and seldom written.
struct Next {
    /// Nanoseconds since `start`, no later than the earliest deadline; [`NONE`] if there is no timer. Lowered
    /// under the lock of a part, and raised under the locks of all parts.
    next: AtomicU64,
    /// A bit for each part with a timer; it changes under the lock of the part.
    used: AtomicU64,
    /// Closures with a timer, or taken out and neither queued nor dropped yet.
    closures: AtomicU64,
}

/// The locks of all parts.
struct All<'a>([Option<MutexGuard<'a, Pending>>; MOST_PARTS]);

impl All<'_> {
    /// Calls a closure with the timers of each part that has had any.
    fn each(&mut self, call: &mut dyn FnMut(&mut dyn Agenda<Entry>)) {
        for part in self.0.iter_mut().flatten() {
            if let Some(agenda) = &mut part.agenda {
                call(&mut **agenda);
            }
        }
    }

    /// The earliest deadline.
    fn first(&mut self) -> Option<Instant> {
        let mut first = None;
        self.each(&mut |agenda| {
            if is_before(agenda.bound(), first) {
                let own = agenda.first();
                first = if is_before(own, first) { own } else { first };
            }
        });
        first
    }
}

/// Whether a time is before another; no time is after all times.
fn is_before(one: Option<Instant>, other: Option<Instant>) -> bool {
    one.is_some_and(|one| other.is_none_or(|other| one < other))
}

/// Names a timer of a pool, even after it has fired or been removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerKey {
    /// The key in the part. Of two timers with the same deadline in a part, the timer set first fires first.
    key: Key,
    part: u8,
}

impl Timers {
    /// Makes the timers of a pool with at most `threads` threads, whose clock may be paused.
    pub(crate) fn new(threads: usize, is_paused: bool) -> Self {
        let start = OnceLock::new();
        let paused_at = is_paused.then(|| *start.get_or_init(time::now));
        let mut parts = Vec::new();
        for _ in 0..threads.clamp(1, MOST_PARTS) {
            parts.push(CachePadded::new(Part::new()));
        }
        Self {
            parts,
            shared: CachePadded::new(Next {
                next: AtomicU64::new(NONE),
                used: AtomicU64::new(0),
                closures: AtomicU64::new(0),
            }),
            clock: Clock::new(paused_at),
            start,
        }
    }

    fn start(&self) -> Instant {
        *self.start.get_or_init(time::now)
    }

    /// The clock for deadlines.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// A time no later than the earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        // Ordering: Relaxed: only a time is read from it. The fences of `idle` ensure that a thread going to
        // sleep and a thread setting a timer don't miss each other, as for a job.
        let next = self.shared.next.load(Ordering::Relaxed);
        if next == NONE { None } else { self.start().checked_add(Duration::from_nanos(next)) }
    }

    /// When a thread that sleeps for timers should wake: at the earliest deadline or, if timers are dense, at
    /// the last deadline within [`TOGETHER`] of it. A paused clock wakes no thread, and stops at each
    /// deadline.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let mut all = self.lock_all();
        let first = all.first()?;
        self.note_next(Some(first));
        let together = if self.clock.is_paused() { Duration::ZERO } else { TOGETHER };
        let Some(end) = first.checked_add(together) else { return Some(first) };
        let (mut count, mut last) = (0, Some(first));
        all.each(&mut |agenda| count += agenda.count_until(end, DENSE));
        if count >= DENSE {
            all.each(&mut |agenda| last = last.max(agenda.last_until(end)));
        }
        last
    }

    /// How long a thread may sleep before it must fire timers; `None` for ever.
    pub(crate) fn until(&self) -> Option<Duration> {
        if self.is_empty() {
            return None;
        }
        self.clock.until(self.wake_at()?)
    }

    /// Moves a paused clock to the earliest deadline: nothing can run before.
    pub(crate) fn leap(&self) {
        if self.clock.is_paused() {
            let Some(at) = self.wake_at() else { return };
            self.clock.leap(at);
        }
    }

    /// Whether there is no timer.
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: as in `next`.
        self.shared.next.load(Ordering::Relaxed) == NONE
    }

    /// Whether a closure has a timer, or is moving from a timer to a queue.
    pub(crate) fn has_closures(&self) -> bool {
        // Ordering: SeqCst, as for its changes: a thread that no longer sees the closure here sees the job in
        // the queue.
        self.shared.closures.load(Ordering::SeqCst) > 0
    }

    /// Notes that a closure taken out has been queued or dropped; `true` if it was the last.
    pub(crate) fn closure_left(&self) -> bool {
        self.shared.closures.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Sets a timer in the part of the worker with this index. Returns the key, and whether a thread that
    /// sleeps until the earliest deadline must be told.
    ///
    /// # Errors
    /// Returns the entry if the pool is closed, or, for a waker, if the pool has ended.
    pub(crate) fn set(
        &self,
        worker: usize,
        at: Instant,
        entry: Entry,
    ) -> Result<(TimerKey, bool), Entry> {
        // Counted first: every closure in a part is counted.
        let is_closure = entry.is_closure();
        if is_closure {
            self.shared.closures.fetch_add(1, Ordering::SeqCst);
        }
        let index = worker % self.parts.len();
        let part = &self.parts[index];
        let mut pending = part.pending.lock();
        if !pending.accepts(&entry) {
            drop(pending);
            if is_closure {
                self.closure_left();
            }
            return Err(entry);
        }
        // Later timers will not be due long before `start`.
        let agenda = pending.agenda.get_or_insert_with(|| brigade_timer::new(self.start()));
        let key = TimerKey { key: agenda.insert(at, entry), part: index as u8 };
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
        let mut pending = self.parts[usize::from(key.part)].pending.lock();
        let agenda = pending.agenda.as_mut()?;
        let entry = agenda.remove(key.key)?;
        if agenda.is_empty() && self.note_bound(usize::from(key.part), &pending) {
            drop(pending);
            // Raises `next`: if no timer is left, no thread should wait.
            self.lock_all();
        }
        Some(entry)
    }

    /// Replaces the waker of a timer; `false` if it has fired.
    pub(crate) fn wake_by(&self, key: TimerKey, waker: &Waker) -> bool {
        let mut wakes = false;
        let is_set = self.change(key, &mut |entry| {
            wakes = matches!(entry, Entry::Wake(own) if own.will_wake(waker));
        });
        if wakes || !is_set {
            return is_set;
        }
        // Cloned, and dropped below, outside the lock.
        let mut entry = Entry::Wake(waker.clone());
        self.change(key, &mut |present| core::mem::swap(present, &mut entry))
    }

    /// Changes the entry of a timer under the lock; `false` if it has fired.
    fn change(&self, key: TimerKey, change: &mut dyn FnMut(&mut Entry)) -> bool {
        let mut pending = self.parts[usize::from(key.part)].pending.lock();
        let Some(agenda) = &mut pending.agenda else { return false };
        let Some(entry) = agenda.get_mut(key.key) else { return false };
        change(entry);
        true
    }

    /// Takes the earliest timer, if it is due at `now`; the caller fires it. For a closure, the caller must then call
    /// [`closure_left`](Self::closure_left).
    pub(crate) fn take_due(&self, now: Instant) -> Option<Entry> {
        loop {
            let (mut index, mut bound) = (0, NONE);
            for (at, part) in self.parts.iter().enumerate() {
                let own = part.bound();
                if own < bound {
                    (index, bound) = (at, own);
                }
            }
            if bound > self.nanos(now) {
                break;
            }
            let mut pending = self.parts[index].pending.lock();
            let due = pending.agenda.as_mut()?.take_due(now);
            self.note_bound(index, &pending);
            if due.is_some() {
                return due;
            }
            // The look has raised the bound, unless the deadline and `now` are before `start`, or centuries
            // after it.
            if self.parts[index].bound() == bound {
                break;
            }
        }
        // The remaining timers are due later.
        self.lock_all();
        None
    }

    /// Takes the closures of a closed pool, for the caller to [give up](Entry::give_up), and accepts no more
    /// closures. Wakers stay, because a running job may wait for a timer. Closures that run once also stay if
    /// the pool `finishes` all accepted work.
    pub(crate) fn close(&self, finishes: bool) -> Vec<Entry> {
        self.take_unless(TimersOf::Wakers, &|entry| match entry {
            Entry::Wake(_) => true,
            Entry::Run { repeats, .. } => finishes && !repeats,
        })
    }

    /// Takes all timers of an ended pool, for the caller to [give up](Entry::give_up), and accepts nothing
    /// any more.
    pub(crate) fn end(&self) -> Vec<Entry> {
        self.take_unless(TimersOf::Nothing, &|_| false)
    }

    /// Accepts no other timers than these, and takes all entries for which `stays` returns `false`.
    fn take_unless(&self, accepts: TimersOf, stays: &dyn Fn(&Entry) -> bool) -> Vec<Entry> {
        let mut taken = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            let mut pending = part.pending.lock();
            pending.accepts = pending.accepts.max(accepts);
            if let Some(agenda) = &mut pending.agenda {
                taken.append(&mut agenda.take_unless(stays));
            }
            self.note_bound(index, &pending);
        }
        self.lock_all();
        let closures = taken.iter().filter(|entry| entry.is_closure()).count();
        self.shared.closures.fetch_sub(closures as u64, Ordering::SeqCst);
        taken
    }

    /// Updates the bound of a part after timers were taken out; `true` if all parts are empty since then.
    fn note_bound(&self, index: usize, pending: &Pending) -> bool {
        let bound = pending.agenda.as_ref().and_then(|agenda| agenda.bound());
        let nanos = if let Some(bound) = bound { self.nanos(bound) } else { NONE };
        self.parts[index].note_bound(nanos);
        let bit = 1 << index;
        nanos == NONE && self.shared.used.fetch_and(!bit, Ordering::Relaxed) == bit
    }

    /// Takes the locks of all parts, and raises `next` to the earliest of their bounds.
    fn lock_all(&self) -> All<'_> {
        let (mut all, mut bound) = (All([const { None }; MOST_PARTS]), None);
        for (index, part) in self.parts.iter().enumerate() {
            all.0[index] = Some(part.pending.lock());
        }
        all.each(&mut |agenda| {
            let own = agenda.bound();
            bound = if is_before(own, bound) { own } else { bound };
        });
        self.note_next(bound);
        all
    }

    /// Raises `next`, under the locks of all parts. If it is later than `bound`, a thread may sleep until
    /// then, and only an earlier timer wakes it.
    fn note_next(&self, bound: Option<Instant>) {
        // Ordering: Relaxed, as in `next`: a thread that lowers it holds one of these locks.
        let next = self.shared.next.load(Ordering::Relaxed);
        let raised = if let Some(bound) = bound { self.nanos(bound).max(next) } else { NONE };
        self.shared.next.store(raised, Ordering::Relaxed);
    }

    /// A deadline in nanoseconds since `start`. A timer centuries away is checked again after this time.
    fn nanos(&self, at: Instant) -> u64 {
        let nanos = at.saturating_duration_since(self.start()).as_nanos();
        u64::try_from(nanos).unwrap_or(NONE).min(NONE - 1)
    }
}
