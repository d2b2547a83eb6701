//! Whether woken workers share a CPU with threads that go on.
//!
//! The kernel often *stacks* a woken thread: it queues it on the CPU of its waker although another one is idle. It then runs at once
//! in place of the waker, or when the waker sleeps or its time slice is over. If the waker waits for the job, or sleeps soon, or
//! the job is short, this is the fastest way to run it. Otherwise one of the two waits for as long as the other computes. The pool
//! can't know what a thread that submits will do, but it can see what stacking has cost: how long the call that wakes a worker
//! took, and how long the worker took to run.

use core::time::Duration;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicUsize;

use super::Idle;

/// A wake that costs one of the threads so much is stacked to its disadvantage. To start on another CPU takes some 20 µs more.
const COSTLY: Duration = Duration::from_micros(200);

/// Of so many stacked wakes two must have been costly: one may be an accident, on a busy machine.
const RECENT: u32 = 8;

/// So many wakes are spread then. The next one that is costly is enough for as many again, so that fewer than 1 in 200 are.
const SPREAD: usize = 256;

pub(super) struct Stacking {
    /// Which of the recent wakes that were stacked were costly, a bit for each, the last one the lowest.
    costly: AtomicUsize,
    /// How many more wakes are spread.
    spread: AtomicUsize,
}

// Each method reads and writes in two steps: what another thread counts at the same time may be missed.
impl Stacking {
    pub(super) fn new() -> Self {
        Self { costly: AtomicUsize::new(0), spread: AtomicUsize::new(0) }
    }

    /// Counts a wake by the time that its waker needed.
    fn wake_took(&self, time: Duration) {
        let recent = self.costly.load(Ordering::Relaxed) << 1;
        self.judge(recent & ((1 << RECENT) - 1) | usize::from(time >= COSTLY));
    }

    /// Corrects the last wake by the time after which the woken worker ran.
    fn ran_after(&self, time: Duration) {
        if time >= COSTLY {
            self.judge(self.costly.load(Ordering::Relaxed) | 1);
        }
    }

    fn judge(&self, mut recent: usize) {
        if recent.count_ones() > 1 && !cfg!(brigade_loom) {
            self.spread.store(SPREAD, Ordering::Relaxed);
            recent = 1;
        }
        self.costly.store(recent, Ordering::Relaxed);
    }

    fn spreads(&self) -> bool {
        let left = self.spread.load(Ordering::Relaxed);
        if left > 0 {
            self.spread.store(left - 1, Ordering::Relaxed);
        }
        left > 0
    }
}

/// What a thread that goes on does about the CPU of a worker that it wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// It keeps the worker off its own CPU.
    Spread,
    /// It leaves it to the kernel. Then it tells [how long that took](Idle::wake_took), and the worker
    /// [how long it has waited](Idle::ran_after).
    Watched,
    /// It leaves it to the kernel.
    Plain,
}

impl Idle {
    /// How a thread wakes a worker if it goes on afterwards. Pass whether it is a worker itself.
    pub(crate) fn how_to_wake(&self, is_worker: bool) -> Wake {
        let running = self.snapshot().running();
        // Any other thread also occupies a CPU.
        let others = usize::from(!is_worker);
        if running + others >= self.spinner.cpus() || running + others == 0 {
            Wake::Plain
        } else if running > 0 || self.stacking.spreads() {
            Wake::Spread
        } else {
            Wake::Watched
        }
    }

    /// Tells how long the call took that has woken a worker. Only for a wake that is [watched](Wake::Watched).
    pub(crate) fn wake_took(&self, time: Duration) {
        self.stacking.wake_took(time);
    }

    /// Tells how long the worker has waited for a CPU after such a wake.
    pub(crate) fn ran_after(&self, time: Duration) {
        self.stacking.ran_after(time);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    const CHEAP: Duration = Duration::from_nanos(COSTLY.as_nanos() as u64 - 1);

    /// How many wakes it spreads.
    fn spread(stacking: &Stacking) -> usize {
        (0..).take_while(|_| stacking.spreads()).count()
    }

    #[test]
    fn wakes_are_spread_after_two_that_were_costly() {
        let stacking = Stacking::new();
        (0..100).for_each(|_| stacking.wake_took(CHEAP));
        stacking.wake_took(COSTLY);
        assert_eq!(spread(&stacking), 0);
        stacking.wake_took(COSTLY);
        assert_eq!(spread(&stacking), SPREAD);
        stacking.wake_took(COSTLY);
        assert_eq!(spread(&stacking), SPREAD, "one more is enough");
    }

    #[test]
    fn a_wake_is_costly_to_the_waker_or_to_the_worker() {
        let stacking = Stacking::new();
        for _ in 0..2 {
            assert_eq!(spread(&stacking), 0);
            stacking.wake_took(CHEAP);
            stacking.ran_after(COSTLY);
        }
        assert_eq!(spread(&stacking), SPREAD);
    }

    #[test]
    fn a_costly_wake_is_forgotten_after_eight() {
        let stacking = Stacking::new();
        for _ in 0..10 {
            stacking.wake_took(COSTLY);
            for _ in 0..RECENT {
                stacking.ran_after(CHEAP);
                stacking.wake_took(CHEAP);
            }
        }
        assert_eq!(spread(&stacking), 0);
    }
}
