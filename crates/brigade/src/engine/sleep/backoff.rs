//! Spinning and yielding before a thread blocks.
//!
//! A short wait costs less without a sleep: to put a thread to sleep and to wake it takes about 30 µs. So a waiting
//! thread first pauses. Then it yields the worker, which the awaited thread may need: a freshly woken thread is
//! often on the waker's worker. After the yields it sleeps. In this way it loses at most twice the time of
//! the better choice (Karlin et al., *Competitive randomized algorithms for nonuniform problems*, SODA 1990).
//!
//! But on a worker kept busy by other programs, a yield lasts for their whole time slice, some milliseconds on
//! Linux, however soon the wait is over. The end of a sleep takes the worker from them. So after a slow yield, a
//! thread sleeps instead for a time.

use core::cell::Cell;
use std::time::{Duration, Instant};

use brigade_sync::{hint, thread, time};

/// How often a thread checks the awaited condition before it sleeps: for about 40 µs. `fork-join --program nbody`
/// takes 4 times as long without these checks.
const LOOKS: u32 = 64;

/// How many of these checks are followed by a pause; the later checks are followed by a yield.
const PAUSED: u32 = 6;

/// A yield is slow if it takes this long. A yield takes about 1 µs if no thread needs the worker, about 10 µs if
/// the awaited thread does, and a job's time if a worker of the pool does. A different program keeps the worker
/// for a time slice, 3 or 4 ms on Linux. `fork-join --program nbody --hogs 2` takes 17 times as long if slow yields
/// are repeated.
const SLOW: Duration = Duration::from_micros(1500);

/// The longest sleep of a thread that waits for something that no other thread announces, before it looks again: for work
/// behind a long job, for a queued future that the waiting thread may poll, for a driver that a foreign thread uses. Go's
/// `sysmon` looks every 20 µs to 10 ms.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// After a slow yield a thread does not yield for this many times as long, so slow yields take at most 2 % of the
/// time.
const PAUSE: u32 = 50;

brigade_sync::unmodelled::thread_local! {
    /// Until when this thread does not yield.
    static NO_YIELD_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The state of a single wait before its thread blocks.
#[derive(Default)]
pub(in crate::engine) struct Backoff {
    looks: u32,
}

impl Backoff {
    /// Waits a little, longer at each call; `false` if the thread must block now instead.
    pub(in crate::engine) fn snooze(&mut self) -> bool {
        self.snooze_by(|| yield_unless_slow(time::now, thread::yield_now))
    }

    fn snooze_by(&mut self, yields: impl FnOnce() -> bool) -> bool {
        let looks = self.looks;
        if looks >= LOOKS {
            return false;
        }
        self.looks += 1;
        if looks < PAUSED {
            hint::snooze(looks);
            return true;
        }
        time::HAS_CLOCK && yields()
    }

    /// Waits until `is_over`; `false` if the thread must block now.
    pub(in crate::engine) fn wait(&mut self, is_over: impl Fn() -> bool) -> bool {
        while !is_over() {
            if !self.snooze() {
                return false;
            }
        }
        true
    }
}

/// Yields, unless the last yield was slow and recent; returns whether it yielded.
fn yield_unless_slow(now: impl Fn() -> Instant, yield_now: impl FnOnce()) -> bool {
    let yields = NO_YIELD_UNTIL.try_with(|no_yield_until| {
        let begun = now();
        if no_yield_until.get().is_some_and(|until| begun < until) {
            return false;
        }
        yield_now();
        let ended = now();
        let took = ended.saturating_duration_since(begun);
        no_yield_until.set(if took < SLOW { None } else { ended.checked_add(took * PAUSE) });
        true
    });
    // An ending thread may have lost its thread-locals.
    yields.unwrap_or(false)
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_blocks_after_some_looks() {
        let looks = |yields: bool| {
            let mut backoff = Backoff::default();
            (0..).take_while(|_| backoff.snooze_by(|| yields)).count()
        };
        assert_eq!([true, false].map(looks), [LOOKS, PAUSED].map(|looks| looks as usize));
        let is_over_at_once = Backoff::default().wait(|| true);
        assert!(is_over_at_once);
        assert!(!Backoff { looks: LOOKS }.wait(|| false));
    }

    #[test]
    fn a_slow_yield_stops_yields_for_fifty_times_as_long() {
        let clock = Cell::new(Instant::now());
        let yields = |micros: u64| {
            let has_yielded = Cell::new(false);
            let time = Duration::from_micros(micros);
            let said = yield_unless_slow(
                || clock.get(),
                || {
                    has_yielded.set(true);
                    clock.set(clock.get() + time);
                },
            );
            assert_eq!(said, has_yielded.get());
            said
        };
        assert!((0..100).all(|_| yields(1_499)), "none is slow");
        assert!(yields(4_000));
        let end = clock.get() + Duration::from_millis(200);
        assert!(!yields(0));
        clock.set(end - Duration::from_nanos(1));
        assert!(!yields(0));
        clock.set(end);
        assert!(yields(0) && yields(0));
    }
}
