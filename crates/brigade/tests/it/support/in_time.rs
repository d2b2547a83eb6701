//! Promises of time.

use std::fs;
use std::time::Duration;

/// How long the threads of this process have waited for a CPU that another thread had, all together.
///
/// A delay is the sum of what the pool does and of such waits. A test subtracts the waits, so that beside other programs it judges the
/// pool and not these. A delay is 0 where the system does not tell the waits, as it may be all the others'.
pub(crate) fn waited() -> Duration {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let waited = threads.filter_map(|thread| {
        // The second number, in nanoseconds: Documentation/scheduler/sched-stats.rst of Linux.
        let stat = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    Duration::from_nanos(waited.sum())
}

/// The delays of so many rounds, sorted. A round returns its delay, and what its threads had [waited] when the delay began.
pub(crate) fn delays(
    rounds: usize,
    mut round: impl FnMut() -> (Duration, Duration),
) -> Vec<Duration> {
    // Wine shows the host's `/proc`.
    let is_told = cfg!(target_os = "linux") && fs::exists("/proc/self/schedstat").unwrap_or(false);
    let own = |_| {
        let (delay, before) = round();
        if !is_told {
            return Duration::ZERO;
        }
        delay.saturating_sub(waited().saturating_sub(before))
    };
    let mut delays: Vec<_> = (0..rounds).map(own).collect();
    delays.sort();
    delays
}
