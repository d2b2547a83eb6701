//! Wall time and the process's CPU time, side by side.

use std::hint;
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// CPU time of all threads of this process so far.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // The clock starts at zero with the process, so neither part is ever negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Makes the sleeps of this thread end on time, where the system allows it: Linux adds 50 µs
/// otherwise.
pub(crate) fn sleep_short() {
    // If it is refused, only the sleeps are longer.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Adds up CPU time and wall time over the timed parts of a run.
#[derive(Default)]
pub(crate) struct Meter {
    /// CPU time of the process during the timed parts.
    pub(crate) cpu: Duration,
    /// Length of the timed parts.
    wall: Duration,
}

/// A begun timed part.
pub(crate) struct Lap {
    /// When it began.
    pub(crate) began: Instant,
    /// When it began, by CPU time.
    cpu: Duration,
}

impl Lap {
    /// Begins a timed part.
    pub(crate) fn begin() -> Self {
        // The wall clock is read last, so reading the other is not timed.
        let cpu = cpu_time();
        Lap { began: Instant::now(), cpu }
    }
}

impl Meter {
    /// Ends a timed part and returns its length.
    pub(crate) fn end(&mut self, lap: &Lap) -> Duration {
        let wall = lap.began.elapsed();
        self.wall += wall;
        self.cpu += cpu_time().saturating_sub(lap.cpu);
        wall
    }

    /// CPU seconds per wall second: how many CPUs the process kept busy.
    pub(crate) fn cpus(&self) -> f64 {
        self.cpu.as_secs_f64() / self.wall.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// The origin from which tasks count nanoseconds, so an atomic can hold an instant.
#[derive(Clone, Copy)]
pub(crate) struct Epoch(Instant);

impl Epoch {
    /// Counts from now on.
    pub(crate) fn new() -> Self {
        Epoch(Instant::now())
    }

    /// Nanoseconds since the epoch.
    pub(crate) fn nanos(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    /// Waits until it is `due` nanoseconds old, asleep until shortly before.
    pub(crate) fn wait_until(self, due: u64) {
        let left = Duration::from_nanos(due.saturating_sub(self.nanos()));
        if let Some(sleep) = left.checked_sub(AWAKE) {
            thread::sleep(sleep);
        }
        while self.nanos() < due {
            hint::spin_loop();
        }
    }
}

/// How long before it is due something is waited for without sleep, which would end too late.
const AWAKE: Duration = Duration::from_micros(100);

/// `nanos` in seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::{Lap, Meter};
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    #[test]
    fn a_busy_thread_costs_cpu_time() {
        let busy = || {
            let mut meter = Meter::default();
            let lap = Lap::begin();
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(20) {
                black_box(());
            }
            meter.end(&lap);
            meter.cpus()
        };
        // Another process may hold the CPU for some of the laps, but not for this many; other tests
        // of this process may add CPU time.
        assert!((0..100).any(|_| busy() > 0.1));
    }
}
