//! A countdown: a thread sleeps until the last of many tasks has ended, and gets the time of this
//! end.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::clock::Epoch;
use crate::failure::Failure;
use crate::tally::Tally;

/// Stripes over which the arrivals are spread, so the countdown is not the bottleneck of the
/// run.
const STRIPES: usize = 16;

/// The longest sleep of the waiter before it checks whether the run was given up.
const LOOK: Duration = Duration::from_millis(200);

/// Arrivals still to come in a stripe, alone on the cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Stripe(AtomicUsize);

/// A reusable countdown; the thread that made it waits.
pub(crate) struct Latch {
    /// Arrivals still to come, by index modulo [`STRIPES`].
    stripes: [Stripe; STRIPES],
    /// Stripes with arrivals still to come.
    open: AtomicUsize,
    /// The time of the last arrival, in nanoseconds since the epoch.
    ended: AtomicU64,
    /// The origin of `ended`.
    epoch: Epoch,
    /// The waiting thread.
    waiter: Thread,
}

impl Latch {
    /// An unarmed latch, for the current thread to wait on.
    pub(crate) fn new(epoch: Epoch) -> Self {
        Latch {
            stripes: Default::default(),
            open: AtomicUsize::new(0),
            ended: AtomicU64::new(0),
            epoch,
            waiter: thread::current(),
        }
    }

    /// Expects the arrivals `0..count`, at least one.
    pub(crate) fn arm(&self, count: usize) {
        for (index, stripe) in self.stripes.iter().enumerate() {
            let mine = count / STRIPES + usize::from(index < count % STRIPES);
            stripe.0.store(mine, Ordering::Relaxed);
        }
        // Ordering: the target's own synchronisation publishes all this to the tasks submitted
        // after it.
        self.open.store(count.min(STRIPES), Ordering::Relaxed);
    }

    /// Notes the arrival `index`; the last arrival wakes the waiter.
    pub(crate) fn arrive(&self, index: u32) {
        // Ordering: AcqRel chains all arrivals up to the last, which ends the wait.
        if self.stripes[index as usize % STRIPES].0.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Ordering: Release pairs with the Acquire in `wait`.
            self.ended.store(self.epoch.nanos().max(1), Ordering::Release);
            self.waiter.unpark();
        }
    }

    /// Sleeps until all have arrived and returns the time of the last arrival, in nanoseconds since the epoch.
    pub(crate) fn wait(&self, tally: &Tally) -> Result<u64, Failure> {
        loop {
            let ended = self.ended.swap(0, Ordering::Acquire);
            if ended != 0 {
                return Ok(ended);
            }
            tally.go_on()?;
            thread::park_timeout(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Latch, STRIPES};
    use crate::clock::Epoch;
    use crate::tally::Tally;
    use std::sync::atomic::Ordering;

    #[test]
    fn only_the_last_arrival_ends_the_wait() {
        let (latch, tally) = (Latch::new(Epoch::new()), Tally::leak());
        for count in [1, STRIPES - 1, STRIPES, 3 * STRIPES + 5] {
            latch.arm(count);
            for index in 0..count {
                assert_eq!(latch.ended.load(Ordering::Relaxed), 0, "{index} of {count}");
                latch.arrive(index as u32);
            }
            assert!(latch.wait(tally).is_ok());
        }
    }

    #[test]
    fn an_abandoned_run_ends_the_wait() {
        let (latch, tally) = (Latch::new(Epoch::new()), Tally::leak());
        latch.arm(1);
        tally.abandon();
        assert!(latch.wait(tally).is_err());
    }
}
