//! A thread going to sleep until the next deadline, beside threads that set and cancel timers in their own
//! parts.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use brigade_sync::atomic::{AtomicBool, Ordering, fence};
use brigade_sync::model::{check, turn};
use loom::thread;

use super::entry::Entry;
use super::{TimerKey, Timers};

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicBool) -> loom::sync::atomic::AtomicBool = |a| a;

/// Timers in two parts, and a thread sleeping for them.
struct Sleeper {
    timers: Timers,
    /// The thread has announced itself.
    sleeps: AtomicBool,
    /// The thread was told to look again.
    told: AtomicBool,
}

impl Sleeper {
    fn new() -> Self {
        let [sleeps, told] = [false, false].map(AtomicBool::new);
        Self { timers: Timers::new(2, false), sleeps, told }
    }

    /// `Shared::set_timer`, for a timer due after some milliseconds.
    fn set(&self, worker: usize, after: u64) -> TimerKey {
        turn();
        let at = self.timers.start() + Duration::from_millis(after);
        let set = self.timers.set(worker, at, Entry::Wake(Waker::noop().clone()));
        let Ok((key, is_first)) = set else { panic!("a timer is refused") };
        if is_first {
            fence(Ordering::SeqCst);
            if self.sleeps.load(Ordering::Relaxed) {
                self.told.store(true, Ordering::Relaxed);
            }
        }
        key
    }

    fn remove(&self, key: TimerKey) {
        turn();
        assert!(self.timers.remove(key).is_some());
    }

    /// A worker parks as the driver holder; returns the end of its sleep.
    fn sleep(&self) -> Option<Instant> {
        turn();
        self.sleeps.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.timers.is_empty() { None } else { self.timers.wake_at() }
    }

    /// Calls both closures on threads of their own, beside a thread going to sleep. This thread wakes no
    /// later than the first remaining timer, or was told of it.
    fn beside(
        self,
        one: impl FnOnce(&Self) + Send + 'static,
        other: impl FnOnce(&Self) + Send + 'static,
    ) {
        let this = Arc::new(self);
        let (for_one, for_other) = (this.clone(), this.clone());
        let others =
            [thread::spawn(move || one(&for_one)), thread::spawn(move || other(&for_other))];
        let until = this.sleep();
        for other in others {
            other.join().unwrap();
        }
        let (told, next) = (this.told.load(Ordering::Relaxed), this.timers.next());
        let first = this.timers.lock_all().first();
        let is_late =
            |at: Option<Instant>| first.is_some_and(|first| at.is_none_or(|at| at > first));
        assert!(told || !is_late(until), "it sleeps until {until:?}, past {first:?}");
        assert!(!is_late(next), "{next:?} is later than {first:?}");
        assert_eq!(next.is_none(), first.is_none());
    }
}

/// Caught: a `lock_all` that holds a single lock at a time.
#[test]
fn a_timer_set_beside_a_cancel_is_not_slept_past() {
    check(2, || {
        let sleeper = Sleeper::new();
        let first = sleeper.set(0, 5);
        sleeper.beside(move |timers| timers.remove(first), |timers| _ = timers.set(1, 10));
    });
}

/// Caught: a store in place of `fetch_min`.
#[test]
fn of_two_timers_at_once_none_is_slept_past() {
    check(2, || {
        Sleeper::new().beside(|timers| _ = timers.set(0, 7), |timers| _ = timers.set(1, 8))
    });
}

/// Caught: `remove` without `lock_all`, or with a `lock_all` that holds a single lock at a time.
#[test]
fn two_last_timers_cancelled_at_once_leave_none() {
    check(2, || {
        let sleeper = Sleeper::new();
        let [one, other] = [sleeper.set(0, 5), sleeper.set(1, 6)];
        sleeper.beside(move |timers| timers.remove(one), move |timers| timers.remove(other));
    });
}

/// A part knows of the timer after 120 ms only that it is due after 67 ms or later, when its wheel slot
/// begins.
///
/// Caught: a `note_next` that lowers `next`.
#[test]
fn a_timer_after_a_vain_look_is_not_slept_past() {
    check(2, || {
        let sleeper = Sleeper::new();
        sleeper.set(0, 70);
        let looks = |timers: &Sleeper| {
            turn();
            assert!(timers.timers.take_due(timers.timers.start()).is_none());
            timers.set(0, 69);
        };
        sleeper.beside(looks, |timers| _ = timers.set(1, 120));
    });
}
