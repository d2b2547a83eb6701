//! The time of a run.
//!
//! It passes by a microsecond at each look, so a loop that waits for a time ends. A separate thread, the clock, leaps to the next
//! deadline and ends the waits that are over by then. It runs if no other thread can, and at random otherwise: a timeout may win against
//! the event that would end the wait, at any place. But to a [far](FAR) deadline it leaps only if no other thread can go on. While there
//! is no deadline, the clock is blocked; so if all other threads are, too, shuttle reports a deadlock.

use core::time::Duration;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use shuttle::thread::JoinHandle;

use super::record::is_in_run;
use super::wait::Waiter;

/// How much time a look at the clock takes.
const LOOK: Duration = Duration::from_micros(1);

/// A wait with more time than this is not expected to end by its deadline.
const FAR: Duration = Duration::from_secs(60);

std::thread_local! {
    static CLOCK: RefCell<Clock> = const { RefCell::new(Clock::new()) };
}

struct Clock {
    /// Since the start of the run.
    now: Duration,
    /// The part of it in which no thread could go on.
    idle: Duration,
    /// Whether no other thread can go on.
    is_forced: bool,
    /// The waits with a deadline, by deadline and number.
    deadlines: BTreeMap<(Duration, u64), Arc<Waiter>>,
    numbers: u64,
    /// The wait of the clock's own thread while there is no deadline.
    own: Option<Arc<Waiter>>,
    thread: Option<JoinHandle<()>>,
    has_ended: bool,
}

impl Clock {
    const fn new() -> Self {
        Self {
            now: Duration::ZERO,
            idle: Duration::ZERO,
            is_forced: false,
            deadlines: BTreeMap::new(),
            numbers: 0,
            own: None,
            thread: None,
            has_ended: false,
        }
    }

    /// Lets the clock's thread look again.
    fn look(&mut self) {
        if let Some(own) = self.own.take() {
            own.wake();
        }
    }
}

/// The number of the clock's thread: the first started by a run.
pub(super) const THREAD: usize = 1;

/// The start of all runs of this process.
fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    // A step back may be asked for.
    *ORIGIN.get_or_init(|| Instant::now() + Duration::from_secs(3600))
}

pub(super) fn begin() {
    CLOCK.set(Clock::new());
    let thread = shuttle::thread::spawn(tick);
    CLOCK.with_borrow_mut(|clock| clock.thread = Some(thread));
}

pub(super) fn end() {
    let thread = CLOCK.with_borrow_mut(|clock| {
        clock.has_ended = true;
        clock.look();
        clock.thread.take()
    });
    if let Some(thread) = thread {
        drop(thread.join());
    }
}

/// The clock's thread.
fn tick() {
    loop {
        let own = Waiter::new();
        let due = CLOCK.with_borrow_mut(|clock| {
            if clock.has_ended {
                return None;
            }
            let Some(((at, _), waiter)) = clock.deadlines.pop_first() else {
                clock.own = Some(own.clone());
                return Some(None);
            };
            if clock.is_forced {
                clock.idle += at.saturating_sub(clock.now);
            }
            clock.now = clock.now.max(at);
            Some(Some(waiter))
        });
        match due {
            None => return,
            Some(None) => while !own.block() {},
            Some(Some(waiter)) => {
                waiter.wake();
                shuttle_engine::runtime::thread::switch();
            }
        }
    }
}

/// Lets `time` pass: the calling thread computes.
pub fn pass(time: Duration) {
    CLOCK.with_borrow_mut(|clock| clock.now += time);
}

/// Whether the clock may leap now. `is_forced`: no other thread can go on.
pub(super) fn may_leap(is_forced: bool) -> bool {
    CLOCK.with_borrow_mut(|clock| {
        clock.is_forced = is_forced;
        let next = clock.deadlines.keys().next();
        is_forced || next.is_none_or(|(at, _)| at.saturating_sub(clock.now) < FAR)
    })
}

/// The part of the time in which no thread could go on: a job that could have run in it was not called.
pub fn idle() -> Duration {
    CLOCK.with_borrow(|clock| clock.idle)
}

/// Since the start of the run.
pub(super) fn elapsed() -> Duration {
    CLOCK.with_borrow(|clock| clock.now)
}

/// The virtual time; outside a run the real time.
pub fn now() -> Instant {
    if !is_in_run() {
        return Instant::now();
    }
    CLOCK.with_borrow_mut(|clock| {
        clock.now += LOOK;
        origin() + clock.now
    })
}

/// Has the clock end a wait after `timeout`; returns the key for [`forget`]. A time beyond the clock's range never comes.
pub(crate) fn set(timeout: Duration, waiter: &Arc<Waiter>) -> Option<(Duration, u64)> {
    CLOCK.with_borrow_mut(|clock| {
        let at = clock.now.checked_add(timeout)?;
        origin().checked_add(at)?;
        clock.numbers += 1;
        let key = (at, clock.numbers);
        clock.deadlines.insert(key, waiter.clone());
        clock.look();
        Some(key)
    })
}

/// A wait is over.
pub(crate) fn forget(key: (Duration, u64)) {
    CLOCK.with_borrow_mut(|clock| drop(clock.deadlines.remove(&key)));
}

/// Blocks the calling thread until `time` has passed.
#[track_caller]
pub fn sleep(time: Duration) {
    super::step();
    let waiter = Waiter::new();
    set(time, &waiter);
    while !waiter.block() {}
}
