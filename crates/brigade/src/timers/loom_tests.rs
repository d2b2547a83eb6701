//! A thread that goes to sleep until the next deadline, beside others that set and cancel timers in parts of their own.

use std::sync::Arc;

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use brigade_sync::model::{check, turn};
use loom::thread;

use super::NONE;

/// A part that has not sorted its timers knows them by multiples of this.
const SLOT: u64 = 4;

/// The part of [`Timers`](super::Timers) that several threads change: deadlines in two parts, and what is beside them. The
/// locks and counters of the real one take no part in models.
struct Timers {
    parts: [Mutex<Vec<u64>>; 2],
    next: AtomicU64,
    used: AtomicU64,
    /// The sleeper has announced itself.
    sleeps: AtomicBool,
    /// It was told to look again.
    told: AtomicBool,
}

impl Timers {
    /// Part 0 has these.
    fn with(deadlines: &[u64]) -> Arc<Self> {
        let next = deadlines.iter().copied().min().unwrap_or(NONE);
        Arc::new(Self {
            parts: [Mutex::new(deadlines.to_vec()), Mutex::new(Vec::new())],
            next: AtomicU64::new(next),
            used: AtomicU64::new(u64::from(!deadlines.is_empty())),
            sleeps: AtomicBool::new(false),
            told: AtomicBool::new(false),
        })
    }

    /// `Timers::set`, and `Core::event_added` for the earliest.
    fn set(&self, index: usize, at: u64) {
        turn();
        let mut part = self.parts[index].lock();
        if part.is_empty() {
            self.used.fetch_or(1 << index, Ordering::Relaxed);
        }
        part.push(at);
        let is_first = at < self.next.load(Ordering::Relaxed)
            && at < self.next.fetch_min(at, Ordering::Relaxed);
        drop(part);
        if is_first {
            fence(Ordering::SeqCst);
            if self.sleeps.load(Ordering::Relaxed) {
                self.told.store(true, Ordering::Relaxed);
            }
        }
    }

    /// `Timers::remove`, of the earliest of a part.
    fn remove(&self, index: usize) {
        turn();
        let mut part = self.parts[index].lock();
        part.remove(0);
        let bit = 1 << index;
        let was_last = part.is_empty() && self.used.fetch_and(!bit, Ordering::Relaxed) == bit;
        drop(part);
        if was_last {
            self.lock_all(false);
        }
    }

    /// `Timers::lock_all`, which knows the earliest deadline only if it is `exact`; returns that deadline.
    fn lock_all(&self, exact: bool) -> u64 {
        turn();
        let (first, second) = (self.parts[0].lock(), self.parts[1].lock());
        let earliest = first.iter().chain(second.iter()).copied().min().unwrap_or(NONE);
        let bound = if exact || earliest == NONE { earliest } else { earliest / SLOT * SLOT };
        let next = self.next.load(Ordering::Relaxed);
        self.next.store(if bound == NONE { NONE } else { bound.max(next) }, Ordering::Relaxed);
        earliest
    }

    /// A worker that parks as the driver holder: until when it sleeps.
    fn sleep(&self) -> u64 {
        turn();
        self.sleeps.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        match self.next.load(Ordering::Relaxed) {
            NONE => NONE,
            _ => self.lock_all(true),
        }
    }

    /// After all threads have ended: the sleeper wakes no later than the first timer, or was told of it.
    fn check(&self, until: u64) {
        let told = self.told.load(Ordering::Relaxed);
        let next = self.next.load(Ordering::Relaxed);
        let first = self.lock_all(true);
        assert!(told || until <= first, "it sleeps until {until}, past {first}");
        assert!(next <= first, "{next} is later than {first}");
        assert!((next == NONE) == (first == NONE), "{next}, not {first}");
    }
}

/// Runs these on threads of their own, beside one that goes to sleep.
fn beside_a_sleeper(timers: Arc<Timers>, others: [fn(&Timers); 2]) {
    let others = others.map(|other| {
        let timers = timers.clone();
        thread::spawn(move || other(&timers))
    });
    let until = timers.sleep();
    for other in others {
        assert!(other.join().is_ok());
    }
    timers.check(until);
}

/// Caught: `lock_all` that has one lock at a time; no fence in `set`.
#[test]
fn a_timer_set_beside_the_cancel_of_an_earlier_one_in_another_part_is_not_slept_past() {
    check(2, || {
        beside_a_sleeper(
            Timers::with(&[5]),
            [|timers| timers.remove(0), |timers| timers.set(1, 10)],
        );
    });
}

/// Caught: a store in place of `fetch_min`; no fence in `set`.
#[test]
fn of_two_timers_set_at_once_in_two_parts_none_is_slept_past() {
    check(2, || {
        beside_a_sleeper(Timers::with(&[]), [|timers| timers.set(0, 7), |timers| timers.set(1, 8)]);
    });
}

/// Caught: `remove` without `lock_all`, or with one that has one lock at a time.
#[test]
fn the_last_timers_of_two_parts_cancelled_at_once_leave_nothing_to_wait_for() {
    check(2, || {
        let timers = Timers::with(&[5]);
        timers.set(1, 6);
        beside_a_sleeper(timers, [|timers| timers.remove(0), |timers| timers.remove(1)]);
    });
}

/// Caught: `lock_all` that lowers `next`.
#[test]
fn a_timer_set_after_a_look_that_found_nothing_is_not_slept_past() {
    check(2, || {
        let look = |timers: &Timers| {
            timers.lock_all(false);
            timers.set(0, 5);
        };
        beside_a_sleeper(Timers::with(&[7]), [look, |timers| timers.set(1, 9)]);
    });
}
