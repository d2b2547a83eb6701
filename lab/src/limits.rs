//! The named limits of every size, checked before anything is allocated or started.

use crate::stop::Stop;

/// Threads of a pool, and submitting threads. brigade's own limit.
pub(crate) const MAX_THREADS: u64 = 4096;
/// Tasks submitted from outside: a target may have to keep them all queued, at 100 bytes or so each.
pub(crate) const MAX_MESSAGES: u64 = 200_000_000;
/// Tasks of a run. At a billion a second it would take a quarter of an hour.
pub(crate) const MAX_TASKS: u64 = 1 << 40;
/// Further tasks per message: a task carries the remaining number in 32 bits, to stay within 24 bytes.
pub(crate) const MAX_AMPLIFICATION: u64 = u32::MAX as u64;
/// Units of work per task: a second or two.
pub(crate) const MAX_UNITS: u64 = 1_000_000_000;
/// Milliseconds between bursts, or of a keep-alive.
pub(crate) const MAX_SLEEP_MS: u64 = 10_000;
/// Bursts or shots of a run; the time of each is stored until the run has ended.
pub(crate) const MAX_SHOTS: u64 = 1_000_000;
/// Tasks or requests per second at fixed times.
pub(crate) const MAX_RATE: u64 = 1_000_000;
/// Values of a run; the time of each is stored until the run has ended.
pub(crate) const MAX_VALUES: u64 = 10_000_000;
/// Milliseconds for which a job blocks.
pub(crate) const MAX_BLOCK_MS: u64 = 5_000;
/// Children of a job, and jobs of a burst.
pub(crate) const MAX_CHILDREN: u64 = 1_000_000;
/// Microseconds of work per child: below the patience of the watchdog.
pub(crate) const MAX_WORK_US: u64 = 1_000_000;
/// Workers of the executor of queues, each of which has a stealer for every other.
pub(crate) const MAX_WORKERS: u64 = 256;
/// Items stolen at a time: half of a queue, the most every target takes at once.
pub(crate) const MAX_BATCH: u64 = 128;
/// Threads that push to an injector.
pub(crate) const MAX_PRODUCERS: u64 = 8;
/// Items in an injector at a time, of 32 bytes each.
pub(crate) const MAX_ITEMS: u64 = 1_000_000;
/// Bytes in a bucket brigade at a time: the least capacity of a pipe, so no write blocks.
pub(crate) const MAX_IN_FLIGHT: u64 = 4096;
/// Connections of a run; both ends are files of this process.
pub(crate) const MAX_CONNECTIONS: u64 = 10_000;
/// Requests sent by a client before it waits for an answer: both directions fit into the buffers of a socket.
pub(crate) const MAX_PIPELINE: u64 = 256;
/// Tasks whose memory is measured: fewer take only a few pages.
pub(crate) const MIN_RESIDENT: u64 = 1_000;
/// Computing threads of another process beside the runs.
pub(crate) const MAX_HOGS: u64 = 256;
/// Rows of a sweep.
pub(crate) const MAX_ROWS: usize = 1_000;
/// Counted rounds, and those of a metric in result files: the time of an interval grows with them.
pub(crate) const MAX_ROUNDS: u64 = 1_000;
/// Seconds for further rounds of a row: a day.
pub(crate) const MAX_AT_MOST: u64 = 86_400;
/// Seconds of a check: a week.
pub(crate) const MAX_CHECK: u64 = 604_800;
/// Seconds of patience with an idle target.
pub(crate) const MAX_PATIENCE: u64 = 3_600;

/// Reads a whole number from `MIN` to `MAX`; the error names both.
pub(crate) fn whole<const MIN: u64, const MAX: u64>(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && (MIN..=MAX).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from {MIN} to {MAX}")),
    }
}

/// An error if the product of `factors` is more than `limit`; `what` names it.
pub(crate) fn product(what: &str, factors: &[u64], limit: u64) -> Result<(), Stop> {
    let product = factors.iter().try_fold(1u64, |product, &factor| product.checked_mul(factor));
    let is_over = product.is_none_or(|product| product > limit);
    Stop::usage_if(is_over, format!("{what} may be {limit} at most in one run"))
}

#[cfg(test)]
mod tests {
    use super::{product, whole};

    #[test]
    fn only_small_plain_decimals_are_read() {
        assert_eq!(whole::<1, 4096>("4096"), Ok(4096));
        for bad in ["0", "-1", "+1", "0x10", "1e3", "٣", "", " 1", "4097", "18446744073709551616"]
        {
            let reason = whole::<1, 4096>(bad).unwrap_err();
            assert!(reason.contains("4096"), "{bad}: {reason}");
        }
    }

    #[test]
    fn an_overflowing_product_is_over_the_limit() {
        assert!(product("tasks", &[3, 5], 15).is_ok());
        assert!(product("tasks", &[3, 5], 14).is_err());
        assert!(product("tasks", &[u64::MAX, 2], u64::MAX).is_err());
    }
}
