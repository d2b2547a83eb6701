//! Whether woken workers share a CPU with threads that go on.
//!
//! The kernel often *stacks* a woken thread: it queues it on the CPU of its waker although another one is idle. It then runs at once
//! in place of the waker, or when the waker sleeps or its time slice is over. If the waker waits for the job, or sleeps soon, or
//! the job is short, this is the fastest way to run it. Otherwise one of the two waits for as long as the other computes. The pool
//! can't know what a thread that submits will do, but it can see what stacking has cost: how long the call that wakes a worker
//! took, and how long the worker took to run. Only a worker that runs on the CPU of its waker was stacked: elsewhere it was other
//! work that one of them waited for. A waker that only waits for its job is not told apart; its next wakes are some 20 µs slower.

use core::time::Duration;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicUsize;

use super::Idle;

/// A stacked wake is costly if one of the threads waited for at least this long. To start on another CPU takes some 20 µs more.
const COSTLY: Duration = Duration::from_micros(200);

/// Two of this many wakes must have been costly: one may be an accident, on a busy machine.
const RECENT: u32 = 8;

/// The number of wakes that are spread then. One more that is costly is enough for as many again, so that fewer than 1 in 200 are.
const SPREAD: usize = 256;

pub(super) struct Stacking {
    /// 1 if the worker that was woken last has run on the CPU of its waker, else 0.
    stacked: AtomicUsize,
    /// Which of the recent watched wakes were costly, a bit for each, the last one the lowest.
    costly: AtomicUsize,
    /// How many more wakes are spread.
    spread: AtomicUsize,
}

// Each method reads and writes in two steps: what another thread counts at the same time may be missed.
impl Stacking {
    pub(super) fn new() -> Self {
        Self {
            stacked: AtomicUsize::new(0),
            costly: AtomicUsize::new(0),
            spread: AtomicUsize::new(0),
        }
    }

    /// Counts a wake by the time that its waker needed.
    fn wake_took(&self, time: Duration) {
        let recent = self.costly.load(Ordering::Relaxed) << 1;
        let costly = self.stacked.swap(0, Ordering::Relaxed) == 1 && time >= COSTLY;
        self.judge(recent & ((1 << RECENT) - 1) | usize::from(costly));
    }

    /// Corrects the last wake by the time after which the worker ran, on the CPU of its waker.
    fn stacked_after(&self, time: Duration) {
        self.stacked.store(1, Ordering::Relaxed);
        if time >= COSTLY {
            self.judge(self.costly.load(Ordering::Relaxed) | 1);
        }
    }

    fn judge(&self, mut recent: usize) {
        if recent.count_ones() > 1 {
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
    /// [how long it has waited](Idle::stacked_after), if it runs on the same CPU.
    Watched,
    /// It leaves it to the kernel.
    Plain,
}

impl Idle {
    /// How a thread wakes a worker if it goes on afterwards. Pass whether it is a worker itself.
    pub(crate) fn how_to_wake(&self, is_worker: bool) -> Wake {
        let seen = self.snapshot();
        // Any other thread also occupies a CPU.
        let waker = usize::from(!is_worker);
        // Workers that were picked before this one search: they will soon have a CPU each, if nothing else runs.
        let picked = seen.searching().saturating_sub(1);
        let cpus = self.spinner.cpus();
        if seen.running() > 0 {
            let has_cpu = seen.running() + waker < cpus;
            return if has_cpu { Wake::Spread } else { Wake::Plain };
        }
        if is_worker || picked + waker >= cpus {
            // A worker that only searches soon sleeps, or runs a job and is counted.
            Wake::Plain
        } else if self.stacking.spreads() {
            Wake::Spread
        } else {
            Wake::Watched
        }
    }

    /// Tells how long the call took that has woken a worker. Only for a wake that is [watched](Wake::Watched).
    pub(crate) fn wake_took(&self, time: Duration) {
        self.stacking.wake_took(time);
    }

    /// Tells how long the worker has waited after such a wake, if it then ran on the CPU of its waker.
    pub(crate) fn stacked_after(&self, time: Duration) {
        self.stacking.stacked_after(time);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use crate::config::{Config, Size};

    const CHEAP: Duration = Duration::from_nanos(COSTLY.as_nanos() as u64 - 1);

    /// A stacked wake, by the time until the worker ran and the time of the waker's call.
    fn wake(stacking: &Stacking, until_run: Duration, call: Duration) {
        stacking.stacked_after(until_run);
        stacking.wake_took(call);
    }

    /// How many wakes it spreads.
    fn spread(stacking: &Stacking) -> usize {
        (0..).take_while(|_| stacking.spreads()).count()
    }

    #[test]
    fn wakes_are_spread_after_two_that_were_costly() {
        let stacking = Stacking::new();
        (0..100).for_each(|_| wake(&stacking, CHEAP, CHEAP));
        wake(&stacking, CHEAP, COSTLY);
        assert_eq!(spread(&stacking), 0);
        wake(&stacking, CHEAP, COSTLY);
        assert_eq!(spread(&stacking), SPREAD);
        wake(&stacking, CHEAP, COSTLY);
        assert_eq!(spread(&stacking), SPREAD, "one more is enough");
    }

    #[test]
    fn a_wake_that_was_not_stacked_is_not_costly() {
        let stacking = Stacking::new();
        (0..10).for_each(|_| stacking.wake_took(COSTLY));
        assert_eq!(spread(&stacking), 0);
    }

    #[test]
    fn a_wake_is_costly_to_the_waker_or_to_the_worker() {
        let stacking = Stacking::new();
        for _ in 0..2 {
            assert_eq!(spread(&stacking), 0);
            stacking.wake_took(CHEAP);
            stacking.stacked_after(COSTLY);
        }
        assert_eq!(spread(&stacking), SPREAD);
    }

    #[test]
    fn a_costly_wake_is_forgotten_after_eight() {
        let stacking = Stacking::new();
        for _ in 0..10 {
            wake(&stacking, CHEAP, COSTLY);
            (0..RECENT).for_each(|_| wake(&stacking, CHEAP, CHEAP));
        }
        assert_eq!(spread(&stacking), 0);
    }

    /// An idle pool of two workers whose process has this many CPUs.
    fn pool(cpus: usize) -> Idle {
        let size = Size { core: 2, max: 2, spare: 0 };
        let idle = Idle::new(&Config { size, ..Config::default() }, cpus);
        for index in 0..2 {
            assert_eq!(idle.pick_core(), Some(index));
            idle.arrive(index);
            idle.begin(index);
        }
        for index in 0..2 {
            idle.start_search();
            let _ = idle.announce(index, false);
        }
        idle
    }

    #[test]
    fn wakes_of_an_idle_pool_are_spread_once_they_were_costly() {
        let idle = pool(2);
        assert!(idle.pick(1, false).wake.is_some());
        for _ in 0..2 {
            assert_eq!(idle.how_to_wake(false), Wake::Watched);
            idle.stacked_after(COSTLY);
            idle.wake_took(CHEAP);
        }
        assert_eq!(idle.how_to_wake(false), Wake::Spread);
        assert_eq!(idle.how_to_wake(true), Wake::Plain, "a worker that found several jobs");
    }

    #[test]
    fn a_wake_for_which_there_is_no_further_cpu_is_not_watched() {
        assert_eq!(pool(1).how_to_wake(false), Wake::Plain);
        let idle = pool(2);
        (0..2).for_each(|_| assert!(idle.pick_another(false).wake.is_some()));
        assert_eq!(idle.how_to_wake(false), Wake::Plain, "one was picked before");
    }
}
