//! Threads that begin each repetition at the same moment, and the time until the last has ended it.

use crate::workloads::prelude::*;
use std::hint;

/// Looks before a waiting thread lets others have the CPU: a few microseconds.
const SPINS: u32 = 200;

/// A start and a finish for a fixed number of threads, again and again.
///
/// The threads wait by spinning with yields. So all begin at almost the same time, no thread must be
/// woken and scheduled between two repetitions, and an abandoned run ends at either wait.
pub(super) struct Race {
    /// Where all wait before a repetition.
    start: Meeting,
    /// Where all wait after it.
    finish: Meeting,
    /// When the latest start was, in nanoseconds since the epoch.
    started: AtomicU64,
    /// When the last thread had ended.
    ended: AtomicU64,
    /// The origin of the times.
    epoch: Epoch,
}

impl Race {
    /// A race for this many threads.
    pub(super) fn new(runners: usize) -> Self {
        Race {
            start: Meeting::new(runners),
            finish: Meeting::new(runners),
            started: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            epoch: Epoch::new(),
        }
    }

    /// Waits for all threads, does `lap` as all others do, and waits for all again. Returns the
    /// seconds from the start to the end of the last thread, and the result of this thread's lap.
    pub(super) fn run<R>(
        &self,
        tally: &Tally,
        lap: impl FnOnce() -> R,
    ) -> Result<(f64, R), Failure> {
        self.start.meet(tally, || self.started.store(self.epoch.nanos(), Ordering::Relaxed))?;
        let outcome = lap();
        // The clock is monotonic: no time of an earlier repetition is later than this.
        self.ended.fetch_max(self.epoch.nanos(), Ordering::Relaxed);
        // The meetings order the times: they are written before a meeting and read before the next.
        self.finish.meet(tally, || ())?;
        let ended = self.ended.load(Ordering::Relaxed);
        Ok((seconds(ended - self.started.load(Ordering::Relaxed)), outcome))
    }
}

/// Where a fixed number of threads wait for each other.
struct Meeting {
    /// How many there are.
    runners: usize,
    /// How many are there already.
    arrived: AtomicUsize,
    /// How often all were there.
    met: AtomicU64,
}

impl Meeting {
    /// A meeting of this many threads.
    fn new(runners: usize) -> Self {
        Meeting { runners, arrived: AtomicUsize::new(0), met: AtomicU64::new(0) }
    }

    /// Waits for all threads; the last to arrive calls `complete` and releases all.
    fn meet(&self, tally: &Tally, complete: impl FnOnce()) -> Result<(), Failure> {
        // They can't have met without us, so this is never out of date.
        let before = self.met.load(Ordering::Relaxed);
        // Ordering: AcqRel chains all earlier writes to the last thread, whose Release hands them on.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.runners {
            self.arrived.store(0, Ordering::Relaxed);
            complete();
            self.met.store(before + 1, Ordering::Release);
            return Ok(());
        }
        let mut looks = 0;
        // Ordering: Acquire pairs with the Release above.
        while self.met.load(Ordering::Acquire) == before {
            if looks < SPINS {
                looks += 1;
                hint::spin_loop();
            } else {
                tally.go_on()?;
                thread::yield_now();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Race;
    use crate::tally::Tally;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn the_time_is_the_last_threads_from_the_start() {
        let (race, tally) = (Race::new(3), Tally::leak());
        let (race, late, long) = (&race, Duration::from_millis(300), Duration::from_millis(50));
        for slow in 0..3 {
            let times = thread::scope(|scope| {
                let runners = [0, 1, 2].map(|index| {
                    scope.spawn(move || {
                        // The slow thread was early at the start, and the next thread late.
                        thread::sleep(late * u32::from((slow + 1) % 3 == index));
                        let lap = || thread::sleep(long * u32::from(slow == index));
                        race.run(tally, lap).expect("goes on").0
                    })
                });
                runners.map(|runner| runner.join().expect("no panic"))
            });
            assert!(times.iter().all(|&time| time == times[0]), "{times:?}");
            assert!((0.05..0.3).contains(&times[0]), "{times:?}");
        }
    }

    #[test]
    fn an_abandoned_run_ends_the_starting_wait() {
        let (race, tally) = (Race::new(2), Tally::leak());
        tally.abandon();
        assert!(race.run(tally, || ()).is_err());
    }
}
