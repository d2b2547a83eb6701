//! Active waits of threads that could as well sleep.
//!
//! A thread that waits for another one yields its processor, which that one may need: a thread that has just been woken often is on
//! the processor of the one that woke it. But on a processor that other programs keep busy a yield lasts for their whole time slice,
//! some milliseconds on Linux, however soon the wait is over. A sleep does not: its end takes the processor from them. So a thread
//! that has seen a slow yield does without for a time, and only pauses before it sleeps.

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;
use brigade_sync::{hint, thread};

/// A yield that takes longer is slow. It takes a microsecond if no other thread needs the processor, and some ten if that
/// thread is the one that is waited for.
const SLOW: Duration = Duration::from_micros(500);

/// After a slow yield there is none for this many times as long, so that slow ones take no more than 2 % of the time.
const REST: u32 = 50;

/// Pauses in place of a yield: about a microsecond.
const PAUSES: u32 = 64;

brigade_sync::unmodelled::thread_local! {
    /// Until when this thread does not yield.
    static RESTS_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Waits a little longer at each call: pauses first, then yields the processor unless that is slow. `round` counts the calls and
/// starts at 0.
pub(super) fn snooze(round: u32) {
    if 1 << round.min(31) < PAUSES {
        hint::snooze(round);
    } else {
        yield_unless_slow(time::now, thread::yield_now);
    }
}

fn yield_unless_slow(now: impl Fn() -> Instant, yield_now: impl FnOnce()) {
    // A thread that ends keeps nothing.
    let _ = RESTS_UNTIL.try_with(|rests_until| {
        let begun = now();
        if rests_until.get().is_some_and(|until| begun < until) {
            (0..PAUSES).for_each(|_| hint::spin_loop());
            return;
        }
        yield_now();
        let ended = now();
        let took = ended.saturating_duration_since(begun);
        rests_until.set(if took < SLOW { None } else { ended.checked_add(took * REST) });
    });
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slow_yield_is_the_last_one_for_fifty_times_as_long() {
        let clock = Cell::new(Instant::now());
        let yields = |micros: u64| {
            let has_yielded = Cell::new(false);
            let time = Duration::from_micros(micros);
            yield_unless_slow(
                || clock.get(),
                || {
                    has_yielded.set(true);
                    clock.set(clock.get() + time);
                },
            );
            has_yielded.get()
        };
        assert!((0..100).all(|_| yields(499)), "none is slow");
        assert!(yields(4_000));
        let end = clock.get() + Duration::from_millis(200);
        assert!(!yields(0));
        clock.set(end - Duration::from_nanos(1));
        assert!(!yields(0));
        clock.set(end);
        assert!(yields(0) && yields(0));
    }
}
